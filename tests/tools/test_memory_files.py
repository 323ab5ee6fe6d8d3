"""The commands of the memory tool, and the memories that their files are."""

import contextlib
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import (
    CategoryNotAllowed,
    Conflict,
    InvalidValue,
    Memory,
    NotFound,
    Occupied,
    StorageError,
    UnknownField,
    UserMemory,
)
from ricordo.limits import MAX_CONTENT_CHARS, MAX_LISTED_FILES
from ricordo.model.vocabulary import Event, MemoryType, Status
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing import ManualClock
from ricordo.tools import memory_file_text, memory_files
from ricordo.tools.memory_file_text import listed
from ricordo.tools.memory_files import FILES_THEME, MemoryFiles

pytestmark = pytest.mark.requirement("tools.memory-files")

NOTES = "/memories/notes.md"
TEXT = "# Notes\n\n- green tea\n- a dog\n"


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def files(ana: UserMemory) -> MemoryFiles:
    return MemoryFiles(ana)


def text_of(ana: UserMemory, key: str = "/notes.md") -> str:
    (item,) = [one for one in ana.list(theme=FILES_THEME) if one.key == key]
    return item.content


def below(listing: str) -> list[str]:
    """The lines of a view without what it says about itself."""
    return listing.split("\n")[1:]


def test_a_file_is_an_ordinary_memory(files: MemoryFiles, ana: UserMemory, memory: Memory) -> None:
    files.create("/memories/people/ana.md", TEXT)
    (item,) = ana.list()
    assert (item.theme, item.key) == ("memory-files", "/people/ana.md")
    assert (item.tags, item.source, item.content) == (("file",), "tool_call", TEXT.strip())
    assert item.pinned and item.type is MemoryType.SUMMARY
    assert ana.search("green tea")[0].id == item.id
    assert [theme.display_name for theme in ana.themes()] == ["Memory files"]
    memory.erase_user("ana")
    assert below(files.view("/memories")) == ["0B\t/memories/"]


def test_viewing_a_file(files: MemoryFiles) -> None:
    files.create(NOTES, TEXT)
    lines = ["     1\t# Notes", "     2\t", "     3\t- green tea", "     4\t- a dog"]
    assert below(files.view(NOTES)) == lines
    assert below(files.view(NOTES, [2, 3])) == lines[1:3]
    assert below(files.view(NOTES, [3, -1])) == below(files.view(NOTES, [3, 99])) == lines[2:]
    for wrong in ([0, 2], [5, 6], [3, 2], [1], [1, 2, 3], ["1", 2], [True, 2], "12", 3):
        with pytest.raises(InvalidValue, match="view_range"):
            files.view(NOTES, wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="view /memories to see"):
        files.view("/memories/other.md")


def test_viewing_directories(files: MemoryFiles) -> None:
    for path in ("b.md", "a/x/deep/er.md", "a/x.md", "a.md"):
        files.create(f"/memories/{path}", "é" * 1024)
    assert below(files.view("/memories")) == [
        "8K\t/memories/",
        "2K\t/memories/a.md",
        "4K\t/memories/a/",
        "2K\t/memories/a/x.md",
        "2K\t/memories/a/x/",
        "2K\t/memories/b.md",
    ]
    assert below(files.view("/memories/a/x/")) == [
        "2K\t/memories/a/x/",
        "2K\t/memories/a/x/deep/",
        "2K\t/memories/a/x/deep/er.md",
    ]
    with pytest.raises(InvalidValue, match="is a directory"):
        files.view("/memories/a", [1, 2])


def test_a_long_listing_ends_with_what_it_leaves_out() -> None:
    sizes = {f"/a/{number:04}": 1 for number in range(MAX_LISTED_FILES + 3)}
    first, *shown, last = listed("/a", sizes).split("\n")
    assert (first, len(shown)) == ("203B\t/memories/a/", MAX_LISTED_FILES)
    assert last == "(3 more are not shown: view one of the directories)"


