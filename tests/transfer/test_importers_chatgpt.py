"""Importing ChatGPT's data export."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ricordo import ImportFailed, MemoryType, Source, UserMemory
from tests.transfer.conftest import Write, Zip

pytestmark = pytest.mark.requirement("transfer.chatgpt")

STARTED = 1_735_689_600.0  # 2025-01-01 00:00 UTC


def said(role: str, text: Any, **more: Any) -> dict[str, Any]:
    """A message; what else it has is given by name."""
    message = {
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": STARTED,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "metadata": {},
        "recipient": "all",
    }
    return {**message, **more}


def instructions(profile: str, wanted: str, **more: Any) -> dict[str, Any]:
    """The hidden message with the custom instructions, as ChatGPT words it."""
    content = {
        "content_type": "user_editable_context",
        "user_profile": f"The user said about themselves:\nUser profile:\n```{profile}```",
        "user_instructions": f"The user would like you to respond so:\n```{wanted}```",
    }
    hidden = {"is_visually_hidden_from_conversation": True}
    return said("user", "", content=content, metadata=hidden, create_time=None, **more)


def conversation(messages: list[dict[str, Any]], name: str = "c1", **more: Any) -> dict[str, Any]:
    """A conversation in which each message answers the one before."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    above = "root"
    for number, message in enumerate(messages, start=1):
        node = f"{name}-m{number}"
        mapping[node] = {
            "id": node,
            "message": {"id": node, **message},
            "parent": above,
            "children": [],
        }
        above = node
    return {
        "title": "Tea and cats",
        "create_time": STARTED,
        "update_time": STARTED + 60,
        "mapping": mapping,
        "current_node": above,
        "conversation_id": name,
        "id": name,
        **more,
    }


TALK = conversation(
    [
        said("system", "", metadata={"is_visually_hidden_from_conversation": True}),
        said("user", "I drink tea, never coffee.", create_time=STARTED + 1.5),
        said("assistant", "User drinks tea.\n\nUser has a cat.\n", recipient="bio"),
        said("tool", "Model set context updated."),
        said("assistant", "Noted: tea it is.", create_time=STARTED + 3),
    ]
)


