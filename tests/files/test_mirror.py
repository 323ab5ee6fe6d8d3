"""MEMORY.md and the store, brought together: each thing that a person may do to a line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import FilesUnavailable, InvalidValue, Memory
from ricordo.testing import ManualClock
from tests.files.mirrors import Mirrored
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("files.mirror-edits")


@pytest.fixture
def store(backend_url: str, open_store: Callable[..., Memory], tmp_path: Path) -> Memory:
    return open_store(backend_url, files=tmp_path / "files", files_user="ana")


@pytest.fixture
def ana(store: Memory) -> Mirrored:
    found = Mirrored(store, "ana")
    found.user.add("Prefers tea", theme="drinks")
    found.user.add("Lives in Porto", importance=4, tags=["place"], pinned=True)
    found.user.add("Has a black cat", theme="pets", key="cat", type="preference")
    return found


def last_change(ana: Mirrored, item_id: int) -> tuple[str, str, str | None]:
    change = ana.user.history(item_id)[-1]
    return change.event.value, change.actor, change.reason


@pytest.mark.requirement("files.mirror")
def test_it_shows_active_memories_by_theme(ana: Mirrored, store: Memory, tmp_path: Path) -> None:
    ana.user.add("Went\nto Faro", theme="drinks")
    ana.user.archive(ana.user.add("Set aside").id)
    store.global_memories().add("For everyone")
    ben = store.user("ben")
    shared = ben.add("Ben's own")
    share(ben, shared.id, "ana")
    report = ana.sync()
    assert (report.written, report.writes, report.hidden, report.problems) == (True, 0, 0, ())
    assert (report.path, report.revision) == (str(ana.path), ana.user.revision())
    assert ana.path == tmp_path / "files" / "memory" / "MEMORY.md"
    copy = ana.text.split("copy ")[1].split("\n")[0]
    assert ana.text.split("-->\n")[1] == (
        "\n## drinks\n\n- [1] Prefers tea\n- [4] Went ⏎ to Faro\n"
        "\n## general\n\n- [2] Lives in Porto\n"
        "\n## pets\n\n- [3] Has a black cat\n"
        f"\n<!-- ricordo mirror, end of copy {copy} "
    )
    assert ana.path.stat().st_mode & 0o777 == 0o600
    assert ana.path.parent.stat().st_mode & 0o777 == 0o700
    ana.assert_settled()


@pytest.mark.requirement("files.mirror")
def test_there_is_no_mirror_without_a_folder(memory: Memory, store: Memory) -> None:
    ana = memory.user("ana")
    with pytest.raises(FilesUnavailable, match="no folder for files"):
        ana.sync_mirror()
    assert (ana.mirror_status().path, ana.mirror_status().on) == (None, False)
    with pytest.raises(InvalidValue, match="global memories and groups have no files"):
        store.global_memories().sync_mirror()
    assert store.global_memories().mirror_status().path is None
    with pytest.raises(InvalidValue, match="allow_deletes"):
        ana.sync_mirror(allow_deletes=1)  # type: ignore[arg-type]


def test_it_follows_what_is_stored_and_status_tells_how_far(
    ana: Mirrored, clock: ManualClock
) -> None:
    status = ana.user.mirror_status()
    assert (status.on, status.mirrored_revision, status.edited) == (False, None, False)
    ana.user.add("Gone in an hour", expires_at=clock().replace(hour=clock().hour + 1))
    ana.sync()
    status = ana.user.mirror_status()
    assert (status.on, status.mirrored_revision, status.edited) == (True, 4, False)
    ana.user.forget(1)
    ana.user.add("Has a brown dog", theme="pets", key="cat")
    status = ana.user.mirror_status()
    assert (status.revision, status.mirrored_revision) == (6, 4)
    clock.advance(hours=2)
    assert ana.sync().writes == 0
    assert ana.shown() == ["- [2] Lives in Porto", "- [3] Has a brown dog"]
    ana.assert_settled()
    ana.edit(("Porto", "Porto\n\nsome prose"))
    assert ana.user.mirror_status().edited
    ana.sync()
    status = ana.user.mirror_status()
    assert (status.mirrored_revision, status.edited, len(status.problems)) == (6, False, 1)


@pytest.mark.requirement("files.mirror")
def test_the_oldest_are_left_out_where_there_are_too_many(
    ana: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana.sync()
    monkeypatch.setattr("ricordo.limits.MAX_MIRRORED_ITEMS", 2)
    report = ana.sync()
    assert (report.hidden, report.forgotten) == (1, ())
    assert ana.shown() == ["- [2] Lives in Porto", "- [3] Has a black cat"]
    assert "Not shown here: 1 more, the oldest" in ana.text
    ana.edit(("- [3] Has a black cat", "- [3] Has a cat\n- [1] Prefers rum"))
    report = ana.sync()
    assert ana.user.get(1).content == "Prefers tea"
    assert (len(report.added), len(report.changed), len(report.problems)) == (1, 1, 1)
    assert ("pets", "Prefers rum") in ana.active()


def test_a_changed_line_supersedes(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(("Lives in Porto", "Lives in Faro ⏎ by the sea"), ("black cat", "grey cat"))
    report = ana.sync()
    assert [(entry.id, entry.new_id) for entry in report.changed] == [(2, 4), (3, 5)]
    assert report.changed[0].line is not None
    new = ana.user.get(4)
    assert (new.content, new.theme) == ("Lives in Faro\nby the sea", "general")
    assert (new.importance, new.tags, new.pinned) == (4, ("place",), True)
    assert (new.source.value, new.actor_id) == ("file", "file")
    assert ana.user.get(2).status.value == "superseded"
    assert last_change(ana, 2) == ("SUPERSEDE", "file", "edited in MEMORY.md")
    assert (ana.user.get(5).key, ana.user.get(5).type.value) == ("cat", "preference")
    assert ana.user.undo(4).content == "Lives in Porto"
    ana.sync()
    assert "- [2] Lives in Porto" in ana.shown()
    ana.assert_settled()


def test_times_that_the_file_does_not_show_stay(ana: Mirrored, clock: ManualClock) -> None:
    ends = clock().replace(year=clock().year + 1)
    starts = clock().replace(year=clock().year - 1)
    times = {"valid_from": starts, "expires_at": ends, "valid_to": ends}
    first, second = (ana.user.add(text, **times).id for text in ("On leave", "Abroad"))
    later = ana.user.add("Moves to Faro", valid_from=ends).id
    ana.sync()
    ana.edit((f"- [{first}] On leave\n", ""), ("Abroad", "Abroad for work"), ("Faro", "Lagos"))
    ana.edit(("## pets\n", f"## pets\n- [{first}] On leave\n"))
    report = ana.sync()
    new = {entry.id: ana.user.get(entry.new_id or 0) for entry in (*report.moved, *report.changed)}
    assert (new[first].theme, new[first].valid_from) == ("pets", starts)
    for item_id in (first, second):
        assert (new[item_id].valid_to, new[item_id].expires_at) == (ends, ends)
    assert (new[second].valid_from, new[later].valid_from) == (clock(), ends)
    ana.assert_settled()


def test_a_deleted_line_is_forgotten(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(("- [1] Prefers tea\n", ""))
    report = ana.sync()
    assert [entry.id for entry in report.forgotten] == [1]
    assert last_change(ana, 1) == ("DELETE", "file", "deleted in MEMORY.md")
    ana.user.restore(1)
    ana.sync()
    assert "- [1] Prefers tea" in ana.shown()
    ana.assert_settled()


NEW_LINES = (
    ("- {}", "Rows on Sundays"),
    ("* {}", "Rows on Sundays"),
    ("+   {}  ", "Rows on Sundays"),
    ("- [ ] {}", "Rows on Sundays"),
    ("- [x] {}", "Rows on Sundays"),
    (" - {}", "Rows on Sundays"),
    ("- Rows\non Sundays", "Rows on Sundays"),
    ("- Rows\n  on Sundays", "Rows on Sundays"),
    ("- \\[1] is a footnote", "[1] is a footnote"),
    ("- \\\\[x] is a formula", "\\[x] is a formula"),
)


def test_a_line_without_a_number_is_new(ana: Mirrored) -> None:
    ana.sync()
    written = "".join(
        f"## Free  Time {number}!\n{line.format(text)}\n"
        for number, (line, text) in enumerate(NEW_LINES)
    )
    ana.edit(("# Memory\n", "# Memory\n- Sings\n"), ("## pets\n", f"{written}## pets\n"))
    report = ana.sync()
    assert len(report.added) == len(NEW_LINES) + 1
    assert (report.problems, report.forgotten, report.changed) == ((), (), ())
    wanted = {(f"free-time-{number}", text) for number, (_, text) in enumerate(NEW_LINES)}
    assert {("general", "Sings"), *wanted} <= ana.active()
    ana.assert_settled()


def test_a_line_under_another_heading_moves(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(("- [1] Prefers tea\n", ""), ("- [3]", "- [1] Prefers tea\n- [3]"))
    report = ana.sync()
    assert [(entry.id, entry.new_id) for entry in report.moved] == [(1, 4)]
    assert (ana.user.get(4).theme, ana.user.get(4).content) == ("pets", "Prefers tea")
    assert last_change(ana, 1) == ("SUPERSEDE", "file", "moved in MEMORY.md")
    ana.assert_settled()


def test_a_keyed_memory_does_not_push_out_another(ana: Mirrored) -> None:
    ana.user.add("Cats are drawn", theme="drinks", key="cat")
    ana.sync()
    ana.edit(("- [3] Has a black cat", ""), ("## drinks\n", "## drinks\n- [3] Has a black cat\n"))
    report = ana.sync()
    assert (report.writes, len(report.problems)) == (0, 1)
    assert "key 'cat'" in report.problems[0].note
    assert {("pets", "Has a black cat"), ("drinks", "Cats are drawn")} <= ana.active()
    ana.edit(("- [3] Has a black cat", ""), ("## drinks\n", "## drinks\n- [3] Has a grey cat\n"))
    report = ana.sync()
    assert (len(report.changed), len(report.problems)) == (1, 1)
    assert {("pets", "Has a grey cat"), ("drinks", "Cats are drawn")} <= ana.active()
    ana.assert_settled()


def test_order_and_layout_mean_nothing(ana: Mirrored) -> None:
    ana.user.add("Prefers it with milk and sugar and honey", theme="drinks")
    ana.user.add("Counts from 3 - 5 to 12. Or # 7 > 6")
    ana.user.add("Sings")
    ana.sync()
    ana.edit(
        ("- [1] Prefers tea\n", ""),
        ("with milk and sugar", "with milk\nand\n   sugar"),
        ("## pets\n", "\n\n##  PETS ##\n\n"),
        ("- [2] Lives", "  * [2]   Lives"),
        ("- [3] Has", "- \\[3\\] Has"),
        ("- [6] Sings", "- \\[6] Sings"),
        ("and honey\n", "and honey\n\n\n- [ ] [1] Prefers tea\n"),
        ("3 - 5 to 12. Or # 7 > 6", "3\n- 5 to\n12. Or\n# 7\n> 6"),
    )
    before = ana.user.revision()
    report = ana.sync()
    assert (report.writes, report.problems, report.written) == (0, (), True)
    assert ana.user.revision() == before
    ana.assert_settled()


def test_numbers_of_others_and_of_what_is_gone_are_not_touched(
    ana: Mirrored, store: Memory
) -> None:
    ben = store.user("ben")
    theirs = ben.add("Ben rows").id
    linked = ben.add("Ben sings").id
    share(ben, linked, "ana")
    gone = ana.user.add("Old").id
    ana.user.archive(gone)
    ana.sync()
    lines = "".join(f"- [{number}] Says {number}\n" for number in (theirs, linked, gone, 10**17))
    ana.edit(("## pets\n", f"## pets\n{lines}"))
    report = ana.sync()
    assert (len(report.added), len(report.problems)) == (4, 4)
    assert all("taken as a new line" in entry.note for entry in report.problems)
    assert (ben.get(theirs).content, ben.get(linked).content) == ("Ben rows", "Ben sings")
    assert ana.user.get(gone).status.value == "archived"
    ana.assert_settled()


def test_a_change_of_case_alone_is_reported(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(("Prefers tea", "prefers  TEA."))
    report = ana.sync()
    assert (report.writes, [entry.id for entry in report.problems]) == (0, [1])
    assert "- [1] Prefers tea" in ana.shown()


STRANGE = """\
Some prose
over two lines

