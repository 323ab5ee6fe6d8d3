"""OpenCode: the SQLite file ``opencode/opencode.db`` in the folder for data.

A session has messages, and a message parts, with ids that grow. Subagents have sessions of their
own, below the one that asked.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from ricordo.coding_agents.entry import Entry, Position, Role
from ricordo.coding_agents.transcripts.session_files import (
    Session,
    call_of,
    parsed,
    said,
    stored_id,
)
from ricordo.frozen import replace
from ricordo.transfer.foreign_files import JsonObject, moment, object_or_empty, text

NAME: Final = "opencode"

_BUSY_SECONDS: Final = 1.0
_MESSAGES: Final = (
    "SELECT id, data FROM message WHERE session_id = ? AND id >= ? ORDER BY time_created, id"
)
_PARTS: Final = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
_LISTED: Final = (
    "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_updated"
)


def data_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Where the program keeps its things."""
    given = environ.get("XDG_DATA_HOME")
    return (Path(given) if given else home / ".local" / "share") / "opencode"


def sessions(place: Path) -> Iterator[Session]:
    """The sessions in that folder, or of one file; those of subagents left out."""
    path = place / "opencode.db" if place.is_dir() else place
    if not path.is_file():
        return
    with contextlib.suppress(OSError), _opened(path) as connection:
        for session_id, folder, updated_ms in connection.execute(_LISTED):
            at = moment(_seconds(updated_ms))
            if isinstance(session_id, str) and at is not None:
                yield Session(
                    agent=NAME,
                    session_id=session_id,
                    path=path,
                    folder=text(folder) or None,
                    updated_at=at,
                )


def database_path(environ: Mapping[str, str], home: Path) -> Path:
    """Where the sessions are, unless the environment names another folder or file."""
    named = environ.get("OPENCODE_DB")
    file = named if named and named != ":memory:" else "opencode.db"
    return data_folder(environ, home) / file


def read(path: Path, session_id: str, after: Position | None = None) -> Iterator[Entry]:
    """The entries of a session, up to the first message that is not complete. Raises OSError."""
    with _opened(path) as connection:
        row = connection.execute(
            "SELECT directory FROM session WHERE id = ?", (session_id,)
        ).fetchone()
        folder = text(row[0]) if row else ""
        number = 0
        rows = connection.execute(_MESSAGES, (session_id, _first_message(connection, after)))
        for message_id, data in rows.fetchall():
            message = parsed(data) if isinstance(data, str | bytes) else None
            if message is None:
                continue
            if not _is_complete(message):
                return
            number += 1
            parts = connection.execute(_PARTS, (message_id,)).fetchall()
            for entry in _entries(message, parts, session_id, folder or None):
                yield replace(entry, after=Position(number, entry.id))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    address = f"file:{quote(str(path))}?mode=ro"
    try:
        with contextlib.closing(
            sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)
        ) as connection:
            connection.text_factory = lambda given: given.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as problem:
        raise OSError(f"{path}: {problem}") from None


def _first_message(connection: sqlite3.Connection, after: Position | None) -> str:
    """The message of the last entry, so that its later parts are read, too."""
    if after is None or after.last_id is None:
        return ""
    found = connection.execute("SELECT message_id FROM part WHERE id = ?", (after.last_id,))
    row = found.fetchone()
    return row[0] if row and isinstance(row[0], str) else ""


def _is_complete(message: JsonObject) -> bool:
    if message.get("role") != "assistant":
        return True
    times = object_or_empty(message.get("time"))
    return times.get("completed") is not None or message.get("error") is not None


def _entries(
    message: JsonObject, parts: list[Any], session_id: str, folder: str | None
) -> Iterator[Entry]:
    given = message.get("role")
    if given not in ("user", "assistant") or message.get("summary") is True:
        return  # a summary tells what was read before
    role: Role = "user" if given == "user" else "assistant"
    at = moment(_seconds(object_or_empty(message.get("time")).get("created")))
    path = object_or_empty(message.get("path"))
    cwd = text(path.get("cwd")) or folder

    def made(part_id: str, role: Role, content: str) -> Entry:
        return Entry(id=part_id, role=role, content=content, at=at, session_id=session_id, cwd=cwd)

    for part_id, data in parts:
        part = parsed(data) if isinstance(data, str | bytes) else None
        if part is None or not isinstance(part_id, str):
            continue
        if part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored")):
            words = said(part.get("text"))
            if words := _unquoted(words) if role == "user" else words:
                yield made(stored_id(part_id), role, words)
        elif part.get("type") == "tool":
            state = object_or_empty(part.get("state"))
            status = state.get("status")
            if status not in ("completed", "error"):
                continue
            code = object_or_empty(state.get("metadata")).get("exit")
            call = call_of(
                text(part.get("tool")),
                object_or_empty(state.get("input")),
                text(state.get("output")) or text(state.get("error")),
                failed=status == "error",
                exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
            )
            ended_at = moment(_seconds(object_or_empty(state.get("time")).get("end"))) or at
            entry = made(stored_id(part_id), "tool", "")
            yield replace(entry, call=call, at=ended_at)


def _unquoted(words: str) -> str:
    """``opencode run`` puts the message it is given in quotation marks."""
    inside = words[1:-1]
    is_quoted = len(words) > 1 and words[0] == words[-1] == '"' and '"' not in inside
    return inside.strip() if is_quoted else words


def _seconds(given: object) -> float | None:
    return given / 1000 if isinstance(given, int) and not isinstance(given, bool) else None
