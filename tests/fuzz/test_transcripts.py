"""Session files of coding agents, damaged and hostile: whatever is read of them can be stored."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ricordo.coding_agents.capture import turn_of
from ricordo.coding_agents.entry import Entry
from ricordo.coding_agents.projects import Project
from ricordo.coding_agents.rules import AgentSettings, Rules
from ricordo.coding_agents.transcripts.readers import read, sessions
from ricordo.model.thread import NewTurn
from tests.coding_agents.recorded import PLACES, TRANSCRIPTS, write_opencode
from tests.coding_agents.test_transcripts import CURSOR
from tests.fuzz.mutating import altered, mutated_bytes
from tests.fuzz.running import FUZZ_SLOWLY

pytestmark = pytest.mark.requirement("faults.fuzzed")

RULES = Rules.of(Path("/nowhere"), AgentSettings(), Project("shop", Path("/home/ana/shop")))
FILES: dict[str, bytes] = {
    agent: max(
        TRANSCRIPTS[agent].rglob("*.jsonl"), key=lambda path: path.stat().st_size
    ).read_bytes()
    for agent in ("claude-code", "codex", "gemini-cli")
}
FILES["cursor"] = b"\n".join(json.dumps(record).encode() for record in CURSOR)
PLACE_OF_SESSION = {
    "cursor": "projects/x/agent-transcripts/s1.jsonl",
    "claude-code": "projects/-home-ana-shop/s1.jsonl",
    "codex": "sessions/2026/11/19/rollout-s1.jsonl",
    "gemini-cli": "tmp/shop/chats/session-s1.jsonl",
}
NAMES = ("type", "message", "content", "payload", "id", "uuid", "call_id", "input", "toolCalls")
RECORDS = {
    agent: [json.loads(line) for line in content.splitlines()] for agent, content in FILES.items()
}
ROWS = [
    json.loads(line)
    for line in (TRANSCRIPTS["opencode"] / "opencode.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("agent", FILES)
@FUZZ_SLOWLY
@given(content=mutated_bytes(tuple(FILES.values())))
def test_damaged_files_give_entries_that_can_be_stored(agent: str, content: bytes) -> None:
    _read_all(agent, content)


@pytest.mark.parametrize("agent", FILES)
@FUZZ_SLOWLY
@given(records=altered([RECORDS[agent] for agent in FILES], NAMES))
def test_records_of_any_shape_give_entries_that_can_be_stored(agent: str, records: Any) -> None:
    listed = records if isinstance(records, list) else [records]
    lines = [json.dumps(record).encode() for record in listed]
    _read_all(agent, b"\n".join(lines))


@FUZZ_SLOWLY
@given(rows=altered([[row.get("data", {}) for row in ROWS]], NAMES))
def test_rows_of_any_shape_give_entries_that_can_be_stored(rows: Any) -> None:
    listed = rows if isinstance(rows, list) else []
    given_rows = [
        {**row, "data": json.dumps(data)} if "data" in row else row
        for row, data in zip(ROWS, listed, strict=False)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PLACES["opencode"] / "opencode.db"
        path.parent.mkdir(parents=True)
        write_opencode(path, given_rows)
        for session in sessions("opencode", {}, Path(folder)):
            _check(read("opencode", session.path, session.session_id))


def _read_all(agent: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PLACES[agent] / PLACE_OF_SESSION[agent]
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        for session in sessions(agent, {}, Path(folder)):
            NewTurn(role="user", content="x", message_id=session.session_id)
        _check(read(agent, path, "s1"))


def _check(entries: Iterable[Entry]) -> None:
    for entry in entries:
        turn_of(entry, RULES)
        NewTurn(role="user", content="x", message_id=entry.id)
        NewTurn(role="user", content="x", message_id=entry.session_id)
        assert entry.content or entry.call
        assert entry.after is not None
