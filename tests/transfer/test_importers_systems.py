"""Importing what other systems keep or export: Open WebUI, Letta, Zep, MCP's memory server."""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo import ImportFailed, Memory, Source, UserMemory
from ricordo.transfer.imports import recognise
from tests.transfer.conftest import Write

AT = 1_751_338_800  # 2025-07-01 03:00 UTC
WEBUI_TABLE = """
CREATE TABLE memory (
    id VARCHAR NOT NULL, user_id VARCHAR, content TEXT, updated_at BIGINT, created_at BIGINT,
    type VARCHAR DEFAULT 'context', path TEXT, meta JSON, PRIMARY KEY (id), UNIQUE (id)
)
"""
GRAPH: list[dict[str, Any]] = [
    {
        "type": "entity",
        "name": "default_user",
        "entityType": "person",
        "observations": ["Speaks Portuguese", "The user works nights"],
    },
    {"type": "entity", "name": "Harbour_Clinic", "entityType": "organization", "observations": []},
    {
        "type": "relation",
        "from": "default_user",
        "to": "Harbour_Clinic",
        "relationType": "works_at",
    },
]
GRAPH_SAYS = [
    "The user: Speaks Portuguese",
    "The user works nights",
    "Harbour Clinic (organization)",
    "The user works at Harbour Clinic",
]
AGENT_FILE: dict[str, Any] = {
    "agents": [
        {
            "id": "agent-0",
            "name": "kitchen helper",
            "agent_type": "memgpt_v2_agent",
            "block_ids": ["block-0", "block-1"],
            "messages": [
                {
                    "id": "message-0",
                    "role": "system",
                    "content": [{"type": "text", "text": "<base_instructions>", "signature": None}],
                    "tool_calls": None,
                    "created_at": "2025-10-31T22:56:56.459100+00:00",
                },
                {
                    "id": "message-1",
                    "role": "user",
                    "content": [{"type": "text", "text": "What can I cook?"}],
                    "tool_calls": None,
                    "created_at": "2025-10-31T22:57:00+00:00",
                },
                {
                    "id": "message-2",
                    "role": "assistant",
                    "content": [{"type": "text", "text": "They are vegetarian."}],
                    "tool_calls": [
                        {
                            "id": "call-1",
                            "type": "function",
                            "function": {
                                "name": "send_message",
                                "arguments": '{"message": "A risotto."}',
                            },
                        }
                    ],
                    "created_at": "2025-10-31T22:57:05+00:00",
                },
                {
                    "id": "message-3",
                    "role": "tool",
                    "content": [{"type": "text", "text": '{"status": "OK"}'}],
                    "created_at": "2025-10-31T22:57:06+00:00",
                },
                {
                    "id": "message-4",
                    "role": "user",
                    "content": [
                        {
                            "type": "text",
                            "text": '{"type": "user_message", "message": "Thanks!", "time": "x"}',
                        }
                    ],
                    "created_at": "2025-10-31T22:58:00+00:00",
                },
                {
                    "id": "message-5",
                    "role": "user",
                    "content": [{"type": "text", "text": '{"type": "heartbeat", "reason": "x"}'}],
                    "created_at": "2025-10-31T22:59:00+00:00",
                },
            ],
        }
    ],
    "blocks": [
        {
            "id": "block-0",
            "label": "human",
            "value": "\nFirst name: Ana\n\n# Food\n- Is vegetarian\n- Allergic to peanuts\n",
            "limit": 20000,
        },
        {"id": "block-1", "label": "persona", "value": "I am a helper.", "limit": 20000},
    ],
    "groups": [],
    "files": [],
    "sources": [],
    "tools": [],
    "mcp_servers": [],
    "metadata": {"revision_id": "b1c2d3e4f5a6"},
    "created_at": "2025-11-21T03:09:21.577666+00:00",
}
EDGE: dict[str, Any] = {
    "uuid": "5f0c9e1d-2b7a-4c63-8f1e-3d1c5d1f0a01",
    "name": "PLAYS",
    "fact": "Ana plays the cello",
    "source_node_uuid": "a1",
    "target_node_uuid": "b2",
    "created_at": "2024-05-02T10:00:00Z",
    "valid_at": "2023-01-01T00:00:00Z",
    "invalid_at": None,
    "expired_at": None,
    "episodes": ["e1"],
    "attributes": {},
}
MOVED = {
    **EDGE,
    "uuid": "5f0c9e1d-2b7a-4c63-8f1e-3d1c5d1f0a02",
    "fact": "Ana plays the piano",
    "valid_at": "2020-01-01T00:00:00Z",
    "invalid_at": "2023-01-01T00:00:00Z",
}
EPISODES = [
    {
        "uuid": "e1",
        "content": "I play the cello",
        "created_at": "2024-05-02T10:00:00Z",
        "source": "message",
        "role": "Ana",
        "role_type": "user",
        "thread_id": "t-1",
        "processed": True,
    },
    {
        "uuid": "e2",
        "content": "How is it?",
        "created_at": "2024-05-02T10:00:05Z",
        "source": "message",
        "role_type": "assistant",
        "thread_id": "t-1",
    },
    {
        "uuid": "e3",
        "content": '{"plan": "gold"}',
        "created_at": "2024-05-03T10:00:00Z",
        "source": "json",
    },
]


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of JSON Lines."""

    def write(*entries: object) -> Path:
        path = tmp_path / "export.jsonl"
        text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in entries)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def contents(user: UserMemory) -> list[str]:
    return [one.content for one in user.list(sort="id", order="asc")]


def webui_db(path: Path, *rows: tuple[str, str, str]) -> Path:
    """A database with the table of Open WebUI's memories and these: id, user, text."""
    with sqlite3.connect(path) as connection:
        connection.execute(WEBUI_TABLE)
        connection.executemany(
            "INSERT INTO memory (id, user_id, content, updated_at, created_at)"
            f" VALUES (?, ?, ?, {AT}, {AT})",
            rows,
        )
    connection.close()
    return path


@pytest.mark.requirement("transfer.systems")
def test_open_webui_as_its_api_lists_them(ana: UserMemory, exported: Write) -> None:
    listed = [
        {
            "id": f"m-{number}",
            "user_id": "7f0c",
            "type": "context",
            "path": None,
            "content": text,
            "meta": None,
            "updated_at": AT,
            "created_at": AT,
        }
        for number, text in enumerate(("Has a cat", "Drinks tea", ""))
    ]
    path = exported(listed)
    report = ana.import_file(path)
    assert (report.format, report.added, report.skipped) == ("openwebui", 2, {"empty": 1})
    cat, tea = ana.list(sort="id", order="asc")
    assert (cat.content, tea.content) == ("Has a cat", "Drinks tea")
    assert cat.created_at == datetime.fromtimestamp(AT, UTC)
    assert (cat.source, cat.message_id) == (Source.IMPORT, "openwebui:m-0")
    assert ana.import_file(path).added == 0


@pytest.mark.requirement("transfer.systems")
@pytest.mark.requirement("transfer.source-user")
def test_of_the_database_of_open_webui_one_user_is_chosen(ana: UserMemory, tmp_path: Path) -> None:
    path = webui_db(
        tmp_path / "webui.db",
        ("m1", "7f0c", "Has a cat"),
        ("m2", "9e1d", "Has a dog"),
        ("m3", "7f0c", "Drinks tea"),
    )
    with pytest.raises(ImportFailed, match=r"memories of 2 users \(7f0c, 9e1d\); choose one"):
        ana.import_file(path)
    with pytest.raises(ImportFailed, match="no memories of 'me'; there are: 7f0c, 9e1d"):
        ana.import_file(path, source_user="me")
    assert ana.revision() == 0
    report = ana.import_file(path, source_user="7f0c")
    assert (report.format, report.added, report.skipped) == ("openwebui", 2, {"of other users": 1})
    assert contents(ana) == ["Has a cat", "Drinks tea"]


@pytest.mark.requirement("transfer.systems")
def test_a_copy_of_a_database_with_a_log_is_read_and_left_alone(
    ana: UserMemory, tmp_path: Path
) -> None:
    folder = tmp_path / "copied"
    folder.mkdir()
    live = tmp_path / "webui.db"
    sqlite3.connect(live).execute("PRAGMA journal_mode = WAL").connection.close()
    webui_db(live, ("m1", "7f0c", "Has a cat"))
    copied = folder / "webui.db"
    copied.write_bytes(live.read_bytes())
    assert ana.import_file(copied).added == 1
    assert list(folder.iterdir()) == [copied]
    writing = sqlite3.connect(live)
    writing.execute("INSERT INTO memory (id, user_id, content) VALUES ('m2', '7f0c', 'Likes tea')")
    writing.commit()  # into the log, which is read, too
    assert ana.import_file(live).added == 1
    writing.close()


@pytest.mark.requirement("transfer.bad-files")
def test_other_databases_are_refused(ana: UserMemory, tmp_path: Path) -> None:
    for number, statement in enumerate(
        (
            "CREATE TABLE chat (id TEXT)",
            "CREATE TABLE memory (id TEXT, note TEXT)",
            "CREATE VIEW memory AS SELECT 1 AS id, 2 AS user_id, 3 AS content, 4 AS created_at",
        )
    ):
        path = tmp_path / f"{number}.db"
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(ImportFailed, match=r"allowed of databases: its webui\.db"):
            ana.import_file(path)
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 4000)
    with pytest.raises(ImportFailed, match="not a readable database"):
        ana.import_file(path)
    assert ana.revision() == 0


