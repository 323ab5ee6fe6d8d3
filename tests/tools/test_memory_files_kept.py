"""What becomes of memory files over time: as memories with an end, relations, a mirror, exports."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import Memory, NotFound, UserMemory
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing.clock import ManualClock
from ricordo.tools.memory_files import MemoryFiles
from ricordo.tools.memory_files.file_rows import FILES_THEME

NOTES = "/memories/notes.md"


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def files(ana: UserMemory) -> MemoryFiles:
    return MemoryFiles(ana)


def text_of(ana: UserMemory) -> str:
    (item,) = ana.list(theme=FILES_THEME)
    return item.content


@pytest.mark.requirement("tools.memory-files")
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


@pytest.mark.requirement("tools.memory-files")
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


@pytest.mark.requirement("tools.memory-files")
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


@pytest.mark.requirement("tools.memory-files")
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
