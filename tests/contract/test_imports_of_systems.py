"""Files of other systems with several users, and imports that are only counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from ricordo import ImportFailed, Memory
from ricordo.storage.consistency import find_inconsistencies

MEM0: list[dict[str, Any]] = [
    {"id": "1", "memory": "Prefers tea to coffee", "user_id": "ana"},
    {"id": "2", "memory": "Has a cat", "user_id": "ben", "created_at": "2024-08-01T10:00:00Z"},
    {"id": "3", "memory": "Plays chess", "user_id": "ana"},
    {"id": "4", "memory": "Is allergic to peanuts", "user_id": "ben"},
    {"id": "5", "memory": "Answers in verse", "agent_id": "poet"},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"results": MEM0}), encoding="utf-8")
    return path


def contents(memory: Memory, user: str) -> list[str]:
    return sorted(one.content for one in memory.user(user).list())


@pytest.mark.requirement("transfer.source-user")
def test_each_user_gets_what_is_theirs(memory: Memory, path: Path) -> None:
    done: list[tuple[int, int]] = []
    report = memory.import_file(path, progress=lambda *given: done.append(given))
    assert (report.format, report.added, report.proposed) == ("mem0", 3, 1)
    assert report.skipped == {"of no user": 1}
    assert done == [(1, 2), (2, 2)]
    assert contents(memory, "ana") == ["Plays chess", "Prefers tea to coffee"]
    assert contents(memory, "ben") == ["Has a cat"]
    assert memory.users() == ("ana", "ben")
    again = memory.import_file(path, format="mem0")
    assert (again.added, again.duplicates) == (0, 3)
    assert memory.import_file(path, consented=True).added == 1
    assert contents(memory, "ben") == ["Has a cat", "Is allergic to peanuts"]
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


@pytest.mark.requirement("transfer.source-user")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"memory": "x", "user_id": "*all"}, "of '*all': "),
        ({"memory": "x", "user_id": "c" * 300}, "of 'ccc"),
        ({"memory": ["x"], "user_id": "cleo"}, "memory 6, 'memory': expected text"),
    ],
)
def test_of_a_wrong_file_nothing_is_written(
    memory: Memory, path: Path, wrong: dict[str, Any], told: str
) -> None:
    path.write_text(json.dumps([*MEM0, wrong]), encoding="utf-8")
    with pytest.raises(ImportFailed) as failed:
        memory.import_file(path)
    assert told in str(failed.value)
    assert memory.users() == ()


@pytest.mark.requirement("transfer.source-user")
def test_a_file_that_names_nobody_is_for_one_user(memory: Memory, path: Path) -> None:
    path.write_text("- Has a cat\n", encoding="utf-8")
    with pytest.raises(ImportFailed, match="it names no users; import it for one user"):
        memory.import_file(path)


@pytest.mark.requirement("transfer.dry-run")
def test_a_dry_run_counts_and_writes_nothing(memory: Memory, path: Path) -> None:
    ana = memory.user("ana")
    ana.add("Plays chess")
    before = list(ana.export_lines())
    report = ana.import_file(path, source_user="ana", dry_run=True)
    assert (report.added, report.duplicates) == (1, 1)
    assert list(ana.export_lines()) == before
    everybody = memory.import_file(path, dry_run=True)
    assert (everybody.added, everybody.proposed, everybody.duplicates) == (2, 1, 1)
    assert memory.users() == ("ana",)
    assert (memory.import_file(path).added, len(memory.user("ben").proposals())) == (2, 1)


@pytest.mark.requirement("transfer.dry-run")
def test_a_dry_run_of_an_export_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    ana = memory.user("ana")
    ana.add("Has a cat", theme="pets")
    ana.observe([{"role": "user", "content": "Hello"}], thread="t")
    lines = ana.export(tmp_path / "ana.jsonl")
    ben = memory.user("ben")
    rehearsed = ben.import_file(tmp_path / "ana.jsonl", dry_run=True)
    assert 0 < rehearsed.restored_rows < lines
    assert memory.users() == ("ana",)
    assert ben.import_file(tmp_path / "ana.jsonl").restored_rows == rehearsed.restored_rows
    assert ana.import_file(tmp_path / "ana.jsonl", dry_run=True).duplicates == 1
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []
