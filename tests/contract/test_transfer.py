"""Export and import of ricordo's own files."""

import json
import re
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import ImportFailed, InvalidValue, Memory, UserMemory, UserNotFound
from ricordo.model.thread import NewTurn
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.threads import append_turns
from ricordo.testing import ManualClock
from tests.support.sharing import share
from tests.support.unasked import stored

pytestmark = pytest.mark.requirement("transfer.round-trip")


def fill(memory: Memory, name: str, clock: ManualClock) -> UserMemory:
    """A user with rows of every kind and memories in every status."""
    user = memory.user(name, agent="helper")
    shared = user.add("Prefers tea", theme="drinks", tags=["a", "b"], pinned=True).id
    stored(user, "Bekasi", key="city")
    clock.advance(days=1)
    stored(user, "Jakarta", key="city", reason="moved")
    old = user.add("Works as a cook").id
    user.add("Works as a nurse", supersedes=old)
    user.archive(user.add("Has a cat 🐈 — naïve").id)
    user.forget(user.add("Never mind").id)
    user.add("In Paris", expires_at=clock() + timedelta(days=3))
    share(user, shared, "viewer")
    user.describe_theme("drinks", description="What to pour")
    with memory.database.write(name) as writing:
        said = [
            NewTurn(role="user", content="Hello", message_id="m1", actor=name),
            NewTurn(role="assistant", content="Hi!", tool_calls=[{"name": "look"}]),
        ]
        append_turns(writing, "t1", "Greetings", said)
    return user


def form(memory: Memory, name: str) -> None:
    """What formation keeps of a user: how far it is, what waits, and the narrative."""
    user = memory.user(name)
    user.observe([{"role": "user", "content": "I am allergic to peanuts"}], thread="t2")
    user.observe([{"role": "user", "content": "My name is Ana"}], thread="t2")
    user.form("t2")
    user.approve(user.proposals().items[1].id)
    memory.run_jobs()


def exported(user: UserMemory) -> list[dict[str, Any]]:
    return [json.loads(line) for line in user.export_lines()]


def test_a_user_comes_back_exactly(memory: Memory, clock: ManualClock, tmp_path: Path) -> None:
    ana = fill(memory, "ana", clock)
    form(memory, "ana")
    for text in ("語" * 8_000, "Escaped \\u0000, not NUL", "Short"):
        stored(ana, text, key="long")
    path = tmp_path / "ana.jsonl"
    lines = ana.export(path)
    before = path.read_text(encoding="utf-8")
    assert lines == len(before.splitlines())
    assert path.stat().st_mode & 0o077 == 0
    rows = [json.loads(line) for line in before.splitlines()]
    assert {row["kind"] for row in rows} == {
        *("ricordo", "user", "theme", "item", "link", "history", "thread", "turn"),
        *("formation", "proposal", "summary", "thread_view", "end"),
    }  # the rest has tests of its own
    assert [name for row in rows for name in row if name.startswith("index_")] == []
    memory.erase_user("ana")
    report = memory.import_file(path)  # the operator, who puts links back, too
    assert (report.format, report.restored_rows) == ("ricordo", lines - 2)
    assert "".join(line + "\n" for line in ana.export_lines()) == before
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []
    assert ana.add("Goes on").id > max(row["id"] for row in rows if row["kind"] == "item")
    clock.advance(days=3)
    assert memory.run_jobs() >= 1
    assert [change.event for change in ana.changes(since=ana.revision() - 1)] == ["TTL"]


