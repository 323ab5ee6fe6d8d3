"""``python -m bench``: the commands that need the repository, run whole at a small size."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.attack.planted import LANGUAGES
from bench.peers import environments
from bench.peers.contract import Endpoint, Entry
from bench.peers.formation import Gateway, outcomes_of, write_task
from bench.peers.forming import work
from bench.peers.registry import NOT_RUN, PEERS
from bench.soaking.generated import Requests
from bench.year import simulate
from bench.yearly.ledger import Ledger

from bench import feedback
from ricordo.http.app import create_app
from ricordo.model.item import Change
from ricordo.model.vocabulary import Event
from ricordo.providers.chat_model import ModelChoice
from ricordo.testing import ModelServer, WordEmbedder
from ricordo.wiring import open_memory
from ricordo_bench.formation import read_labelled
from tests.bench.sets import small_set, written
from tests.docs.markdown import ROOT
from tests.support.scripted_model import read_tastes
from tests.web.addresses import MISSING, known_pages

pytestmark = pytest.mark.timeout(900)  # whole programs, on a machine with other work

SMALL = ("--clients", 5, "--memories", 40, "--users", 2, "--words", "--database", "sqlite")


def bench(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def measured(*arguments: object) -> Any:
    """What a command tells a program."""
    done = bench(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.requirement("bench.peers")
def test_peers_that_are_not_installed_are_named(tmp_path: Path) -> None:
    shown = bench("peers", "--path", written(tmp_path, small_set()))
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert " ".join(lines[0].split()) == "System Version R@10 R@1 MRR p50 ms p95 ms stored/s MB"
    assert lines[1].startswith("ricordo")
    absent = [line for line in shown.stderr.splitlines() if line.endswith("not installed")]
    for name in ("chromadb", "lancedb", "langgraph", "mem0", "Graphiti", "Hindsight"):
        told = [line for line in (*lines, *absent) if line.startswith(name)]
        assert len(told) == 1, name
    late = bench("peers", "--path", written(tmp_path, small_set()), "--only", "ricordo", "--json")
    (ours,) = json.loads(late.stdout)["standings"]
    assert (ours["system"], ours["scores"]["overall"]["recall_at_20"]) == ("ricordo", 1.0)


@pytest.mark.slow
@pytest.mark.requirement("bench.peers")
def test_what_peers_form_beside_ricordo(tmp_path: Path) -> None:
    path = labelled_set(tmp_path)
    with ModelServer() as server:
        server.answer_with(both_formats)
        model = ("--path", path, "--model", "scripted", "--base-url", server.base_url)
        ours, alone, *others = measured("peers-formation", *model, "--errors")["standings"]
    assert (ours["system"], alone["system"]) == ("ricordo", "ricordo, without a model")
    (peer,) = others
    assert peer["reason"] == "not installed" or peer["measures"]["rows"][0]["found"] == 1
    whole = ours["measures"]["rows"][0]
    assert (whole["found"], whole["leaked"], whole["model_calls"]) == (1, 1, 2)
    assert alone["measures"]["rows"][0]["model_calls"] == 0


def both_formats(body: dict[str, Any]) -> dict[str, Any] | str:
    """What ricordo asks for, and what mem0 does."""
    if body["response_format"]["type"] == "json_schema":
        return read_tastes(body)
    said = body["messages"][-1]["content"]
    return {
        "memory": [{"id": "0", "text": f"loves {one}"} for one in ("tea", "snow") if one in said]
    }


def labelled_set(folder: Path) -> Path:
    tea = {"what": "taste", "must_contain": ["tea"], "type": ["fact"], "sensitive": "health"}
    lines = [
        {"id": one, "language": "en", "turns": [{"role": "user", "content": f"I love {one}."}]}
        | labels
        for one, labels in {"tea": {"facts": [tea]}, "snow": {"never": ["snow"]}}.items()
    ]
    path = folder / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


class Parrot:
    """A peer that stores what the model says to a conversation, and dislikes snow."""

    def __init__(self, folder: Path, endpoint: Endpoint) -> None:
        assert folder.is_dir()
        self._endpoint = endpoint
        self._stored: dict[str, list[str]] = {}

    def form(self, user: str, messages: Sequence[Mapping[str, str]]) -> None:
        if user == "snow":
            raise ValueError("no snow")
        asked = {"model": self._endpoint.model, "messages": messages}
        said = posted(f"{self._endpoint.base_url}/chat/completions", asked)
        (vector,) = posted(f"{self._endpoint.base_url}/embeddings", {"input": "x"})["data"]
        assert len(vector["embedding"]) == self._endpoint.width
        self._stored[user] = [said["choices"][0]["message"]["content"]]

    def stored(self, user: str) -> list[str]:
        return self._stored.get(user, [])

    def close(self) -> None:
        pass


def posted(url: str, body: object) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answered:
        return json.load(answered)


@pytest.mark.requirement("bench.peers")
def test_a_peer_gets_model_and_vectors_and_what_it_took_is_counted(tmp_path: Path) -> None:
    entry = Entry("Parrot", "numpy", lambda *_: pytest.fail("not asked"), former=Parrot)
    snippets = read_labelled(labelled_set(tmp_path))
    with ModelServer() as server:
        server.answer("loves tea")
        choice = ModelChoice.parse("custom_http", model="m", base_url=server.base_url, api_key="k")
        with Gateway(choice, WordEmbedder()) as gateway:
            write_task(tmp_path, entry, snippets, gateway.endpoint)
            formed = work(entry, tmp_path)
        assert server.requests[0].headers["authorization"] == "Bearer k"
    tea, snow = outcomes_of(snippets, formed.conversations)
    assert (tea.judgement.found, tea.judgement.misflagged) == (("taste",), ())
    assert (tea.calls, tea.prompt_tokens, tea.completion_tokens) == (1, 3, 2)
    assert (snow.calls, snow.problem, snow.judgement.wrong) == (0, "ValueError: no snow", ())


@pytest.mark.slow
@pytest.mark.requirement("conversations.flat-tokens")
def test_a_long_conversation_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "pictures" / "conversation.png"
    found = measured("conversation", "--out", picture, "--turns", 120)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert found["turns_lost"] == 0
    assert found["compactions"] >= 7
    last = found["points"][-1]
    assert last["turns"] == 120
    assert last["tokens"] < last["tokens_of_all"] / 2
    assert all(point["shown_turns"] <= 20 for point in found["points"])


@pytest.mark.slow
def test_storing_is_measured(tmp_path: Path) -> None:
    costs = measured("encryption", "--memories", 30)["costs"]
    assert len(costs) == 5
    assert all(cost["plain_ms"] > 0 and cost["encrypted_ms"] > 0 for cost in costs)
    backup = measured("backup", "--memories", 50)
    assert (backup["memories"], backup["restored"]) == (50, 50)
    *hostile, honest = measured("imports", "--megabytes", 1)
    assert honest["outcome"] == "imported"
    assert all("imported" not in one["outcome"] for one in hostile)
    assert all(one["resident_megabytes"] < 400 for one in hostile)
    picture = tmp_path / "growth.png"
    points = measured("growth", "--out", picture, "--max", 100)["points"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {point["memories"] for point in points} == {100}
    assert points[0]["megabytes"] > 0 and points[0]["resident_mb"] > 50
    figures = {one["name"]: one for one in measured("writes", "--share", 0.01)["figures"]}
    for name in ("add", "add_many", "turns"):  # each ran the statements that it recorded
        assert figures[f"SQLite: {name}, statements of a call"]["value"] >= 10
        assert figures[f"SQLite: {name}, share of bare"]["value"] > 0
    assert figures["PostgreSQL: add by 8 threads"]["met"] is None
    rebuilt = measured("rebuild", "--memories", 200)
    assert (rebuilt["failed"], rebuilt["stale"], rebuilt["problems"]) == (0, 0, [])
    assert rebuilt["searches"] > 0


@pytest.mark.slow
def test_upkeep_is_measured() -> None:
    found = measured("upkeep-load", "--memories", 300, "--seconds", 0)
    assert found["memories"] == 300
    assert found["during"]["calls"] > 0
    assert len(found["sweeps"]) == 5
    assert measured("year", "--users", 1, "--days", 3)["days"] == 3


@pytest.mark.slow
def test_tokens_are_measured(tmp_path: Path) -> None:
    none, *_, most = measured("prompts", "--path", written(tmp_path, small_set()))
    assert (none["quotes"], none["evidence"]) == (0, 0.0)
    assert most["questions"] == 4 and most["evidence"] > 0
    assert most["tokens"] > none["tokens"]
    kinds = {kind["name"]: kind for kind in measured("tokens")}
    assert {"English", "Chinese", "JSON", "base64", "Unicode"} <= set(kinds)
    assert all(kind["short"] == 0 for kind in kinds.values())
    assert kinds["English"]["ratio"] <= 1.6


@pytest.mark.slow
def test_a_command_beside_a_postgresql() -> None:
    done = bench("with-postgres", "python", "-c", "import sys; print(sys.argv[1:])", "URL", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['postgresql://") and done.stdout.endswith(", 'x']\n")
    assert bench("with-postgres", "python", "-c", "raise SystemExit(4)").returncode == 4


@pytest.mark.slow
@pytest.mark.requirement("proxy.openai")
@pytest.mark.requirement("page.fast")
def test_the_service_is_measured() -> None:
    proxy = measured("proxy", "--memories", 200, "--requests", 12)
    assert len(proxy["rows"]) == 7 and proxy["recalling"]["calls"] == 12
    assert all(row["alone"]["calls"] == row["proxied"]["calls"] == 12 for row in proxy["rows"])
    found = measured("pages", "--memories", 300, "--rounds", 2)
    pages = {one["page"]: one for one in found["pages"]}
    assert set(known_pages()) - {MISSING} <= set(pages)
    assert {"search, a whole page", "search, while typing"} <= set(pages)
    assert all(one["times"]["calls"] == 2 and one["kilobytes"] > 1 for one in found["pages"])


@pytest.mark.slow
@pytest.mark.requirement("service.load")
def test_the_load_as_a_command() -> None:
    (found,) = measured("load", "--seconds", 2, "--add-percent", 50, *SMALL)["databases"]
    assert found["problems"] == []
    assert (found["errors"], found["lost"]) == (0, 0)
    assert found["stored"] == found["acknowledged"] == found["add"]["requests"] > 0
    assert found["search"]["requests"] > 0


@pytest.mark.slow
def test_what_is_shown_after_corrections_as_a_command() -> None:
    found = measured("corrections", "--count", 6, "--errors")
    by = {(row["by"], row["of"], row["path"]): row for row in found["rows"]}
    for path in ("search", "search_turns", "context", "proxy", "memory_search", "memory_query"):
        row = by["all", "", path]
        assert row["corrections"] == 6
        assert row["stale"] + row["both"] + row["current"] + row["nothing"] == 6
    kinds = [row for row in found["rows"] if (row["by"], row["path"]) == ("kind", "search")]
    assert sum(row["corrections"] for row in kinds) == 6
    assert all(one["conversation"] and one["question"] for one in found["errors"])


@pytest.mark.slow
def test_what_conversations_end_as_a_command(tmp_path: Path) -> None:
    path = written(tmp_path, small_set())
    people, chat = measured("ends", "--path", path, "--show")
    assert (people["turns"], people["marked"], people["replaced"]) == (4, 0, 0)
    assert (chat["turns"], chat["marked"], len(chat["ends"])) == (3, 2, 2)
    moved = "I moved, now I live in a house in Oslo."
    assert chat["ends"][0] == {"of": "turn", "said": "I live in a flat in Lisbon.", "by": moved}
    shown = bench("ends", "--path", path, "--conversations", 1).stdout.splitlines()
    assert [line.split()[:3] for line in shown[1:]] == [["people", "4", "0"], ["all", "4", "0"]]
    assert bench("ends", "--path", tmp_path / "none").stderr.startswith("error: ")


@pytest.mark.slow
def test_what_ratings_do_is_measured(tmp_path: Path) -> None:
    path = written(tmp_path, small_set())
    measured = feedback.measure(path, None)
    assert measured["questions"] == {"rated": 2, "same": 0, "other": 1}
    assert measured["before"]["other"]["among 10"] == 1
    moved = measured["the user says used"]["other"]
    assert (moved["better"], moved["worse"]) == (0, 0)


def test_pairs_that_are_none_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    pairs = ("languages", "--pairs", tmp_path)
    assert bench(*pairs).stderr == f"error: {tmp_path}: no .tsv file in this folder\n"
    de = tmp_path / "de.tsv"
    de.write_text("\n", encoding="utf-8")
    assert bench(*pairs).stderr == f"error: {de}: no pair in it\n"
    de.write_text("Good morning\tGuten Morgen\nGood night\n", encoding="utf-8")
    told = f"error: {de}, line 2: expected two texts with a tab between them\n"
    assert bench(*pairs).stderr == told


@pytest.mark.requirement("security.secrets")
def test_the_attack_over_a_path_as_a_command() -> None:
    found = measured("attack", "paths", "--attempts", 9, "--path", "conversation")
    by = {(row["by"], row["of"]): row for row in found["rows"]}
    assert (by["all", ""]["attempts"], by["all", ""]["stored"]) == (9, 0)
    assert {of for name, of in by if name == "language"} == set(LANGUAGES)


@pytest.mark.chaos
@pytest.mark.requirement("service.soak")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_soak_as_a_command(database: str) -> None:
    small = ("--requests", 100, "--clients", 3, "--hostile", 22)
    found = measured("soak", *small, "--database", database)
    assert found["problems"] == []
    assert (found["server_errors"], found["lost"]) == (0, 0)
    assert found["requests"] == 100 and found["attacks"] >= 22
    assert set(found["work_statuses"]) == {"200", "201"}
    assert found["acknowledged"] > 0 and found["health_checks"] > 0


def test_a_soak_asks_every_operation_the_same_each_time(tmp_path: Path) -> None:
    with open_memory(str(tmp_path / "ricordo.db"), embedding_provider="none") as memory:
        document = create_app(memory).openapi()
    first, second = (Requests(document, ["ana"], Random(7)) for _ in range(2))
    made = [first.next() for _ in range(3_000)]
    assert made == [second.next() for _ in range(3_000)]
    fixed = {path for path in document["paths"] if "{" not in path}
    assert fixed <= {one.path.partition("?")[0] for one in made}
    bodies = [one.body for one in made if one.body is not None]
    assert any(b"[" * 1_000 in body for body in bodies) and any(len(b) > 10**6 for b in bodies)


@pytest.mark.chaos
@pytest.mark.requirement("service.load")
def test_killing_under_load_as_a_command() -> None:
    done = bench("load", "--seconds", 3, "--kill", "--kills", 1, "--add-percent", 50, *SMALL)
    assert done.returncode == 0, done.stderr
    shown = {line.rsplit("  ", 1)[0].strip(): line.split()[-1] for line in done.stdout.splitlines()}
    assert shown["kills"] == "1"
    assert shown["additions lost"] == shown["errors"] == "0"
    assert int(shown["additions acknowledged"]) > 0


START = datetime(2026, 1, 1, tzinfo=UTC)


def followed(*steps: tuple[Event, int], item_id: int = 1, **touched: bool) -> Ledger:
    """A ledger that was told what happened to a memory, stated on day 0, on which days."""
    ledger = Ledger(forget_after=timedelta(days=60), purge_after=timedelta(days=30))
    ledger.touch(item_id, START, **touched)
    for event, day in steps:
        at = START + timedelta(days=day)
        ledger.follow(Change(revision=1, event=event, item_id=item_id, at=at, actor="system"))
    return ledger


def test_a_ledger_notices_what_must_not_be() -> None:
    right = followed((Event.TTL, 60), (Event.PURGE, 90))
    assert (right.problems, right.forgotten, right.purged) == ([], 1, 1)
    pinned = followed((Event.TTL, 100), is_pinned=True)
    assert pinned.problems == ["memory 1, forgotten at 2026-04-11 00:00, was pinned"]
    twice = followed((Event.TTL, 60), (Event.TTL, 61))
    assert twice.problems[-1].endswith("had been forgotten already")
    early = followed((Event.TTL, 60), (Event.PURGE, 89))
    assert early.problems[-1].endswith("was forgotten at 2026-03-02 00:00")
    assert followed((Event.PURGE, 90)).problems[-1].endswith("had not been forgotten")
    recalled = followed((Event.TTL, 59))
    assert recalled.problems[-1].endswith("was stated or recalled at 2026-01-01 00:00")


@pytest.mark.slow
@pytest.mark.requirement("upkeep.year")
def test_a_small_year(sqlite_url: str) -> None:
    report = simulate(users=2, days=130, url=sqlite_url)
    assert report.problems == ()
    assert report.duplicates_without > 3 * report.duplicates
    assert report.growth_last < report.growth_first  # what is purged first is so on day 90
    assert report.forgotten > 0
    assert report.purged > 0
    assert report.restored > 0
    assert report.months[-1].active < report.without.active
    assert report.most_tokens == 0
    assert report.most_jobs <= 6


@pytest.mark.slow
def test_every_peer_is_pinned_and_who_is_not_measured_has_a_reason() -> None:
    for entry in PEERS:
        text = environments.requirements(entry.environment).read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(entry.package)}(\[[\w-]+\])?==\d", text, re.MULTILINE)
    assert all(one.name and len(one.reason) > 20 for one in NOT_RUN)
    assert not {one.name for one in NOT_RUN} & {entry.name for entry in PEERS}


@pytest.mark.slow
def test_hooks_are_measured_with_the_process_behind_them_and_without() -> None:
    found = measured("hooks", "--size", 20, "--runs", 2)
    kinds = [(one["event"], one["behind"]) for one in found["events"]]
    assert kinds == [
        ("nothing (Python alone)", ""),
        *((event, "running") for event in ("SessionStart", "UserPromptSubmit", "Stop")),
        ("Stop, 5 MB", "running"),
        *((event, "started by it") for event in ("SessionStart", "UserPromptSubmit", "Stop")),
        ("UserPromptSubmit", "hanging"),
    ]
    assert all(one["times"]["calls"] == 2 for one in found["events"])
