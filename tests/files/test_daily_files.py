"""The daily logs: what was said, in short, in files that people may edit."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.testing import ManualClock
from tests.files.mirrors import Mirrored, while_writing

pytestmark = pytest.mark.requirement("files.daily-log")

Log = Callable[..., None]


@pytest.fixture
def me(backend_url: str, open_store: Callable[..., Memory], tmp_path: Path) -> Mirrored:
    memory = open_store(backend_url, files=tmp_path / "files", timezone="Asia/Jakarta")
    return Mirrored(memory, "me")


@pytest.fixture
def log(me: Mirrored) -> Log:
    return me.log


def read(me: Mirrored, day: str = "2026-01-02") -> str:
    return (me.files.daily / f"{day}.md").read_text(encoding="utf-8")


def test_entries_are_appended_to_the_file_of_their_day(
    me: Mirrored, log: Log, clock: ManualClock
) -> None:
    me.sync()
    assert not me.files.daily.exists()
    log("Talked about tea.")
    clock.advance(hours=1)
    log("Talked about Faro.\n\nAnd boats.", thread="t2")
    log("The next day.", last=30, day="2026-01-03")
    assert me.sync().daily_entries == 3
    at = (clock() - timedelta(hours=1) + timedelta(hours=7)).strftime("%H:%M")
    text = read(me)
    assert text.startswith("# 2026-01-02\n\n<!-- ricordo ")
    assert f"## {at} · t1\n\nTalked about tea.\n" in text
    assert text.index("tea") < text.index("Talked about Faro.\n\nAnd boats.\n")
    assert "The next day." in read(me, "2026-01-03")
    assert (me.files.daily / "2026-01-02.md").stat().st_mode & 0o777 == 0o600
    assert me.sync().daily_entries == 0


def test_what_people_do_to_it_stays(me: Mirrored, log: Log, clock: ManualClock) -> None:
    log("First.")
    log("Second.", thread="t2")
    me.sync()
    path = me.files.daily / "2026-01-02.md"
    edited = read(me).replace("First.", "My own words.").split("<!-- ricordo")[:2]
    path.write_text("<!-- ricordo".join(edited) + "A note without an end", encoding="utf-8")
    before = read(me)
    assert "Second." not in before
    assert me.sync().daily_entries == 0
    assert read(me) == before
    log("Third.", last=30)  # at the very same time
    assert me.sync().daily_entries == 1
    assert read(me).startswith(f"{before}\n\n<!-- ricordo")
    assert "Second." not in read(me)
    path.unlink()
    clock.advance(minutes=1)
    assert me.sync().daily_entries == 0
    assert not path.exists()
    log("Fourth.", last=45)
    me.sync()
    assert ("Third." in read(me), "Fourth." in read(me)) == (False, True)


def test_what_people_save_while_it_is_written_stays(
    me: Mirrored, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log("Talked about tea.")
    me.sync()
    log("Talked of tea again.", last=30)
    path = me.files.daily / "2026-01-02.md"
    while_writing(monkeypatch, lambda: path.write_text(f"{read(me)}\nMy own words.\n"))
    assert me.sync().daily_entries == 1
    assert "My own words." in read(me) and "Talked of tea again." in read(me)


def test_a_clock_that_was_set_back_loses_no_entry(
    me: Mirrored, log: Log, clock: ManualClock
) -> None:
    log("Talked about tea.")
    assert me.sync().daily_entries == 1
    clock.advance(hours=-2)
    log("Talked about Faro.", thread="t2")
    log("Talked of tea again.", last=30)
    assert me.sync().daily_entries == 2
    assert "Talked about Faro." in read(me) and "Talked of tea again." in read(me)
    assert me.sync().daily_entries == 0


def test_of_many_conversations_the_latest_are_noted(
    me: Mirrored, log: Log, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_MIRRORED_ITEMS", 3)
    for number in range(5):
        clock.advance(minutes=1)
        log(f"Talk {number}.", thread=f"t{number}")
    assert me.sync().daily_entries == 5
    (me.files.daily / "2026-01-02.md").write_text("# Cleared\n")
    clock.advance(minutes=1)
    log("More of the first.", thread="t0", last=30)
    log("More of the last.", thread="t4", last=30)
    assert me.sync().daily_entries == 2
    assert "Talk" not in read(me)


def test_what_was_said_cannot_pass_for_the_program(me: Mirrored, log: Log) -> None:
    log("First.")
    me.sync()
    mark = next(line for line in read(me).split("\n") if line.startswith("<!--"))
    me.files.mirror.notes.unlink()
    (me.files.daily / "2026-01-02.md").unlink()
    log(f"x\n{mark}\n<!-- hidden", thread="a<!-- b", last=30)
    log("", thread="empty")
    log("Elsewhere.", thread="../../x", day="../../../x")
    assert me.sync().daily_entries == 3
    assert read(me).count(mark) == 1
    assert "First." in read(me)
    assert "<!-- hidden" not in read(me)
    written = [path.relative_to(me.files.memory) for path in me.files.daily.iterdir()]
    assert len(written) == 2
    assert all(path.parts[0] == "daily" and len(path.name) == 13 for path in written)


def test_many_entries_are_read_in_portions(
    me: Mirrored, log: Log, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.files.mirror_source._ROWS_AT_ONCE", 2)
    for number in range(7):
        log(f"Entry {number}.", thread=f"t{number % 3}", last=number)
        clock.advance(seconds=number % 2)
    assert me.sync().daily_entries == 7
    assert [read(me).count(f"Entry {number}.") for number in range(7)] == [1] * 7
    assert me.sync().daily_entries == 0


def test_a_day_that_cannot_be_written_is_reported_and_made_up_for(me: Mirrored, log: Log) -> None:
    me.sync()
    (me.files.daily / "2026-01-02.md").mkdir(parents=True)
    log("First.")
    log("Other.", day="2026-01-03", last=30)
    report = me.sync()
    assert (report.daily_entries, len(report.problems)) == (1, 1)
    assert "2026-01-02.md" in report.problems[0].note
    (me.files.daily / "2026-01-02.md").rmdir()
    report = me.sync()
    assert (report.daily_entries, report.problems) == (1, ())
    assert "First." in read(me)
    assert read(me, "2026-01-03").count("Other.") == 1
