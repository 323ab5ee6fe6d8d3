"""The lines of a ricordo export: one JSON object per stored row, and how to read them back.

Each line has a ``kind``. The first is ``ricordo`` with the format's version; then, per user, one
``user`` line and their ``theme``, ``item``, ``link``, ``refused_link``, ``blocked_sender``,
``history``, ``thread``, ``turn``, ``formation``, ``proposal``, ``summary``, ``compaction``,
``thread_view``, ``checkpoint``,
``graph_checkpoint``, ``graph_channel``, ``graph_write`` and ``store_entry`` lines; the last is
``end`` with the number of rows. Files from before there were some of these kinds have none of them,
and are read alike. Bytes are in base64.
What can be derived (hashes, folded text) is left out and made anew. What tells how the work of this
one store went (``jobs``, ``events``, ``tallies``) is not part of an export. Links stand with the
owner of the memory; what a user turned down of others, and whom they block, with that user. What is
only offered is not part of it: it can be offered again.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidInput
from ricordo.model.record import plain
from ricordo.storage.tables import (
    blocked_senders,
    checkpoints,
    compactions,
    formation,
    graph_channels,
    graph_checkpoints,
    graph_writes,
    history,
    items,
    link_offers,
    links,
    proposals,
    store_entries,
    summaries,
    themes,
    thread_views,
    threads,
    turns,
    users,
)
from ricordo.transfer.json_bounds import OutOfBounds, bounded_value
from ricordo.transfer.row_checks import checked_row
from ricordo.transfer.state_checks import base64_text

FORMAT_NAME: Final = "ricordo"
FORMAT_VERSION: Final = 1
END_KIND: Final = "end"

TABLE_OF_KIND: Final[dict[str, sa.Table]] = {
    "user": users,
    "theme": themes,
    "item": items,
    "link": links,
    "refused_link": link_offers,
    "blocked_sender": blocked_senders,
    "history": history,
    "thread": threads,
    "turn": turns,
    "formation": formation,
    "proposal": proposals,
    "summary": summaries,
    "compaction": compactions,
    "thread_view": thread_views,
    "checkpoint": checkpoints,
    "graph_checkpoint": graph_checkpoints,
    "graph_channel": graph_channels,
    "graph_write": graph_writes,
    "store_entry": store_entries,
}
"""In the order in which they are written, which is one in which they can be inserted."""

# A proposal's hash stays: once it is decided, nothing else says what was turned down.
_DERIVED: Final[dict[sa.Table, frozenset[str]]] = {
    users: frozenset({"index_stamp", "index_epoch", "index_removals"}),
    items: frozenset({"content_hash", "folded"}),
}

# In a line, "kind" says what the line is.
_RENAMED: Final[dict[sa.Column[Any], str]] = {proposals.c.kind: "proposal_kind"}

Row = dict[str, Any]


@dataclass(slots=True)
class UserRows:
    """Everything that a file holds of one user, checked."""

    user_id: str
    revision: int
    rows: dict[str, list[Row]] = field(default_factory=lambda: {kind: [] for kind in TABLE_OF_KIND})


def exported_columns(table: sa.Table) -> dict[str, sa.Column[Any]]:
    """The columns of a table that stand in an export, by their names there."""
    derived = _DERIVED.get(table, frozenset())
    return {
        _RENAMED.get(column, column.name): column
        for column in table.columns
        if column.name not in derived
    }


def line_of(kind: str, row: Mapping[Any, Any]) -> str:
    """One row as a line."""
    shown = {str(name): _shown(value) for name, value in row.items()}
    return json.dumps({"kind": kind, **shown}, ensure_ascii=False)


def _shown(value: object) -> object:
    return base64_text(bytes(value)) if isinstance(value, bytes | memoryview) else plain(value)


def end_line(rows: int) -> str:
    """The line that every export ends with, so that a cut file is noticed."""
    return json.dumps({"kind": END_KIND, "rows": rows})


def header_line() -> str:
    """The line that every export begins with."""
    return json.dumps({"kind": FORMAT_NAME, "version": FORMAT_VERSION})


def read_users(path: Path) -> Iterator[UserRows]:
    """The users of an export, one after the other, every value checked.

    Raises:
        ImportFailed: names the line and what is wrong with it.
    """
    present: UserRows | None = None
    seen: set[str] = set()
    number = rows = size = 0
    ended = False
    for number, line in _numbered_lines(path):
        row = _parsed(path, number, line)
        kind = row.pop("kind", None)
        if number == 1:
            _check_header(path, kind, row)
            continue
        if ended:
            raise ImportFailed(f"{path}, line {number}: follows the line that ends the export")
        if kind == END_KIND:
            _check_end(path, number, row)
            ended = True
            continue
        checked = _checked(path, number, kind, row)
        if kind == "user":
            if checked["user_id"] in seen:
                raise ImportFailed(f"{path}, line {number}: user appears twice")
            seen.add(checked["user_id"])
            if present is not None:
                yield present
            present, rows, size = UserRows(checked["user_id"], checked["revision"]), 0, 0
        owner = checked["owner_id"] if kind == "link" else checked["user_id"]
        if present is None or owner != present.user_id:
            raise ImportFailed(f"{path}, line {number}: belongs to no user line before it")
        rows, size = rows + 1, size + len(line)
        if rows > limits.MAX_IMPORTED_ROWS or size > limits.MAX_IMPORTED_ROWS_BYTES:
            most = f"{limits.MAX_IMPORTED_ROWS} rows or {limits.MAX_IMPORTED_ROWS_BYTES} bytes"
            raise ImportFailed(
                f"{path}, line {number}: more than {most} of one user; a backup brings them"
            )
        present.rows[kind].append(checked)
    if not ended:
        raise ImportFailed(f"{path}: ends after line {number}, before the end of the export")
    if present is not None:
        yield present


def is_export(path: Path) -> bool:
    """True where a file begins like one of ours."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline(4096))
    except (ValueError, OSError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("kind") == FORMAT_NAME


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(limits.MAX_EXPORT_LINE_BYTES + 1):
            number += 1
            if len(line) > limits.MAX_EXPORT_LINE_BYTES:
                maximum = limits.MAX_EXPORT_LINE_BYTES
                raise ImportFailed(f"{path}, line {number}: longer than {maximum} bytes")
            yield number, line


def _parsed(path: Path, number: int, line: bytes) -> Row:
    try:
        row = bounded_value(line)
    except OutOfBounds as problem:
        raise ImportFailed(f"{path}, line {number}: {problem}") from None
    except (ValueError, RecursionError) as problem:
        raise ImportFailed(f"{path}, line {number}: not JSON in UTF-8 ({problem})") from None
    if not isinstance(row, dict):
        raise ImportFailed(f"{path}, line {number}: not a JSON object")
    return row


def _check_header(path: Path, kind: object, row: Row) -> None:
    if kind != FORMAT_NAME:
        raise ImportFailed(f"{path}: not a ricordo export (its first line says {kind!r})")
    if row.get("version") != FORMAT_VERSION:
        raise ImportFailed(
            f"{path}: export format {row.get('version')!r}; this ricordo reads {FORMAT_VERSION}"
        )


def _check_end(path: Path, number: int, row: Row) -> None:
    if row.get("rows") != number - 2:
        raise ImportFailed(
            f"{path}, line {number}: {number - 2} rows, but {row.get('rows')!r} were exported"
        )


def _checked(path: Path, number: int, kind: object, row: Row) -> Row:
    if not isinstance(kind, str) or kind not in TABLE_OF_KIND:
        raise ImportFailed(
            f"{path}, line {number}: kind {kind!r}; allowed: {', '.join(TABLE_OF_KIND)}"
        )
    try:
        return checked_row(kind, exported_columns(TABLE_OF_KIND[kind]), row)
    except InvalidInput as problem:
        raise ImportFailed(f"{path}, line {number}: {problem}") from None
