"""``python -m bench``: the commands that need the repository, run whole at a small size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.sets import small_set, written
from tests.docs.markdown import ROOT
from tests.web.addresses import MISSING, known_pages


def bench(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_peers_that_are_not_installed_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, small_set())
    shown = bench("peers", "--path", path)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert " ".join(lines[0].split()) == ("System Version R@10 R@1 MRR p50 ms p95 ms stored/s MB")
    assert lines[1].startswith("ricordo")
    for name in ("chromadb", "lancedb", "langgraph", "mem0", "Graphiti", "Hindsight"):
        measured = any(line.startswith(name) for line in lines)
        missing = any(
            line.startswith(name) and line.endswith("not installed")
            for line in shown.stderr.splitlines()
        )
        assert measured != missing, name


def test_peers_for_programs(tmp_path: Path) -> None:
    path = written(tmp_path, small_set())
    done = bench("peers", "--path", path, "--only", "ricordo", "--json")
    found = json.loads(done.stdout)
    assert found["set_name"] == "small"
    (ours,) = found["standings"]
    assert ours["system"] == "ricordo"
    assert ours["scores"]["overall"]["questions"] == 3


def test_how_much_of_the_evidence_reaches_a_prompt(tmp_path: Path) -> None:
    done = bench("prompts", "--path", written(tmp_path, small_set()), "--json")
    assert done.returncode == 0, done.stderr
    none, *_, most = json.loads(done.stdout)
    assert (none["quotes"], none["evidence"]) == (0, 0.0)
    assert most["questions"] == 4 and most["evidence"] > 0
    assert most["tokens"] > none["tokens"]


@pytest.mark.requirement("conversations.flat-tokens")
def test_a_long_conversation_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "pictures" / "conversation.png"
    done = bench("conversation", "--out", picture, "--turns", 120, "--json")
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = json.loads(done.stdout)
    assert found["turns_lost"] == 0
    assert found["compactions"] >= 7
    assert found["points"][-1]["turns"] == 120
    assert found["points"][-1]["tokens"] < found["points"][-1]["tokens_of_all"] / 2
    assert all(point["shown_turns"] <= 20 for point in found["points"])


def test_encryption_is_counted_beside_a_plain_file() -> None:
    done = bench("encryption", "--memories", 30, "--json")
    assert done.returncode == 0, done.stderr
    costs = json.loads(done.stdout)["costs"]
    assert len(costs) == 5
    assert all(cost["plain_ms"] > 0 and cost["encrypted_ms"] > 0 for cost in costs)


def test_backups_are_timed() -> None:
    done = bench("backup", "--memories", 50, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["memories"], found["restored"]) == (50, 50)
    assert min(found["make_seconds"], found["check_seconds"], found["restore_seconds"]) > 0
    assert found["backup_megabytes"] > 0


def test_a_command_beside_a_postgresql() -> None:
    done = bench("with-postgres", "python", "-c", "import sys; print(sys.argv[1:])", "URL", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['postgresql://") and done.stdout.endswith(", 'x']\n")
    assert bench("with-postgres", "python", "-c", "raise SystemExit(4)").returncode == 4


def test_growth_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "pictures" / "growth.png"
    done = bench("growth", "--out", picture, "--max", 100, "--json")
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    points = json.loads(done.stdout)["points"]
    assert {point["memories"] for point in points} == {100}
    assert points[0]["system"] == "ricordo, SQLite"
    assert points[0]["megabytes"] > 0 and points[0]["resident_mb"] > 50


def test_tokens_are_estimated_beside_real_tokenizers() -> None:
    done = bench("tokens", "--json")
    assert done.returncode == 0, done.stderr
    kinds = {kind["name"]: kind for kind in json.loads(done.stdout)}
    assert {"English", "Chinese", "JSON", "base64", "Unicode"} <= set(kinds)
    assert all(kind["short"] == 0 for kind in kinds.values())
    assert kinds["English"]["ratio"] <= 1.6
    shown = bench("tokens").stdout.splitlines()
    assert shown[0].split()[:2] == ["text", "texts"]
    assert len(shown) == 1 + len(kinds)


@pytest.mark.requirement("proxy.openai")
def test_what_the_proxy_costs() -> None:
    done = bench("proxy", "--memories", 200, "--requests", 12, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["rows"]) == 5 and found["recalling"]["calls"] == 12
    assert all(row["alone"]["calls"] == row["proxied"]["calls"] == 12 for row in found["rows"])
    done = bench("proxy", "--memories", 200, "--requests", 2)
    assert done.returncode == 0 and "first streamed byte" in done.stdout


@pytest.mark.requirement("page.fast")
def test_how_long_pages_take() -> None:
    done = bench("pages", "--memories", 300, "--rounds", 2, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["memories"] == 300
    pages = {one["page"]: one for one in found["pages"]}
    assert set(known_pages()) - {MISSING} <= set(pages)
    assert {"search, a whole page", "search, while typing"} <= set(pages)
    assert all(one["times"]["calls"] == 2 and one["kilobytes"] > 1 for one in found["pages"])