def test_creating_refuses_what_is_there(
    files: MemoryFiles, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files.create(NOTES, TEXT) == f"Created {NOTES}."
    for path in (NOTES, "/memories//notes.md/"):
        with pytest.raises(Occupied, match="str_replace or insert"):
            files.create(path, "another")
    with pytest.raises(Occupied, match="is a file"):
        files.create("/memories/notes.md/more.md", "x")
    files.create("/memories/a/b.md", "x")
    with pytest.raises(Occupied, match="is a directory"):
        files.create("/memories/a", "x")
    assert text_of(ana) == TEXT.strip()
    monkeypatch.setattr(memory_files, "MAX_MEMORY_FILES", 2)
    with pytest.raises(Conflict, match="delete some"):
        files.create("/memories/c.md", "x")


def test_files_of_equal_text_are_two(files: MemoryFiles, ana: UserMemory) -> None:
    loose = ana.add("same words", theme=FILES_THEME).id
    files.create("/memories/a.md", "same words")
    files.create("/memories/b.md", "Same  words.")
    files.str_replace("/memories/b.md", "Same  words.", "same words")
    assert len(below(files.view("/memories"))) == 3
    files.delete("/memories/a.md")
    assert (text_of(ana, "/b.md"), ana.get(loose).key) == ("same words", None)


def test_replacing_a_text(files: MemoryFiles, ana: UserMemory) -> None:
    files.create(NOTES, TEXT)
    answer = files.str_replace(NOTES, "- green tea\n- a dog\n", "- black tea\n- a cat\n- jazz\n")
    assert text_of(ana) == "# Notes\n\n- black tea\n- a cat\n- jazz"
    (item,) = ana.list()
    assert (item.source, item.type, item.pinned) == ("tool_call", MemoryType.SUMMARY, True)
    assert below(answer)[2:] == ["     3\t- black tea", "     4\t- a cat", "     5\t- jazz"]
    files.str_replace(NOTES, "- a cat\n", "")
    assert text_of(ana) == "# Notes\n\n- black tea\n- jazz"
    with pytest.raises(InvalidValue, match=r"occurs 2 times, in lines 3, 4: give more"):
        files.str_replace(NOTES, "- ", "* ")
    for gone in ("- a cat", "- Jazz", "-  jazz", ""):
        with pytest.raises(InvalidValue, match="old_str"):
            files.str_replace(NOTES, gone, "x")
    with pytest.raises(NotFound):
        files.str_replace("/memories/other.md", "a", "b")
    files.create("/memories/a/b.md", "x")
    with pytest.raises(InvalidValue, match="is a directory"):
        files.str_replace("/memories/a", "a", "b")


def test_every_character_counts_in_a_file(
    files: MemoryFiles, ana: UserMemory, memory: Memory
) -> None:
    """Other memories take such changes for the same said again."""
    files.create(NOTES, "- [ ] tea\n- dog")
    (item,) = ana.list()
    for old, new in (("tea", "Tea"), ("- dog", "  - dog"), ("dog", "dog."), ("Tea\n", "Tea\n\n")):
        files.str_replace(NOTES, old, new)
    assert text_of(ana) == "- [ ] Tea\n\n  - dog."
    assert [change.event for change in ana.history(item.id)] == [Event.ADD, *[Event.UPDATE] * 4]
    for former in ("- [ ] Tea\n  - dog.", "- [ ] Tea\n  - dog", "- [ ] Tea\n- dog"):
        assert ana.undo(item.id).content == former == text_of(ana)
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_nobody_but_its_writers_changes_a_file(
    files: MemoryFiles, ana: UserMemory, clock: ManualClock
) -> None:
    """Not what is said in a conversation, not upkeep, however old or alike files are."""
    files.create("/memories/home.md", "I like Rome.")
    files.create("/memories/copy.md", "I like Rome")
    clock.advance(days=1)
    ana.observe([{"role": "user", "content": "I like Berlin now, not Rome."}], thread="t")
    ana.form()
    ana.update_user_profile({"/home.md": "Paris"}, explicit=True)
    clock.advance(days=2_000)
    ana.upkeep()
    ana.consolidate()
    kept = {item.key: item.content for item in ana.list(theme=FILES_THEME)}
    assert kept == {"/home.md": "I like Rome.", "/copy.md": "I like Rome"}


def test_inserting_lines(files: MemoryFiles, ana: UserMemory) -> None:
    files.create(NOTES, "one\ntwo")
    files.insert(NOTES, 0, "zero\n")
    files.insert(NOTES, 3, "three")
    files.insert(NOTES, 1, "half\n\n")
    assert text_of(ana) == "zero\nhalf\n\none\ntwo\nthree"
    for line in (-1, 7, True, "1", None):
        with pytest.raises(InvalidValue, match="insert_line"):
            files.insert(NOTES, line, "x")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        files.insert("/memories/other.md", 0, "x")


def test_history_and_undo(files: MemoryFiles, ana: UserMemory, memory: Memory) -> None:
    files.create(NOTES, "first")
    files.str_replace(NOTES, "first", "second")
    files.insert(NOTES, 1, "third")
    files.rename(NOTES, "/memories/old/notes.md")
    (item,) = ana.list()
    reasons = [(change.event, change.reason) for change in ana.history(item.id)]
    commands = ("str_replace", "insert", "rename")
    assert reasons == [(Event.ADD, "create"), *[(Event.UPDATE, name) for name in commands]]
    ana.undo(item.id)
    assert below(files.view(NOTES)) == ["     1\tsecond", "     2\tthird"]
    ana.undo(item.id)
    ana.undo(item.id)
    assert below(files.view(NOTES)) == ["     1\tfirst"]
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_deleting(files: MemoryFiles, ana: UserMemory) -> None:
    for path in ("a/b.md", "a/c/d.md", "ab.md"):
        files.create(f"/memories/{path}", path)
    (item,) = [one for one in ana.list() if one.key == "/a/b.md"]
    assert files.delete("/memories/a/") == "Deleted /memories/a."
    assert below(files.view("/memories")) == ["5B\t/memories/", "5B\t/memories/ab.md"]
    assert ana.restore(item.id).status is Status.ACTIVE
    assert below(files.view("/memories/a/b.md")) == ["     1\ta/b.md"]
    with pytest.raises(NotFound):
        files.delete("/memories/a/c")
    for root in ("/memories", "/memories/", "/memories//"):
        with pytest.raises(InvalidValue, match="cannot be changed"):
            files.delete(root)
    assert (files.clear(), files.clear()) == (2, 0)


def test_renaming(files: MemoryFiles, ana: UserMemory) -> None:
    for path in ("a/b.md", "a/c/d.md", "ab.md"):
        files.create(f"/memories/{path}", path)
    before = {item.id for item in ana.list()}
    assert files.rename("/memories/a", "/memories/x/y") == "Renamed /memories/a to /memories/x/y."
    files.rename("/memories/ab.md", "/memories/x/z.md")
    assert {item.key for item in ana.list()} == {"/x/y/b.md", "/x/y/c/d.md", "/x/z.md"}
    assert {item.id for item in ana.list()} == before
    for taken in ("/memories/x/z.md", "/memories/x/y", "/memories/x/z.md/in"):
        with pytest.raises(Occupied):
            files.rename("/memories/x/y/b.md", taken)
    for itself in ("/memories/x/y", "/memories/x/y/c/new"):
        with pytest.raises(InvalidValue, match="itself"):
            files.rename("/memories/x/y", itself)
    with pytest.raises(InvalidValue, match="too long"):
        files.rename("/memories/x/y", f"/memories/{'n' * 195}")
    with pytest.raises(NotFound):
        files.rename("/memories/a", "/memories/b")
    with pytest.raises(InvalidValue, match="cannot be changed"):
        files.rename("/memories/x", "/memories")


def test_what_a_file_cannot_hold(files: MemoryFiles, ana: UserMemory) -> None:
    for empty in ("", " \n\t"):
        with pytest.raises(InvalidValue, match="file_text: would leave the file empty"):
            files.create(NOTES, empty)
    for wrong in ("a\x00b", "\ud800", 3):
        with pytest.raises(InvalidValue, match="file_text"):
            files.create(NOTES, wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="split it into several files"):
        files.create(NOTES, "x" * (MAX_CONTENT_CHARS + 1))
    files.create(NOTES, "x" * MAX_CONTENT_CHARS + "\n")
    with pytest.raises(InvalidValue, match="split it"):
        files.insert(NOTES, 1, "x")
    with pytest.raises(InvalidValue, match="empty"):
        files.str_replace(NOTES, "x" * MAX_CONTENT_CHARS, "")
    assert text_of(ana) == "x" * MAX_CONTENT_CHARS


def test_blank_space_at_the_ends_is_not_kept(files: MemoryFiles, ana: UserMemory) -> None:
    assert "began with is not kept" in files.create(NOTES, "\n  a\r\n\tb\u2028c  \n\n")
    assert text_of(ana) == "a\r\n\tb\u2028c"
    files.str_replace(NOTES, "c\n", "c\n\n")
    assert text_of(ana) == "a\r\n\tb\u2028c"
    assert below(files.str_replace(NOTES, "a\r\n", "\n\nA\r\nx\n"))[0] == "     1\tA\r"
    assert text_of(ana) == "A\r\nx\n\tb\u2028c"


@given(st.text(alphabet="ab \n\r\té.", max_size=30), st.text(alphabet="ab \n.", max_size=5))
def test_an_edit_is_what_python_would_make_of_the_text(text: str, new: str) -> None:
    content = text.strip()
    whole = f"{content}\n"
    for old in {whole[at : at + size] for at in range(len(whole)) for size in (1, 2, 5)}:
        expected = whole.replace(old, new).strip()
        starts = [at for at in range(len(whole)) if whole.startswith(old, at)]
        if len(starts) == 1 and expected:
            made, passage = memory_file_text.replaced(content, old, new)
            assert made == expected
            assert set(passage.split("\n")) <= set(memory_file_text.numbered(made).split("\n"))
        else:
            with pytest.raises(InvalidValue):
                memory_file_text.replaced(content, old, new)


def test_calls_of_a_model(files: MemoryFiles) -> None:
    created = files.run({"command": "create", "path": NOTES, "file_text": "tea"})
    assert (created.text, created.is_error) == (f"Created {NOTES}.", False)
    assert files.call('{"command": "view", "path": "/memories"}').endswith(f"3B\t{NOTES}")
    assert "tea" in files.call({"command": "view", "path": NOTES, "view_range": None})
    assert files.call({"command": "str_replace", "path": NOTES, "old_str": "tea", "new_str": "x"})
    assert files.call({"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "y"})
    renamed = {"command": "rename", "old_path": NOTES, "new_path": "/memories/b"}
    assert files.call(renamed) == f"Renamed {NOTES} to /memories/b."
    assert files.call({"command": "delete", "path": "/memories/b"}) == "Deleted /memories/b."


def test_failures_tell_the_model_what_to_do(files: MemoryFiles) -> None:
    mistakes: list[tuple[Any, type[Exception], str]] = [
        ({"command": "view", "path": "/memories/a"}, NotFound, "view /memories"),
        ({"command": "view"}, InvalidValue, "path: is missing; view needs it"),
        ({"command": "view", "path": "/memories", "user": "ben"}, UnknownField, "'user'"),
        ({"command": "undo"}, InvalidValue, "view, create, str_replace, insert, delete, rename"),
        ({"path": "/memories"}, InvalidValue, "command"),
        ("{", InvalidValue, "not JSON"),
        ("[]", InvalidValue, "expected an object"),
        (None, InvalidValue, "expected an object"),
        ({"command": "view", "path": 7}, InvalidValue, "expected a path"),
        ({"command": "create", "path": NOTES, "file_text": ["x"]}, InvalidValue, "expected text"),
    ]
    for arguments, kind, words in mistakes:
        result = files.run(arguments)
        assert result.is_error and type(result.error) is kind
        assert result.text.startswith("Error: ") and words in result.text
        assert files.call(arguments) == result.text
    files.create(NOTES, "one")
    endless: list[dict[str, object]] = [
        {"command": "view", "path": f"/memories/C:{'x' * 100_000}"},
        {"command": "view", "path": f"/memories/{'.' * 100_000}"},
        {"command": "view", "path": NOTES, "view_range": [0, 10**5_000]},
        {"command": "insert", "path": NOTES, "insert_line": 10**5_000, "insert_text": "x"},
    ]
    for arguments in endless:
        result = files.run(arguments)
        assert result.is_error and len(result.text) < 500


def test_a_confined_scope(memory: Memory, files: MemoryFiles) -> None:
    files.create(NOTES, TEXT)
    confined = MemoryFiles(memory.user("ana", agent="a", categories=["work"]))
    commands: list[dict[str, object]] = [
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": "/memories/b.md", "file_text": "x"},
        {"command": "str_replace", "path": NOTES, "old_str": "dog", "new_str": "cat"},
        {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": NOTES},
        {"command": "rename", "old_path": NOTES, "new_path": "/memories/b.md"},
    ]
    for one in commands:
        result = confined.run(one)
        assert isinstance(result.error, CategoryNotAllowed)
        assert "go on without it" in result.text
    reaching = MemoryFiles(memory.user("ana", agent="a", categories=["Memory files"]))
    assert not any(reaching.run(one).is_error for one in commands[:4])


def test_a_file_that_others_keep_changing(
    files: MemoryFiles, ana: UserMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody always comes in between; in the end the model is told."""
    files.create(NOTES, "0")
    monkeypatch.setattr(memory_files, "MAX_FILE_RETRIES", 3)
    times = 0

    def edit(content: str) -> str:
        nonlocal times
        times += 1
        ana.add(f"said {times} times", theme=FILES_THEME, key="/notes.md")
        return f"{content} and more"

    keeping = memory_files.FileMemories(ana)
    with pytest.raises(Conflict, match="keeps changing"):
        keeping.change("path", "/notes.md", edit, "test")
    assert text_of(ana) == "said 3 times"


def test_the_model_is_told_where_nothing_changed(files: MemoryFiles, ana: UserMemory) -> None:
    files.create(NOTES, "one")
    for told in (
        files.insert(NOTES, 1, "\n"),
        files.insert(NOTES, 0, ""),
        files.str_replace(NOTES, "one", "one"),
    ):
        assert told.startswith(f"{NOTES} stays as it was")
    (item,) = ana.list()
    assert len(ana.history(item.id)) == 1


def test_a_model_is_not_told_where_the_store_is(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url)
    files = MemoryFiles(memory.user("ana"))
    with contextlib.closing(sqlite3.connect(sqlite_url)) as connection:
        connection.execute("ALTER TABLE items RENAME TO elsewhere")
    result = files.run({"command": "view", "path": "/memories"})
    assert isinstance(result.error, StorageError) and sqlite_url in str(result.error)
    assert sqlite_url not in result.text
    assert ". Memory does not work" in result.text and ".." not in result.text


# -- over time -----------------------------------------------------------------------------


def test_an_edit_counts_though_the_clock_went_back(
    files: MemoryFiles, ana: UserMemory, memory: Memory, clock: ManualClock
) -> None:
    """Two machines at one database never have quite the same time."""
    files.create(NOTES, "one")
    clock.advance(seconds=-5)
    files.insert(NOTES, 1, "two")
    files.str_replace(NOTES, "one", "ONE")
    assert text_of(ana) == "ONE\ntwo"
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_a_file_that_has_expired_is_gone(
    files: MemoryFiles, ana: UserMemory, clock: ManualClock
) -> None:
    """At its time, whether or not a job has come to take it away."""
    ends = clock() + timedelta(hours=1)
    ana.add("for now", theme=FILES_THEME, key="/notes.md", expires_at=ends)
    assert files.view(NOTES).endswith("for now")
    clock.advance(hours=2)
    with pytest.raises(NotFound):
        files.view(NOTES)
    assert files.view("/memories").endswith("0B\t/memories/")
    files.create(NOTES, "anew")
    assert text_of(ana) == "anew"


def test_what_a_file_is_related_to_follows_its_text(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(backend_url, link_min=0.6).user("ana")
    tea = ana.add("green tea every day").id
    dog = ana.add("the dog sleeps outside").id
    files = MemoryFiles(ana)
    files.create(NOTES, "green tea every morning")
    (file,) = ana.list(theme=FILES_THEME)
    assert [one.id for one in ana.related(file.id)] == [tea]
    files.str_replace(NOTES, "green tea every morning", "the dog sleeps inside")
    assert [one.id for one in ana.related(file.id)] == [dog]


def test_files_survive_an_export_and_the_mirror(
    backend_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    """Line by line, also where a person edits another memory, or a word of a file, by hand."""
    ana = open_store(backend_url, files=tmp_path / "files", files_user="ana").user("ana")
    files = MemoryFiles(ana)
    text = "# Trip\n\n- to Lisbon\n\t- [7] by train\r\n## food\n<!-- why? -->\n```\nend"
    files.create(NOTES, text)
    ana.add("likes tea", theme="food")
    ana.sync_mirror()
    mirror = tmp_path / "files" / "memory" / "MEMORY.md"
    for old, new in (("likes tea", "likes mate"), ("to Lisbon", "to Porto")):
        edited = mirror.read_text(encoding="utf-8").replace(old, new)
        mirror.write_text(edited, encoding="utf-8")
        ana.sync_mirror()
    changed = text.replace("to Lisbon", "to Porto")
    assert text_of(ana) == changed
    files.insert(NOTES, 1, "by hand")
    ana.export(tmp_path / "ana.jsonl")
    elsewhere = open_store(":memory:").user("ana")
    elsewhere.import_file(tmp_path / "ana.jsonl")
    assert MemoryFiles(elsewhere).view(NOTES) == files.view(NOTES)
    (item,) = elsewhere.list(theme=FILES_THEME)
    assert elsewhere.undo(item.id).content == changed