@pytest.mark.requirement("transfer.merge")
def test_importing_into_a_user_who_has_something(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ana = fill(memory, "ana", clock)
    ana.export(tmp_path / "ana.jsonl")
    clock.advance(hours=1)
    ben, viewer, cleo = memory.user("ben"), memory.user("viewer"), memory.user("cleo")
    ben.add("Prefers tea", theme="drinks")
    ben.add("Surabaya", key="city")
    report = ben.import_file(tmp_path / "ana.jsonl")
    assert (report.added, report.duplicates) == (2, 1)
    assert report.skipped["older than what is stored"] == 1
    assert report.skipped["archived memories"] == 1
    assert (report.threads, report.turns) == (1, 2)
    assert ben.get(ben.list(key="city").items[0].id).content == "Surabaya"
    revision = ben.revision()
    again = ben.import_file(tmp_path / "ana.jsonl")
    assert (again.added, again.updated, again.turns) == (0, 0, 0)
    assert ben.revision() == revision
    assert [turn.content for turn in ben.turns("t1")] == ["Hello", "Hi!"]
    viewer.import_file(tmp_path / "ana.jsonl")  # what was shared with them becomes theirs
    (own,) = (item for item in viewer.list(contains="tea") if item.user_id == "viewer")
    assert viewer.links(own.id) == ()
    cleo.observe([{"role": "user", "content": "Cleo's own"}], thread="t1")
    assert cleo.import_file(tmp_path / "ana.jsonl").added == 4
    assert [turn.content for turn in cleo.turns("t1")] == ["Cleo's own", "Hello"]


@pytest.mark.slow
@pytest.mark.requirement("transfer.all-users")
def test_the_whole_store(
    memory: Memory, clock: ManualClock, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    for name in ("ana", "zed"):  # before and after whom they share something with
        fill(memory, name, clock)
        form(memory, name)
    memory.global_memories().add("For everyone")
    memory.user("viewer").add("Later")
    memory.export(tmp_path / "all.jsonl")
    other = open_store(str(tmp_path / "other.db"))
    seen: list[tuple[int, int]] = []
    other.import_file(
        tmp_path / "all.jsonl", progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (4, 4)
    assert other.users() == memory.users() == ("*", "ana", "viewer", "zed")
    assert list(other.export_lines()) == list(memory.export_lines())
    assert len(other.user("viewer").list(contains="tea")) == 2
    with pytest.raises(ImportFailed, match="holds 4 users"):
        other.user("cleo").import_file(tmp_path / "all.jsonl")


def broken(lines: list[str]) -> list[tuple[str, list[str]]]:
    rows = [json.loads(line) for line in lines]
    header, *inside, end = rows

    def written(changed: list[dict[str, Any]]) -> list[str]:
        return [json.dumps(row) for row in [header, *changed, {**end, "rows": len(changed)}]]

    def with_first(kind: str, **changes: Any) -> list[str]:
        place = next(number for number, row in enumerate(inside) if row["kind"] == kind)
        changed = {**inside[place], **changes}
        changed = {name: value for name, value in changed.items() if value != "(gone)"}
        return written([*inside[:place], changed, *inside[place + 1 :]])

    def again(kind: str) -> list[str]:
        return written([*inside, next(row for row in inside if row["kind"] == kind)])

    def without(kind: str) -> list[str]:
        place = next(number for number, row in enumerate(inside) if row["kind"] == kind)
        return written([*inside[:place], *inside[place + 1 :]])

    return [
        ("not a ricordo export", [json.dumps({"kind": "other"}), *lines[1:]]),
        ("export format 99", [json.dumps({"kind": "ricordo", "version": 99}), *lines[1:]]),
        ("before the end of the export", lines[:-1]),
        ("before the end of the export", []),
        ("rows, but", [*lines[:4], *lines[5:]]),
        ("follows the line that ends", [*lines, lines[1]]),
        *(("not JSON", [*lines[:3], line, *lines[3:]]) for line in ("{broken", "")),
        ("not a JSON object", [*lines[:3], "[1]", *lines[3:]]),
        ("kind 'dream'; allowed", written([*inside, {"kind": "dream"}])),
        ("belongs to no user line", written(inside[1:])),
        ("user appears twice", again("user")),
        ("unknown item field 'colour'", with_first("item", colour="red")),
        ("content: is missing", with_first("item", content="(gone)")),
        ("content: must not be null", with_first("item", content=None)),
        ("content: 8001 characters", with_first("item", content="x" * 8_001)),
        ("NUL", with_first("item", content="a\x00b")),
        ("importance: 9 is not", with_first("item", importance=9)),
        ("status: 'gone' is not one of", with_first("item", status="gone")),
        ("created_at: expected an ISO 8601", with_first("item", created_at="long ago")),
        ("id: 0 is not", with_first("item", id=0)),
        ("themes that are not there: nowhere", with_first("item", theme="nowhere")),
        ("is deleted but has no purge_at", with_first("item", status="deleted")),
        ("memory 1 appears twice", again("item")),
        ("links to memories that are not there: 77", with_first("link", item_id=77)),
        ("is not a slug", with_first("theme", slug="Work Stuff")),
        ("rag_length", with_first("theme", rag_length=2**40)),
        ("history is not the revisions 1 to", with_first("user", revision=1)),
        ("history is not the revisions 1 to", without("history")),
        ("are not 1 to its turn_count", with_first("thread", turn_count=1)),
        ("are not 1 to its turn_count", without("thread")),
        ("unknown replaced value 'user_id'", with_first("history", before={"user_id": "ben"})),
        ("importance: 9", with_first("history", before={"importance": 9})),
        ("memories without history: 99", with_first("item", id=99)),
        ("merged_ids: expected a list", with_first("history", meta={"merged_ids": 7})),
        ("is not a whole number", with_first("history", meta={"merged_ids": [[1]]})),
        ("undone_revision", with_first("history", meta={"undone_revision": []})),
    ]


@pytest.mark.requirement("transfer.bad-files")
def test_a_broken_export_writes_nothing(memory: Memory, clock: ManualClock, tmp_path: Path) -> None:
    lines = list(fill(memory, "ana", clock).export_lines())
    path = tmp_path / "broken.jsonl"
    zoe = memory.user("zoe")
    for said, changed in broken(lines):
        path.write_text("\n".join(changed), encoding="utf-8")
        with pytest.raises(ImportFailed) as caught:
            zoe.import_file(path, format="ricordo")
        assert said in str(caught.value)
        assert zoe.revision() == 0
        assert "zoe" not in memory.users()


@pytest.mark.requirement("transfer.bad-files")
def test_contradictory_times_stop_a_merge_before_it_begins(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.WRITE_BATCH_ITEMS", 10)
    ana = memory.user("ana")
    ana.add_many([f"Fact {number}" for number in range(25)])
    lines = list(ana.export_lines())
    place = max(number for number, line in enumerate(lines) if '"kind": "item"' in line)
    lines[place] = json.dumps({**json.loads(lines[place]), "valid_to": "1999-01-01"})
    (tmp_path / "wrong.jsonl").write_text("\n".join(lines), encoding="utf-8")
    ben = memory.user("ben")
    ben.add("Has something already")
    with pytest.raises(ImportFailed, match="valid_to: must be later"):
        ben.import_file(tmp_path / "wrong.jsonl")
    assert ben.revision() == 1


def test_users_who_share_are_restored_one_after_the_other(
    memory: Memory, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    ben.archive(ben.add("Put aside").id)
    share(ana, ana.add("Seen by both").id, "ben")
    for user in (ana, ben):
        user.export(tmp_path / f"{user.scope.user_id}.jsonl")
    other = open_store(str(tmp_path / "other.db"))
    for name in ("ana", "ben"):
        assert other.import_file(tmp_path / f"{name}.jsonl").restored_rows > 0
    assert len(other.user("ben").list(status="archived")) == 1
    events = [change.event for change in other.user("ben").changes()]
    assert events == ["ADD", "ARCHIVE", "LINK", "LINK"]
    with other.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_an_import_never_moves_the_numbers_back(memory: Memory, tmp_path: Path) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    ana.merge([ana.add("One").id, ana.add("Two").id], "Both")
    ana.export(tmp_path / "ana.jsonl")
    memory.erase_user("ana")
    taken = [one.id for one in ben.add_many([f"Ben {number}" for number in range(20)])]
    copy = memory.user("copy")
    copy.import_file(tmp_path / "ana.jsonl")
    dora = memory.user("dora")
    dora.import_file(tmp_path / "ana.jsonl")
    fresh = [memory.user("cleo").add(f"Cleo {number}").id for number in range(5)]
    everything = [item.id for item in memory.list(limit=1_000, status="any")]
    assert len(everything) == len(set(everything)) == 20 + 3 + 3 + 5
    assert min(fresh) > max(taken)
    (first, *_) = dora.list(status="superseded", sort="id", order="asc")
    dora.undo(first.id)
    assert sorted(item.content for item in dora.list()) == ["One", "Two"]
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_one_file_cannot_use_up_everybodys_numbers(memory: Memory, tmp_path: Path) -> None:
    eve = memory.user("eve")
    eve.add("A number from far away")
    lines = list(eve.export_lines())
    memory.erase_user("eve")
    far = [re.sub(r'"(id|item_id|new_ref)": 1\b', rf'"\1": {2**63 - 1}', line) for line in lines]
    (tmp_path / "far.jsonl").write_text("\n".join(far), encoding="utf-8")
    eve.import_file(tmp_path / "far.jsonl")
    assert memory.user("ana").add("Hello").id < 100
    (item,) = eve.list()
    assert item.id < 100
    assert [change.event for change in eve.history(item.id)] == ["ADD"]


@pytest.mark.requirement("transfer.bad-files")
def test_files_that_are_not_there(memory: Memory, tmp_path: Path) -> None:
    ana = memory.user("ana")
    with pytest.raises(ImportFailed, match="cannot be read"):
        ana.import_file(tmp_path / "nothing.jsonl")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ImportFailed, match="no file in it that can be read"):
        ana.import_file(empty)
    for format_name in ("ricordo", "mem0", "markdown", "openwebui"):
        with pytest.raises(ImportFailed, match="cannot be read"):
            ana.import_file(empty, format=format_name)
    with pytest.raises(ImportFailed, match="cannot be read"):
        memory.import_file(empty, format="ricordo")
    with pytest.raises(InvalidValue, match="format: 'word' is not one of: auto, ricordo"):
        ana.import_file(tmp_path / "x", format="word")
    with pytest.raises(UserNotFound):
        ana.export(tmp_path / "ana.jsonl")
    assert list(tmp_path.glob("*ana.jsonl*")) == []
    ana.add("Has a cat")
    with pytest.raises(InvalidValue, match="cannot be written"):
        ana.export(tmp_path / "no" / "such" / "folder.jsonl")


def test_two_exports_to_one_path_do_not_mix(memory: Memory, tmp_path: Path) -> None:
    for name in ("ana", "ben"):
        memory.user(name).add_many([f"{name} says {number}" for number in range(100)])
    path = tmp_path / "same.jsonl"
    threads = [
        threading.Thread(target=memory.user(name).export, args=(path,)) for name in ("ana", "ben")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    users = {json.loads(line).get("user_id") for line in path.read_text().splitlines()} - {None}
    assert users in ({"ana"}, {"ben"})
    assert list(tmp_path.glob(".*")) == []
