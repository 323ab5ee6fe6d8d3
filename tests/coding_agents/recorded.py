"""What the real programs wrote, laid out as on a disk of theirs (see payloads/README.md)."""

import contextlib
import json
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
    "cursor": ".cursor",
    "gemini-cli": ".gemini",
    "opencode": ".local/share/opencode",
}
"""Where each agent keeps its things, from the home folder."""

RECORDED_IN = "/home/ana/shop"
PROJECT = "github.com/acme/shop"

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
    """Put the agent's session files into a home folder; the folder they are in.

    The recorded sessions were held in ``/home/ana/shop``; here it is the folder ``shop`` of that
    home, a repository with a remote.
    """
    shop = home / "shop"
    (shop / ".git").mkdir(parents=True, exist_ok=True)
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (shop / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n', encoding="utf-8"
    )
    place = home / PLACES[agent]
    for path in TRANSCRIPTS[agent].rglob("*"):
        if not path.is_file():
            continue
        content = path.read_text(encoding="utf-8").replace(RECORDED_IN, str(shop))
        copy = place / path.relative_to(TRANSCRIPTS[agent])
        copy.parent.mkdir(parents=True, exist_ok=True)
        if agent == "opencode":
            records = [json.loads(line) for line in content.splitlines()]
            write_opencode(copy.with_suffix(".db"), records)
        else:
            copy.write_text(content, encoding="utf-8")
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
