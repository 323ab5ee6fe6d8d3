"""One report of everything: how sections are run, and that every page comes from the figures."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from bench.report import blocks, plots
from bench.report.causes import cause_of
from bench.report.command import publish
from bench.report.figures import FILE, Figures, read
from bench.report.floors import floors
from bench.report.page import page
from bench.report.questions import write_invented
from bench.report.running import run_all, run_section
from bench.report.sections import SECTIONS, Section, Sizes

from ricordo.bench.questions import read_questions
from tests.bench.test_repository_commands import bench
from tests.docs.markdown import ROOT

PUBLISHED = ROOT / "docs" / "report"
PNG = b"\x89PNG"
MOST_BYTES = 80_000
MARKED = "# Read\n\n<!-- figures: {name} -->\n\nold\n\n<!-- /figures -->\n\nThe end.\n"


@pytest.fixture(scope="module")
def published() -> Figures:
    return read(PUBLISHED / FILE)


def section(code: str, budget: int = 60) -> Section:
    options = dict.fromkeys(Sizes, "")
    return Section("growth", "Growth", f"python -c '{code}' FILE", options, budget)


def ran(tmp_path: Path, code: str, budget: float | None = None) -> dict[str, Any]:
    return run_section(section(code), Sizes.TINY, tmp_path / "set.json", tmp_path, budget)


@pytest.mark.requirement("bench.readme-figures")
@pytest.mark.parametrize("path", blocks.PAGES, ids=lambda path: path.name)
def test_figures_of_a_page_are_those_of_the_report(path: Path, published: Figures) -> None:
    text = path.read_text(encoding="utf-8")
    assert blocks.names(text)
    assert blocks.filled(text, published) == text


@pytest.mark.requirement("bench.readme-figures")
def test_the_readme_has_all_kinds_of_figures() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert blocks.names(text) == ["recall", "peers", "speed", "service", "formation"]


@pytest.mark.requirement("bench.report")
def test_the_page_is_made_from_the_figures(published: Figures) -> None:
    assert (PUBLISHED / "README.md").read_text(encoding="utf-8") == page(published)
    for name in plots.pictures():
        content = (PUBLISHED / name).read_bytes()
        assert content.startswith(PNG), name
        assert len(content) < MOST_BYTES, name


@pytest.mark.requirement("bench.report")
def test_every_section_was_measured_and_says_how(published: Figures) -> None:
    assert [one["name"] for one in published.sections] == [one.name for one in SECTIONS]
    text = page(published)
    for one in published.sections:
        assert one["command"] in text
        assert f"## {one['title']}" in text


def test_a_shortfall_is_told_with_its_cause_or_as_unexplained(published: Figures) -> None:
    for one in floors(published):
        assert bool(one.cause) == (one.met is False), one.what
    assert "more than a row" in cause_of("add, single")
    assert "index" in cause_of("the slowest of 21 pages (/ui/memories, by theme), p95")
    assert cause_of("something that nobody looked into") == "not known"


def test_the_report_names_no_machine(published: Figures) -> None:
    text = (PUBLISHED / FILE).read_text(encoding="utf-8")
    for name in ("/work", "/tmp", "/root", "/home"):
        assert name not in text


@pytest.mark.requirement("bench.report")
def test_pages_and_pictures_of_a_file_of_figures(tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text(MARKED.format(name="formation"), encoding="utf-8")
    source, out = PUBLISHED / FILE, tmp_path / "report"
    done = bench("report", "--from", source, "--out", out, "--page", other)
    assert done.returncode == (1 if read(source).failed else 0), done.stderr
    for name in (FILE, "README.md"):
        assert (out / name).read_text() == (PUBLISHED / name).read_text()
    assert sorted(one.name for one in out.glob("*.png")) == sorted(plots.pictures())
    shown = other.read_text(encoding="utf-8")
    assert "| held out |" in shown and "old" not in shown
    assert shown.endswith("<!-- /figures -->\n\nThe end.\n")


@pytest.mark.requirement("bench.report")
def test_a_report_at_a_tiny_size(tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text(MARKED.format(name="recall"), encoding="utf-8")
    wanted = ("--only", "recall", "--only", "growth", "--only", "cold")
    done = bench("report", "--sizes", "tiny", *wanted, "--out", tmp_path, "--page", other)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / FILE)
    assert [one["name"] for one in found.sections] == ["recall", "growth", "cold"]
    assert found.made["set"] == {"name": "invented", "built_in": True}
    assert found.machine["cores"] >= 1 and found.machine["packages"]["numpy"]
    assert (tmp_path / "ladder.png").read_bytes().startswith(PNG)
    assert (tmp_path / "growth.png").read_bytes().startswith(PNG)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "an invented one was used" in text
    assert "`ricordo search`" in text and "not judged" in text
    assert "plain fusion" in other.read_text(encoding="utf-8")


@pytest.mark.requirement("bench.report")
def test_a_section_that_fails_is_told(tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text(MARKED.format(name="pages"), encoding="utf-8")
    wanted = ("--only", "pages", "--budget", 0.01)
    done = bench("report", "--sizes", "tiny", *wanted, "--out", tmp_path, "--page", other)
    assert done.returncode == 1
    assert "pages failed: not done within 0 s" in done.stderr
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "**These sections failed:**" in text and "**Failed:** not done within" in text
    assert "Not measured: not done within 0 s" in other.read_text(encoding="utf-8")


def test_what_a_section_printed_is_kept(tmp_path: Path) -> None:
    found = ran(tmp_path, 'import sys, json; print(json.dumps([sys.argv[1].endswith("set.json")]))')
    assert (found["status"], found["problem"], found["result"]) == ("ok", None, [True])
    assert found["command"].endswith(" FILE")


def test_a_section_ends_badly(tmp_path: Path) -> None:
    broken = ran(
        tmp_path, 'import sys, tempfile; print([]); sys.exit("no " + tempfile.gettempdir())'
    )
    assert (broken["status"], broken["problem"], broken["result"]) == ("failed", "no …", [])
    silent = ran(tmp_path, "import sys; sys.exit(7)")
    assert silent["problem"] == "exit code 7"
    chatty = ran(tmp_path, 'print("hello")')
    assert chatty["problem"] == "what it printed is not JSON"


def test_a_section_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, signal; "
        'child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]); '
        'open("{place}", "w").write(str(child.pid)); signal.pause()'
    )
    place = tmp_path / "pid"
    found = ran(tmp_path, code.replace("{place}", str(place)), budget=5.0)
    assert found["problem"] == "not done within 5 s"
    status = Path(f"/proc/{place.read_text()}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()


def test_what_was_measured_before_is_kept() -> None:
    one, other = SECTIONS[:2]
    asked: list[str] = []
    kept: list[int] = []

    def measure(section: Section) -> dict[str, Any]:
        asked.append(section.name)
        return {"name": section.name, "problem": None, "seconds": 0.0}

    before = {one.name: {"name": one.name, "problem": None, "seconds": 9.0}}
    sections = {one.name: one, other.name: other}
    done = run_all(sections, measure, before, lambda done: kept.append(len(done)), asked.append)
    assert [found["name"] for found in done] == [one.name, other.name]
    assert done[0]["seconds"] == 9.0
    assert asked == [
        f"1/2 {one.name}: kept from before",
        f"2/2 {other.name} …",
        other.name,
        f"2/2 {other.name}: done, 0 s",
    ]
    assert kept == [2]


def test_a_picture_of_what_was_not_measured_goes(tmp_path: Path, published: Figures) -> None:
    shutil.copy(PUBLISHED / "growth.png", tmp_path)
    left = tuple(one for one in published.sections if one["name"] != "growth")
    publish(Figures(published.made, published.machine, left), tmp_path, ())
    assert not (tmp_path / "growth.png").exists()
    assert "growth.png" not in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_a_block_that_does_not_exist_is_noticed(published: Figures) -> None:
    with pytest.raises(KeyError):
        blocks.filled(MARKED.format(name="taste"), published)


def test_an_invented_set_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    write_invented(path, 20)
    found = read_questions(path)
    assert (found.name, found.turn_count, found.question_count) == ("invented", 40, 8)
    for conversation in found.conversations:
        texts = {turn.id: turn.text.lower() for turn in conversation.turns}
        for question in conversation.questions:
            assert all(word in texts[question.evidence[0]] for word in question.text.split())


def test_a_set_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = bench("report", "--set", tmp_path / "none.json", "--out", tmp_path)
    assert done.returncode != 0
    assert "there is no such set of questions" in done.stderr


def test_every_speed_floor_is_a_line_of_the_report(published: Figures) -> None:
    measured = published.result("speed")["figures"]
    names = {one["name"] for one in measured if one["floor"] is not None}
    assert names <= {one.what for one in floors(published)}