@pytest.mark.requirement("transfer.systems")
def test_the_graph_of_mcps_memory_server(
    open_store: Callable[..., Memory], sqlite_url: str, lines: Callable[..., Path], exported: Write
) -> None:
    memory = open_store(sqlite_url)
    ana, ben = memory.user("ana"), memory.user("ben")
    path = lines(*GRAPH)
    report = ana.import_file(path, consented=True)
    assert (report.format, report.added, report.skipped) == ("mcp-memory", 4, {})
    assert contents(ana) == GRAPH_SAYS
    assert ana.get(1).tags == ("person",)
    assert ana.import_file(path).duplicates == 4
    answered = {
        "entities": [{**one, "type": None} for one in GRAPH if one["type"] == "entity"],
        "relations": [one for one in GRAPH if one["type"] == "relation"],
    }
    assert ben.import_file(exported(answered), consented=True).added == 4
    assert contents(ben) == GRAPH_SAYS


@pytest.mark.requirement("transfer.systems")
def test_an_agent_file_of_letta(ana: UserMemory, exported: Write) -> None:
    path = exported(AGENT_FILE)
    report = ana.import_file(path)
    assert (report.format, report.threads, report.turns) == ("letta", 1, 3)
    assert report.added + report.proposed == 3
    assert report.proposed > 0  # the allergy, at least
    assert report.skipped == {
        "blocks about the agent": 1,
        "other messages": 1,
        "system messages": 1,
        "tool messages": 1,
    }
    assert "Allergic to peanuts" not in contents(ana)
    ana.import_file(path, consented=True)
    assert sorted(contents(ana)) == ["Allergic to peanuts", "First name: Ana", "Is vegetarian"]
    (allergic,) = (one for one in ana.list() if one.content == "Allergic to peanuts")
    assert (allergic.theme, allergic.source_context) == ("letta", "human: Food")
    turns = list(ana.turns("letta:kitchen helper"))
    assert [(one.role, one.content) for one in turns] == [
        ("user", "What can I cook?"),
        ("assistant", "A risotto."),
        ("user", "Thanks!"),
    ]
    assert turns[0].at == datetime(2025, 10, 31, 22, 57, tzinfo=UTC)
    again = ana.import_file(path)
    assert (again.added, again.turns) == (0, 0)


@pytest.mark.requirement("transfer.systems")
def test_older_agent_files_of_letta(ana: UserMemory, exported: Write) -> None:
    (agent,) = AGENT_FILE["agents"]
    older = {
        "name": agent["name"],
        "agent_type": "memgpt_agent",
        "core_memory": [{"label": "human", "value": "Plays chess", "limit": 5000}],
        "messages": [{"role": "user", "text": "Hello", "created_at": "2025-04-01T10:00:00"}],
        "version": "0.6.47",
    }
    assert ana.import_file(exported(json.dumps(older))).format == "letta"  # JSON inside JSON
    assert contents(ana) == ["Plays chess"]
    assert [turn.content for turn in ana.turns("letta:kitchen helper")] == ["Hello"]


@pytest.mark.requirement("transfer.systems")
@pytest.mark.parametrize("wrapped", [[EDGE, MOVED], {"edges": [EDGE, MOVED]}])
def test_facts_of_zep(ana: UserMemory, exported: Write, wrapped: Any) -> None:
    path = exported(wrapped)
    report = ana.import_file(path)
    assert (report.format, report.added) == ("zep", 2)
    cello = ana.get(1)
    assert (cello.content, cello.tags) == ("Ana plays the cello", ("PLAYS",))
    assert cello.created_at == datetime(2024, 5, 2, 10, tzinfo=UTC)
    assert cello.valid_from == datetime(2023, 1, 1, tzinfo=UTC)
    assert cello.message_id == f"zep:{EDGE['uuid']}"
    assert ana.get(2).valid_to == datetime(2023, 1, 1, tzinfo=UTC)
    assert ana.import_file(path).duplicates == 2


@pytest.mark.requirement("transfer.systems")
def test_what_was_said_to_zep(ana: UserMemory, exported: Write) -> None:
    answered = {"edges": [EDGE], "episodes": EPISODES, "nodes": [{"name": "Ana", "summary": ""}]}
    report = ana.import_file(exported(answered))
    assert (report.added, report.threads, report.turns) == (1, 1, 2)
    assert report.skipped == {"episodes of no thread": 1, "nodes": 1}
    said = [(one.role, one.content) for one in ana.turns("zep:t-1")]
    assert said == [("user", "I play the cello"), ("assistant", "How is it?")]
    messages = [
        {"uuid": "m1", "role": "user", "name": "Ana", "content": "Hello", "created_at": None},
        {"uuid": "m2", "role": "system", "content": "Be brief."},
    ]
    report = ana.import_file(exported({"messages": messages, "row_count": 2, "user_id": "ana"}))
    assert (report.turns, report.skipped) == (1, {"system messages": 1})
    assert [turn.content for turn in ana.turns("zep:m1")] == ["Hello"]