- Rows
  - on Sundays
### Deeper
```
- [1] Prefers tea

## code
```
1. first
## ***
- homeless
- [2] Lives in Porto"""


def test_what_is_not_understood_is_kept_until_it_is_moved(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(("- [2] Lives in Porto", ""), ("- [1] Prefers tea", STRANGE))
    report = ana.sync()
    assert [entry.note for entry in report.added] == ["added in MEMORY.md"]
    assert (report.forgotten, report.changed) == ((), ())
    stored = {("drinks", "Rows"), ("drinks", "Prefers tea"), ("general", "Lives in Porto")}
    assert stored <= ana.active()
    kept = ana.text.split("## Not understood\n\n")[1]
    prose = ("Some prose", "over two lines", "  - on Sundays")
    for line in (*prose, "## code", "1. first", "- homeless"):
        assert f"    {line}\n" in kept
    assert [entry.line for entry in report.problems] == [12, 16]
    ana.assert_settled()
    assert ana.sync().problems[0].note == 'waits under "Not understood"'
    ana.edit(("    1. first\n", ""), ("## pets\n", "## pets\n- first\n"))
    ana.sync()
    assert ("pets", "first") in ana.active()
    assert "1. first" not in ana.text


@pytest.mark.fuzz
@pytest.mark.parametrize(
    "row", ["words of a book", "> a quotation", "```python", "## ...", "    - below nothing"]
)
def test_a_huge_paste_is_kept_and_takes_no_ages(ana: Mirrored, row: str) -> None:
    ana.sync()
    ana.write(ana.text + f"{row}\n" * 30_000)
    report = ana.sync()
    assert (report.writes, report.applied) == (0, True)
    assert ana.text.count(row) == 30_000
    assert len(ana.active()) == 3
    ana.assert_settled()


def test_what_cannot_be_stored_is_kept(ana: Mirrored) -> None:
    ana.sync()
    for text, why in (("x" * 8_001, "8001 characters"), ("", "must not be empty"), ("a\0b", "NUL")):
        ana.edit(("- [1] Prefers tea", f"- [1] {text}\n- {text or '[ ]'}"))
        report = ana.sync()
        assert report.writes == 0
        assert len([entry for entry in report.problems if why in entry.note]) == 2
        assert "- [1] Prefers tea" in ana.shown()
        assert f"    - [1] {text}\n" in ana.text
        ana.assert_settled()


def test_a_secret_stays_in_the_file_alone(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(
        ("- [1] Prefers tea", "- [1] Prefers tea\n- My wifi password is k8sRocks2024\n- Asthma")
    )
    report = ana.sync()
    (told,) = report.problems
    assert told.note == "holds a secret, such as a password or a code: not taken over"
    stored = {text for _, text in ana.active()}
    assert "Asthma" in stored
    assert not any("k8sRocks2024" in text for text in stored)
    assert "k8sRocks2024" in ana.text
    ana.assert_settled()


def test_a_heading_tells_that_a_value_is_a_secret(ana: Mirrored) -> None:
    ana.sync()
    ana.edit(("- [1] Prefers tea", "- [1] Prefers tea\n\n## debit card pin\n\n- 4821"))
    (told,) = ana.sync().problems
    assert told.note == "holds a secret, such as a password or a code: not taken over"
    assert not any("4821" in text for _, text in ana.active())


def test_a_file_that_is_gone_is_written_again(ana: Mirrored) -> None:
    ana.sync()
    for content in (None, "", " \n\n", "\ufeff"):
        if content is None:
            ana.path.unlink()
        else:
            ana.write(content)
            assert "is empty" in ana.sync().problems[0].note
        report = ana.sync(allow_deletes=True)
        assert (report.writes, report.written) == (0, True)
        assert len(ana.shown()) == 3
        ana.assert_settled()


def too_little(ana: Mirrored) -> None:
    for number in range(12):
        ana.user.add(f"Fact {number}")
    ana.sync()
    ana.write("\n".join(line for line in ana.text.split("\n") if "Fact" not in line))


def cut(ana: Mirrored) -> None:
    ana.write(ana.text.split("- [3]")[0])


SPOILED: dict[str, Callable[[Mirrored], Any]] = {
    "is not UTF-8": lambda ana: ana.path.write_bytes(ana.path.read_bytes() + b"- \xff\n"),
    "unfinished merge": lambda ana: ana.edit(("- [1]", "<<<<<<< HEAD\n- New\n=======\n- [1]")),
    "larger than": lambda ana: ana.path.write_bytes(b"- x\n" * (8 * 1024 * 1024 + 1)),
    "lacks 12 of 15 memories": too_little,
    "lacks its last line": cut,
}


@pytest.mark.parametrize("why", SPOILED)
def test_a_spoiled_file_is_left_alone(ana: Mirrored, why: str) -> None:
    ana.sync()
    SPOILED[why](ana)
    before, revision = ana.path.read_bytes(), ana.user.revision()
    report = ana.sync()
    assert (report.applied, report.written, report.writes) == (False, False, 0)
    assert why in report.problems[0].note
    assert (ana.path.read_bytes(), ana.user.revision()) == (before, revision)
    assert why in ana.user.mirror_status().problems[0].note
    ana.path.unlink()
    assert ana.sync().applied
    ana.assert_settled()


def test_a_folder_or_a_link_in_its_place_is_left_alone(ana: Mirrored, tmp_path: Path) -> None:
    ana.sync()
    ana.path.unlink()
    ana.path.mkdir()
    assert not ana.sync().applied
    ana.path.rmdir()
    target = tmp_path / "elsewhere.md"
    target.write_text("- Mine\n")
    ana.path.symlink_to(target)
    with pytest.raises(FilesUnavailable, match="not an ordinary file"):
        ana.sync()
    assert target.read_text() == "- Mine\n"


@pytest.mark.requirement("files.mirror-conflicts")
def test_what_changed_on_both_sides_is_kept_twice(ana: Mirrored) -> None:
    ana.sync()
    ana.user.add("Prefers coffee", supersedes=1)
    ana.user.add("Has a brown dog", theme="pets", key="cat")
    ana.user.archive(2)
    ana.edit(("Prefers tea", "Prefers mate"), ("black cat", "grey cat"), ("Porto", "Faro"))
    report = ana.sync()
    assert sorted(entry.id or 0 for entry in report.conflicts) == [1, 2, 3]
    assert ana.user.mirror_status().problems == report.conflicts
    added = report.conflicts[0].new_id
    assert added is not None
    assert last_change(ana, added)[2] == "changed in MEMORY.md and elsewhere: both are kept"
    assert ana.active() == {
        ("drinks", "Prefers coffee"),
        ("drinks", "Prefers mate"),
        ("pets", "Has a brown dog"),
        ("pets", "Has a grey cat"),
        ("general", "Lives in Faro"),
    }
    ana.assert_settled()


@pytest.mark.requirement("files.mirror-conflicts")
def test_a_move_here_and_a_change_there_are_both_done(ana: Mirrored) -> None:
    ana.sync()
    ana.user.add("Has a brown dog", theme="pets", key="cat")
    ana.edit(("## pets", "## animals"))
    report = ana.sync()
    assert (len(report.moved), report.conflicts) == (1, ())
    assert ("animals", "Has a brown dog") in ana.active()
    ana.assert_settled()


@pytest.mark.requirement("files.mirror-conflicts")
def test_a_copy_that_is_saved_late_deletes_nothing_newer(ana: Mirrored) -> None:
    """An editor has the file open while memories come, change and go."""
    ana.sync()
    in_the_editor = ana.text
    ana.user.add("Rows on Sundays")
    ana.user.add("Prefers coffee", supersedes=1)
    ana.sync()
    ana.user.forget(2)
    ana.sync()
    ana.write(in_the_editor.replace("- [3] Has a black cat", "- [3] Has a grey cat\n- Sings"))
    report = ana.sync()
    assert (len(report.changed), len(report.added), report.forgotten) == (1, 1, ())
    assert (report.conflicts, report.problems) == ((), ())
    assert ana.active() == {
        ("general", "Rows on Sundays"),
        ("drinks", "Prefers coffee"),
        ("pets", "Has a grey cat"),
        ("pets", "Sings"),
    }
    ana.assert_settled()


@pytest.mark.requirement("files.mirror-conflicts")
@pytest.mark.parametrize("lost", ["header", "notes"])
def test_a_copy_that_is_not_known_deletes_nothing(ana: Mirrored, lost: str) -> None:
    ana.sync()
    if lost == "header":
        ana.write("## " + ana.text.split("## ", 1)[1])
    else:
        ana.files.mirror.notes.write_text("{")
    ana.edit(("- [1] Prefers tea\n", ""), ("Porto", "Faro"), ("## pets", "## animals"))
    report = ana.sync()
    assert (report.forgotten, report.changed, report.moved) == ((), (), ())
    assert ana.active() == {
        ("drinks", "Prefers tea"),
        ("general", "Lives in Porto"),
        ("general", "Lives in Faro"),
        ("pets", "Has a black cat"),
    }
    assert len(report.problems) == (3 if lost == "header" else 2)
    ana.assert_settled()


@pytest.mark.requirement("files.mirror")
def test_a_list_that_was_there_before_is_taken_over(ana: Mirrored) -> None:
    ana.path.parent.mkdir(parents=True)
    ana.write("# Things\n\n- Rows\n\n## Pets\n\n- Has a black cat\n* Sings\n")
    report = ana.sync()
    assert (len(report.added), len(report.problems)) == (2, 1)
    assert {("general", "Rows"), ("pets", "Sings")} <= ana.active()
    assert "    # Things\n" in ana.text
    ana.assert_settled()
