"""Importing Claude's data export."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ricordo import MemoryType, Source, UserMemory
from tests.transfer.conftest import Write, Zip

pytestmark = pytest.mark.requirement("transfer.claude")


def said(number: int, sender: str, text: str, **more: Any) -> dict[str, Any]:
    """A message; what else it has is given by name."""
    message = {
        "uuid": f"m{number}",
        "text": text,
        "content": [{"type": "text", "text": text, "citations": []}],
        "sender": sender,
        "created_at": f"2025-03-01T10:0{number}:00.000000Z",
        "updated_at": f"2025-03-01T10:0{number}:00.000000Z",
        "attachments": [],
        "files": [],
    }
    return {**message, **more}


def conversation(messages: list[Any], uuid: str = "c1", **more: Any) -> dict[str, Any]:
    found = {
        "uuid": uuid,
        "name": "Garden plans",
        "created_at": "2025-03-01T10:00:00.000000Z",
        "updated_at": "2025-03-01T11:00:00.000000Z",
        "account": {"uuid": "a1"},
        "chat_messages": messages,
    }
    return {**found, **more}


TALK = conversation(
    [said(1, "human", "When do I plant peas?"), said(2, "assistant", "In early spring.")]
)
REMEMBERED = {
    "conversations_memory": (
        "**Work context**\n\nAna teaches biology\nat a school.\n\n"
        "## Personal\n- Grows peas\n- Has a cat\n\n```\nnot a memory\n```\n"
    ),
    "project_memories": {"p1": "The garden faces south."},
    "memory_files": [
        {"path": "/food.md", "content": "- Drinks tea", "updated_at": "2025-02-03T04:05:06Z"}
    ],
    "account_uuid": "a1",
}


def test_what_was_said_becomes_a_thread(ana: UserMemory, exported: Write) -> None:
    report = ana.import_file(exported([TALK]))
    assert (report.format, report.threads, report.turns) == ("claude", 1, 2)
    assert report.skipped == {}
    (thread,) = ana.threads()
    assert (thread.thread_id, thread.title) == ("claude:c1", "Garden plans")
    assert [
        (turn.role, turn.content, turn.message_id, turn.at) for turn in ana.turns("claude:c1")
    ] == [
        ("user", "When do I plant peas?", "m1", datetime(2025, 3, 1, 10, 1, tzinfo=UTC)),
        ("assistant", "In early spring.", "m2", datetime(2025, 3, 1, 10, 2, tzinfo=UTC)),
    ]


def test_thinking_tools_and_attachments_are_not_part_of_a_turn(
    ana: UserMemory, exported: Write
) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "text", "text": "Here it is."},
        "odd",
    ]
    messages = [
        said(1, "assistant", "Let me look.\n```not supported```\nHere it is.", content=blocks),
        said(2, "human", "An older message", content=None),
        said(3, "human", "", attachments=[{"file_name": "a.txt", "extracted_content": "text"}]),
        said(4, "human", "See photo", files=[{"file_name": "b.png"}, {"file_name": "c.png"}]),
        said(5, "system", "Nobody said this"),
        said(6, "human", "x" * 1_000_001),
    ]
    report = ana.import_file(exported([conversation(messages), conversation([], "c2")]))
    assert [turn.content for turn in ana.turns("claude:c1")] == [
        "Let me look.\n\nHere it is.",
        "An older message",
        "See photo",
    ]
    assert report.skipped == {
        "attachments": 3,
        "conversations without text": 1,
        "empty": 1,
        "longer than 1000000 characters": 1,
        "other messages": 1,
    }


@pytest.mark.parametrize(
    "members",
    [
        {"conversations.json": [TALK], "memories.json": [REMEMBERED], "users.json": []},
        {"d/conversations.json": [TALK], "d/memories/a1.json": REMEMBERED, "d/projects.json": []},
    ],
)
def test_what_was_remembered_becomes_memories(
    ana: UserMemory, zipped: Zip, members: dict[str, Any]
) -> None:
    path = zipped(members)
    report = ana.import_file(path)
    assert (report.format, report.added, report.turns) == ("claude", 5, 2)
    assert report.skipped == {"code blocks": 1}
    found = ana.list(theme="claude")
    assert {item.content: item.source_context for item in found} == {
        "Ana teaches biology at a school.": "Work context",
        "Grows peas": "Personal",
        "Has a cat": "Personal",
        "The garden faces south.": "project p1",
        "Drinks tea": "/food.md",
    }
    assert {(item.type, item.source) for item in found} == {(MemoryType.FACT, Source.IMPORT)}
    (tea,) = ana.list(contains="drinks")
    assert tea.created_at == datetime(2025, 2, 3, 4, 5, 6, tzinfo=UTC)
    revision = ana.revision()
    again = ana.import_file(path)
    assert (again.added, again.duplicates, again.turns) == (0, 5, 0)
    assert ana.revision() == revision


@pytest.mark.parametrize(
    ("remembered", "count"),
    [(REMEMBERED, 5), ([{"conversations_memory": "Has a cat", "project_memories": None}], 1)],
)
def test_memories_may_come_alone(
    ana: UserMemory, exported: Write, zipped: Zip, remembered: Any, count: int
) -> None:
    assert ana.import_file(exported(remembered)).added == count
    again = ana.import_file(zipped({"memories/a1.json": remembered}))
    assert (again.format, again.added, again.duplicates) == ("claude", 0, count)


def test_odd_values_do_not_lose_the_conversation(ana: UserMemory, exported: Write) -> None:
    message = said(1, "human", "Hi\x00 \udc00", uuid="m" * 300, created_at=None, files="none")
    ana.import_file(exported([conversation([message], name="")]))
    (turn,) = ana.turns("claude:c1")
    assert (turn.content, turn.message_id) == ("Hi \ufffd", None)
    assert [thread.title for thread in ana.threads()] == [None]