@pytest.mark.requirement("transfer.lines")
def test_json_lines(ana: UserMemory, lines: Callable[..., Path]) -> None:
    path = lines(
        {
            "id": 7,
            "content": "Has a cat",
            "theme": "Pets",
            "type": "fact",
            "tags": ["home", ""],
            "importance": 4,
            "created_at": "2024-08-01T10:00:00Z",
        },
        "",
        {"text": "Sits at the window", "key": "seat", "type": "unknown", "importance": 99},
        '"Drinks tea"',
        {"content": " "},
    )
    report = ana.import_file(path)
    assert (report.format, report.added, report.skipped) == ("jsonl", 3, {"empty": 1})
    cat, seat, tea = ana.list(sort="id", order="asc")
    assert (cat.theme, cat.tags, cat.importance) == ("pets", ("home",), 4)
    assert (cat.created_at, cat.message_id) == (datetime(2024, 8, 1, 10, tzinfo=UTC), "jsonl:7")
    assert (seat.content, seat.key, tea.content) == ("Sits at the window", "seat", "Drinks tea")
    assert ana.import_file(path).added == 0


@pytest.mark.requirement("transfer.lines")
@pytest.mark.requirement("transfer.bad-files")
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('{"content": "cut o', "not valid JSON (Invalid control character at: line 3)"),
        ("5", "line 3: expected an object, got a number"),
        ({"note": "x"}, "line 3: no text under 'content', 'memory', 'text', 'fact'"),
        ({"content": ["x"]}, "line 3, 'content': expected text, got a list"),
        ({"role": "user", "content": "x"}, "line 3: is a message of a conversation"),
        ('{"content": "\udcff"}', "not text in UTF-8"),
    ],
)
def test_a_wrong_line_is_named(ana: UserMemory, tmp_path: Path, wrong: object, told: str) -> None:
    path = tmp_path / "export.jsonl"
    line = wrong if isinstance(wrong, str) else json.dumps(wrong)
    text = f'{{"content": "Has a cat"}}\n\n{line}\n{{"content": "Drinks tea"}}\n'
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ImportFailed) as failed:
        ana.import_file(path)
    assert told in str(failed.value)
    assert ana.revision() == 0


@pytest.mark.requirement("transfer.lines")
def test_plain_lines(ana: UserMemory, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Has a cat\r\n\n# Food\nDrinks tea\nEats no meat\n", encoding="utf-8")
    report = ana.import_file(path)
    assert (report.format, report.added) == ("lines", 3)
    assert [(one.theme, one.content) for one in ana.list(sort="id", order="asc")] == [
        ("general", "Has a cat"),
        ("food", "Drinks tea"),
        ("food", "Eats no meat"),
    ]
    assert ana.import_file(path).duplicates == 3


@pytest.mark.requirement("transfer.lines")
@pytest.mark.requirement("transfer.bad-files")
def test_what_is_no_text_is_named_by_its_line(ana: UserMemory, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text, told in (
        ("Has a cat\nDrinks\x00tea", "line 2: not text (U+0000 in it)"),
        (f"Has a cat\n{'x' * 8_001}", "line 2: longer than 8000 characters"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ImportFailed) as failed:
            ana.import_file(path, format="lines")
        assert told in str(failed.value)
    assert ana.revision() == 0


@pytest.mark.requirement("transfer.systems")
def test_they_are_recognised_by_what_is_in_them(
    lines: Callable[..., Path], exported: Write
) -> None:
    for entries, expected in (
        ((EDGE, MOVED), "zep"),
        (({"memory": "Has a cat", "user_id": "a"}, {"memory": "x"}), "mem0"),
        ((GRAPH[0],), "mcp-memory"),
        ((GRAPH[2], GRAPH[0]), "mcp-memory"),
        (({"content": "x", "user_id": "a", "created_at": AT}, {}), "openwebui"),
        (({"content": "x", "user_id": "a"}, {}), "jsonl"),
        (('"Has a cat"', '"Drinks tea"'), "jsonl"),
        (("Has a cat", "Drinks tea"), "lines"),
    ):
        assert recognise(lines(*entries)) == expected
    assert recognise(exported(["Has a cat"])) == "jsonl"
