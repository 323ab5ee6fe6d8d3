"""Importing what mem0 exports."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo import ImportFailed, Memory, Source, UserMemory

TEA = {
    "id": "3dc6f65f-fb3f-4e91-89a8-ed1a22f8898a",
    "memory": "Prefers tea to coffee",
    "user_id": "ana-42",
    "agent_id": "kitchen-helper",
    "run_id": "run-7",
    "actor_id": "ana-laptop",
    "role": "user",
    "hash": "ad5a1e7bd7a1c1f8b0b4cb2a1c0b6d11",
    "metadata": {"channel": "web"},
    "categories": ["Food & Drink", "preferences", "morning"],
    "created_at": "2024-07-20T01:30:36.275141-07:00",
    "updated_at": "2024-07-20T01:30:36.275172-07:00",
    "expiration_date": "2030-12-31",
}
CAT = {
    "id": "0d7a9f6e-2f3c-4b51-8a52-5d2e7b4f1a90",
    "memory": "Has a cat",
    "user_id": "ana-42",
    "metadata": {"category": "pets"},
    "created_at": "2024-08-01T10:00:00Z",
    "updated_at": None,
}


@pytest.fixture
def ana(open_store: Callable[..., Memory], sqlite_url: str) -> UserMemory:
    return open_store(sqlite_url).user("ana")


@pytest.fixture
def exported(tmp_path: Path) -> Callable[[Any], Path]:
    """A file with this JSON in it."""

    def write(data: Any) -> Path:
        path = tmp_path / "memories.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return write


@pytest.mark.requirement("transfer.mem0")
@pytest.mark.parametrize(
    "wrapped",
    [
        [TEA, CAT],
        {"results": [TEA, CAT]},
        {"count": 2, "next": None, "previous": None, "results": [TEA, CAT], "relations": []},
        {"memories": [TEA, CAT]},
    ],
)
def test_every_field_finds_its_place(
    ana: UserMemory, exported: Callable[[Any], Path], wrapped: Any
) -> None:
    report = ana.import_file(exported(wrapped))
    assert (report.format, report.added, report.skipped) == ("mem0", 2, {})
    (tea,) = ana.list(theme="food-drink")
    assert tea.content == "Prefers tea to coffee"
    assert tea.tags == ("preferences", "morning")
    assert tea.source is Source.IMPORT
    assert (tea.agent_id, tea.run_id, tea.actor_id) == ("kitchen-helper", "run-7", "ana-laptop")
    assert tea.role == "user"
    assert tea.created_at == datetime(2024, 7, 20, 8, 30, 36, 275141, tzinfo=UTC)
    assert tea.expires_at == datetime(2030, 12, 31, tzinfo=UTC)
    assert [item.content for item in ana.list(theme="pets")] == ["Has a cat"]


@pytest.mark.requirement("transfer.mem0")
@pytest.mark.parametrize("field", ["text", "data"])
def test_older_names_of_the_text_are_understood(
    ana: UserMemory, exported: Callable[[Any], Path], field: str
) -> None:
    ana.import_file(exported([{"id": "1", field: "Has a cat"}]))
    assert [item.content for item in ana.list()] == ["Has a cat"]


@pytest.mark.requirement("transfer.mem0")
def test_the_same_file_again_changes_nothing(
    ana: UserMemory, exported: Callable[[Any], Path]
) -> None:
    path = exported([TEA, CAT])
    ana.import_file(path)
    revision = ana.revision()
    again = ana.import_file(path)
    assert (again.added, again.updated, again.duplicates) == (0, 0, 2)
    assert ana.revision() == revision


@pytest.mark.requirement("transfer.mem0")
def test_what_cannot_be_kept_is_left_out_and_counted(
    ana: UserMemory, exported: Callable[[Any], Path]
) -> None:
    report = ana.import_file(
        exported(
            [
                CAT,
                {"memory": "   "},
                {"memory": "x" * 8_001},
                {"memory": "In Paris this week", "expiration_date": "2025-01-01"},
            ]
        )
    )
    assert report.added == 1
    assert report.skipped == {"empty": 1, "expired": 1, "longer than 8000 characters": 1}


@pytest.mark.requirement("transfer.mem0")
def test_odd_values_do_not_lose_the_memory(
    ana: UserMemory, exported: Callable[[Any], Path]
) -> None:
    odd = {
        "memory": "Likes\x00 tea \ud83d",
        "categories": ["!!!", "t" * 65, 7, None, "fine"],
        "agent_id": " padded ",
        "run_id": {"no": "text"},
        "role": "line\nbreak",
        "created_at": "yesterday",
        "expiration_date": 1e300,
    }
    ana.import_file(exported({"results": [odd]}))
    (item,) = ana.list()
    assert item.content == "Likes tea \ufffd"
    assert (item.theme, item.tags) == ("general", ("fine",))
    assert (item.agent_id, item.run_id, item.role, item.expires_at) == (None, None, None, None)


@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([TEA, {**CAT, "user_id": "ben-7"}], "memories of 2 users (ana-42, ben-7); split the file"),
        ([{"memory": "x", "user_id": n} for n in range(7)], "(0, 1, 2, 3, 4 and 2 more)"),
        ([TEA, "text"], "memory 2: expected an object, got text"),
        ([TEA, {"id": "2", "metadata": {}}], "memory 2: no text under 'memory', 'text', 'data'"),
        ([TEA, {"memory": ["list"]}], "memory 2, 'memory': expected text, got a list"),
        ({"results": {"id": "1"}}, "'results': expected a list, got an object"),
        ({"answer": [TEA]}, "an object without 'results' or 'memories'"),
        ("text", "expected a list, got text"),
    ],
)
def test_a_wrong_file_says_where(
    ana: UserMemory, exported: Callable[[Any], Path], data: Any, message: str
) -> None:
    path = exported(data)
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path, format="mem0")
    assert message in str(failed.value)
    assert str(path) in str(failed.value)
    assert ana.revision() == 0
