"""What the real programs wrote, laid out as on a disk of theirs (see payloads/README.md)."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TRANSCRIPTS: Mapping[str, Path] = {
    "claude-code": FOLDER / "transcripts" / "claude-code-2.1.327",
    "codex": FOLDER / "transcripts" / "codex-0.169.0",
    "gemini-cli": FOLDER / "transcripts" / "gemini-cli-0.61.0",
    "opencode": FOLDER / "transcripts" / "opencode-1.18.33",
}
PLACES: Mapping[str, str] = {
    "claude-code": ".claude",
    "codex": ".codex",
    "gemini-cli": ".gemini",
    "opencode": ".local/share/opencode",
}
"""Where each agent keeps its things, from the home folder."""

PROMPTS = (
    "The check fails. Fix it: discounts are rounded up, because the customer must never pay more.",
    "From now on totals are shown without cents.",
)
"""What the user said in the recorded session of every agent."""

_TABLES = """
CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
    time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,
    data TEXT);
CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER,
    time_updated INTEGER, data TEXT);
"""


def lay_out(agent: str, home: Path) -> Path:
    """Put the agent's session files into a home folder; the folder they are in."""
    place = home / PLACES[agent]
    if agent == "opencode":
        place.mkdir(parents=True)
        records = [json.loads(line) for line in _lines(TRANSCRIPTS[agent] / "opencode.jsonl")]
        write_opencode(place / "opencode.db", records)
    else:
        shutil.copytree(TRANSCRIPTS[agent], place, dirs_exist_ok=True)
    return place


def write_opencode(path: Path, records: list[dict[str, Any]]) -> None:
    """A database as OpenCode has it, with these rows."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_TABLES)
        for record in records:
            table, *columns = record
            values = [
                json.dumps(record[name]) if isinstance(record[name], dict) else record[name]
                for name in columns
            ]
            marks = ", ".join("?" * len(columns))
            connection.execute(
                f"INSERT INTO {record[table]} ({', '.join(columns)}) VALUES ({marks})", values
            )


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