def test_what_was_said_becomes_a_thread_and_what_was_saved_memories(
    ana: UserMemory, exported: Write
) -> None:
    report = ana.import_file(exported([TALK]))
    assert (report.format, report.threads, report.turns) == ("chatgpt", 1, 2)
    assert report.skipped == {"system messages": 1, "tool messages": 1}
    (thread,) = ana.threads()
    assert (thread.thread_id, thread.title) == ("chatgpt:c1", "Tea and cats")
    turns = list(ana.turns("chatgpt:c1"))
    assert [(turn.role, turn.content, turn.message_id) for turn in turns] == [
        ("user", "I drink tea, never coffee.", "c1-m2"),
        ("assistant", "Noted: tea it is.", "c1-m5"),
    ]
    assert turns[0].at == datetime(2025, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    assert report.added == 2
    tea, cat = ana.list(theme="chatgpt", order="asc")
    assert {tea.content, cat.content} == {"User drinks tea.", "User has a cat."}
    for item in (tea, cat):
        assert (item.type, item.source) == (MemoryType.FACT, Source.IMPORT)
        assert (item.thread_id, item.message_id) == ("chatgpt:c1", "c1-m3")
        assert item.source_context == "Tea and cats"
        assert item.created_at == datetime(2025, 1, 1, tzinfo=UTC)


def test_only_the_branch_on_the_screen_is_read(ana: UserMemory, exported: Write) -> None:
    edited = conversation([said("user", "A first try"), said("assistant", "An answer to it")])
    mapping = edited["mapping"]
    mapping["new"] = {"id": "new", "message": said("user", "A second try"), "parent": "root"}
    edited["current_node"] = "new"
    ana.import_file(exported([edited]))
    turns = list(ana.turns("chatgpt:c1"))
    assert [(turn.content, turn.message_id) for turn in turns] == [("A second try", "new")]


def test_the_newest_custom_instructions_count(ana: UserMemory, exported: Write) -> None:
    hello = said("user", "Hello")
    newer = conversation([instructions("Lives in Jakarta", "Be brief"), hello], "c2")
    newer["create_time"] += 1_000
    older = conversation([instructions("Lives in Bekasi", "Be kind"), hello], "c1")
    bare = {"about_user_message": "Lives in Bogor", "about_model_message": ""}
    oldest = conversation([instructions("no", "no"), hello], "c0", create_time=1.0)
    oldest["mapping"]["c0-m1"]["message"]["metadata"]["user_context_message_data"] = bare
    report = ana.import_file(exported([older, newer, oldest]))
    assert (report.added, report.skipped) == (2, {})
    found = {item.key: (item.type, item.content) for item in ana.list(theme="chatgpt")}
    assert found == {
        "chatgpt-profile": (MemoryType.FACT, "Lives in Jakarta"),
        "chatgpt-instructions": (MemoryType.INSTRUCTION, "Be brief"),
    }
    assert len(list(ana.turns("chatgpt:c2"))) == 1


def test_custom_instructions_with_a_secret_are_left_out(ana: UserMemory, exported: Write) -> None:
    told = instructions("My wifi password is k8sRocks2024", "Be brief")
    report = ana.import_file(exported([conversation([told, said("user", "Hello")])]))
    assert [item.content for item in ana.list()] == ["Be brief"]
    assert report.skipped == {"with a secret": 1}


def test_the_users_own_words_are_preferred_to_the_wrapped_ones(
    ana: UserMemory, exported: Write
) -> None:
    told = instructions("wrapped", "x" * 8_001)
    told["metadata"]["user_context_message_data"] = {"about_user_message": "Lives in Bogor"}
    report = ana.import_file(exported([conversation([told])]))
    assert [item.content for item in ana.list()] == ["Lives in Bogor"]
    assert report.skipped == {"conversations without text": 1, "longer than 8000 characters": 1}


def test_an_older_export_does_not_undo_newer_instructions(ana: UserMemory, exported: Write) -> None:
    later = STARTED + 86_400
    ana.import_file(exported([conversation([instructions("new", "new")], create_time=later)]))
    report = ana.import_file(exported([conversation([instructions("old", "old")])]))
    assert report.skipped["older than what is stored"] == 2
    assert {item.content for item in ana.list()} == {"new"}


def test_what_is_not_a_turn_is_left_out_and_counted(ana: UserMemory, exported: Write) -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    spoken = {"content_type": "audio_transcription", "text": "Spoken words", "direction": "in"}
    messages = [
        said("user", "", content={"content_type": "multimodal_text", "parts": [image, "Look!"]}),
        said("user", "", content={"content_type": "multimodal_text", "parts": [spoken]}),
        said("user", "", content={"content_type": "multimodal_text", "parts": [image]}),
        said("assistant", "", content={"content_type": "code", "text": "print(1)"}),
        said("assistant", "", content={"content_type": "code", "text": "x"}, recipient="python"),
        said("assistant", "", content={"content_type": "thoughts", "thoughts": []}),
        said("user", "kept from view", metadata={"is_visually_hidden_from_conversation": True}),
        said("critic", "Who is this?"),
        said("assistant", "x" * 1_000_001),
        said("assistant", "y" * 8_001, recipient="bio"),
    ]
    report = ana.import_file(exported([conversation(messages)]))
    turns = list(ana.turns("chatgpt:c1"))
    assert [turn.content for turn in turns] == ["Look!", "Spoken words", "print(1)"]
    assert report.skipped == {
        "empty": 1,
        "hidden messages": 1,
        "longer than 1000000 characters": 1,
        "longer than 8000 characters": 1,
        "messages to tools": 1,
        "other messages": 1,
        "reasoning and other content": 1,
    }


def test_odd_values_do_not_lose_the_conversation(ana: UserMemory, exported: Write) -> None:
    odd = [
        said("user", "Hi\x00 \udc00", create_time="no time", id="m" * 300),
        said("assistant", "Hello", metadata=None, recipient=None, create_time=1e300),
        {"id": "m3", "content": None, "author": None},
        said("user", 7),
    ]
    entry = conversation(odd, title="T\x00i\n" + "t" * 600, create_time=None)
    entry["mapping"]["root"]["parent"] = "lost"
    report = ana.import_file(exported([entry]))
    turns = list(ana.turns("chatgpt:c1"))
    assert [(turn.content, turn.message_id) for turn in turns] == [
        ("Hi \ufffd", None),
        ("Hello", "c1-m2"),
    ]
    (thread,) = ana.threads()
    assert thread.title is not None
    assert (len(thread.title), thread.title[:4]) == (500, "Ti t")
    assert report.skipped == {
        "earlier messages missing from the file": 1,
        "empty": 1,
        "other messages": 1,
    }


def test_an_archive_may_have_its_conversations_in_parts(ana: UserMemory, zipped: Zip) -> None:
    parts = {
        "export/conversations-001.json": [conversation([said("user", "Second")], "c2")],
        "export/conversations-000.json": [conversation([said("user", "First")], "c1")],
        "export/user.json": {"email": "ana@example.org"},
        "export/shared_conversations.json": [{"id": "c1"}],
        "__MACOSX/export/conversations-000.json": "left over",
    }
    report = ana.import_file(zipped(parts))
    assert (report.format, report.threads, report.turns) == ("chatgpt", 2, 2)
    assert {thread.thread_id for thread in ana.threads()} == {"chatgpt:c1", "chatgpt:c2"}


def test_the_same_archive_again_changes_nothing(ana: UserMemory, zipped: Zip) -> None:
    told = conversation([instructions("Lives in Jakarta", "Be brief"), said("user", "Hi")], "c2")
    path = zipped({"conversations.json": [TALK, told]})
    first = ana.import_file(path)
    assert (first.added, first.turns) == (4, 3)
    revision = ana.revision()
    again = ana.import_file(path)
    assert (again.added, again.updated, again.duplicates, again.turns) == (0, 0, 4, 0)
    assert ana.revision() == revision


def test_a_later_export_adds_only_what_is_new(ana: UserMemory, exported: Write) -> None:
    messages = [said("user", "First"), said("assistant", "Second")]
    ana.import_file(exported([conversation(messages)]))
    report = ana.import_file(exported([conversation([*messages, said("user", "Third")])]))
    assert (report.added, report.turns) == (0, 1)
    assert [turn.content for turn in ana.turns("chatgpt:c1")] == ["First", "Second", "Third"]


@pytest.mark.requirement("transfer.bad-files")
def test_nothing_is_written_when_a_later_part_is_wrong(ana: UserMemory, zipped: Zip) -> None:
    parts = {"conversations-000.json": [TALK], "conversations-001.json": [{"id": "c2"}]}
    with pytest.raises(ImportFailed, match=r"conversations-001\.json, conversation 1, 'mapping'"):
        ana.import_file(zipped(parts))
    assert ana.revision() == 0
    assert len(ana.threads()) == 0
