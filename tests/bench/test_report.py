"""One report of everything: how sections are run, and that every page comes from the figures."""

from pathlib import Path
from typing import Any

import pytest
from bench.report import blocks, plots
from bench.report.causes import cause_of
from bench.report.figures import FILE, Figures, read
from bench.report.floors import floors
from bench.report.page import page
from bench.report.running import run_all
from bench.report.sections import SECTIONS, Section

from tests.bench.test_repository_commands import bench
from tests.docs.markdown import ROOT

pytestmark = pytest.mark.timeout(900)  # whole programs, on a machine with other work

PUBLISHED = ROOT / "docs" / "report"
PNG = b"\x89PNG"
MOST_BYTES = 80_000
MARKED = "# Read\n\n<!-- figures: {name} -->\n\nold\n\n<!-- /figures -->\n\nThe end.\n"


@pytest.fixture(scope="module")
def published() -> Figures:
    return read(PUBLISHED / FILE)


@pytest.mark.requirement("bench.readme-figures")
def test_figures_of_pages_are_those_of_the_report(published: Figures) -> None:
    for path in blocks.PAGES:
        text = path.read_text(encoding="utf-8")
        assert blocks.names(text), path
        assert blocks.filled(text, published) == text, path
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert blocks.names(readme) == ["outcomes", "recall", "service"]
    with pytest.raises(KeyError):
        blocks.filled(MARKED.format(name="taste"), published)


@pytest.mark.requirement("bench.report")
def test_the_page_is_made_from_the_figures(published: Figures) -> None:
    text = page(published)
    assert (PUBLISHED / "README.md").read_text(encoding="utf-8") == text
    assert [one["name"] for one in published.sections] == [one.name for one in SECTIONS]
    for one in published.sections:
        assert one["command"] in text
        assert f"## {one['title']}" in text
    for name in plots.pictures():
        content = (PUBLISHED / name).read_bytes()
        assert content.startswith(PNG), name
        assert len(content) < MOST_BYTES, name
    raw = (PUBLISHED / FILE).read_text(encoding="utf-8")
    assert not [name for name in ("/work", "/tmp", "/root", "/home") if name in raw]


def test_a_shortfall_is_told_with_its_cause_or_as_unexplained(published: Figures) -> None:
    measured = published.result("speed")["figures"]
    names = {one["name"] for one in measured if one["floor"] is not None}
    assert names <= {one.what for one in floors(published)}
    for one in floors(published):
        assert bool(one.cause) == (one.met is False), one.what
    assert "more than a row" in cause_of("add, single")
    assert "index" in cause_of("the slowest of 21 pages (/ui/memories, by theme), p95")
    assert cause_of("something that nobody looked into") == "not known"


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    absent = bench("report", "--set", tmp_path / "none.json", "--out", tmp_path)
    assert absent.returncode != 0
    assert "there is no such set of questions" in absent.stderr


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
