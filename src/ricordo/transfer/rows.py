"""The lines of a ricordo export: one JSON object per stored row, and how to read them back.

Each line has a ``kind``. The first is ``ricordo`` with the format's version; then, per user, one
``user`` line and their ``theme``, ``item``, ``link``, ``history``, ``thread`` and ``turn`` lines;
the last is ``end`` with the number of rows.
What can be derived (hashes, folded text) is left out and made anew.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidInput, InvalidValue
from ricordo.memories.changing import WENT_WITH
from ricordo.memories.replacing import MERGED_IDS
from ricordo.model import checks
from ricordo.model.former import former_values
from ricordo.model.record import plain
from ricordo.model.times import parse_moment
from ricordo.model.vocabulary import ContextPolicy, Event, MemoryType, Source, Status
from ricordo.storage.columns import Moment
from ricordo.storage.history import UNDONE_REVISION
from ricordo.storage.tables import history, items, links, themes, threads, turns, users

FORMAT_NAME: Final = "ricordo"
FORMAT_VERSION: Final = 1
END_KIND: Final = "end"
_MAX_SMALL: Final = 2**31 - 1
_DERIVED: Final = frozenset({"content_hash", "folded", "index_stamp", "index_epoch"})

TABLE_OF_KIND: Final[dict[str, sa.Table]] = {
    "user": users,
    "theme": themes,
    "item": items,
    "link": links,
    "history": history,
    "thread": threads,
    "turn": turns,
}
"""In the order in which they are written, which is one in which they can be inserted."""

Row = dict[str, Any]
Check = Callable[[str, Any], Any]


@dataclass(slots=True)
class UserRows:
    """Everything that a file holds of one user, checked."""

    user_id: str
    revision: int
    rows: dict[str, list[Row]] = field(default_factory=lambda: {kind: [] for kind in TABLE_OF_KIND})


def exported_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns of a table that stand in an export."""
    return [column for column in table.columns if column.name not in _DERIVED]


def line_of(kind: str, row: Mapping[Any, Any]) -> str:
    """One row as a line."""
    shown = {str(name): plain(value) for name, value in row.items()}
    return json.dumps({"kind": kind, **shown}, ensure_ascii=False)


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
    number = 0
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
            present = UserRows(checked["user_id"], checked["revision"])
        owner = checked["owner_id"] if kind == "link" else checked["user_id"]
        if present is None or owner != present.user_id:
            raise ImportFailed(f"{path}, line {number}: belongs to no user line before it")
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
        while line := file.readline(limits.MAX_IMPORT_LINE_BYTES + 1):
            number += 1
            if len(line) > limits.MAX_IMPORT_LINE_BYTES:
                maximum = limits.MAX_IMPORT_LINE_BYTES
                raise ImportFailed(f"{path}, line {number}: longer than {maximum} bytes")
            yield number, line


def _parsed(path: Path, number: int, line: bytes) -> Row:
    try:
        row = json.loads(line)
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
        columns = exported_columns(TABLE_OF_KIND[kind])
        checks.known_fields(f"{kind} field", row, (column.name for column in columns))
        return {column.name: _value(kind, column, row) for column in columns}
    except InvalidInput as problem:
        raise ImportFailed(f"{path}, line {number}: {problem}") from None


def _value(kind: str, column: sa.Column[Any], row: Row) -> Any:
    name = column.name
    if name not in row:
        raise InvalidValue(name, "is missing")
    value = row[name]
    if value is None:
        if column.nullable:
            return None
        raise InvalidValue(name, "must not be null")
    special = _SPECIAL.get((kind, name))
    return special(name, value) if special else _by_type(column, name, value)


def _by_type(column: sa.Column[Any], name: str, value: Any) -> Any:
    if isinstance(column.type, Moment):
        return parse_moment(name, value)
    if isinstance(column.type, sa.Boolean):
        return checks.flag(name, value)
    if isinstance(column.type, sa.Integer):
        large = isinstance(column.type, sa.BigInteger)
        return checks.integer(name, value, 0, limits.MAX_ID if large else _MAX_SMALL)
    return checks.reference(name, value)


def _one_of(allowed: type[StrEnum]) -> Check:
    return lambda name, value: checks.choice(name, value, allowed).value


def _text(maximum: int) -> Check:
    return lambda name, value: checks.text(name, value, maximum)


def _between(low: int, high: int) -> Check:
    return lambda name, value: checks.integer(name, value, low, high)


def _meta(name: str, value: Any) -> dict[str, Any]:
    """Notes on a change; those that an undo or a restore acts on are checked."""
    meta = checks.json_object(name, value, limits.MAX_META_BYTES)
    for item_id in checks.entries(MERGED_IDS, meta.get(MERGED_IDS, []), limits.MAX_MERGED_ITEMS):
        checks.memory_id(item_id)
    if WENT_WITH in meta:
        checks.memory_id(meta[WENT_WITH])
    if UNDONE_REVISION in meta:
        checks.integer(UNDONE_REVISION, meta[UNDONE_REVISION], 1, limits.MAX_ID)
    return meta


def _former(name: str, value: Any) -> dict[str, Any]:
    """What a change replaced; checked, because an undo would write it back."""
    kept = checks.json_object(name, value, limits.MAX_BEFORE_BYTES)
    former_values(kept)
    return kept


_SPECIAL: Final[dict[tuple[str, str], Check]] = {
    ("item", "content"): _text(limits.MAX_CONTENT_CHARS),
    ("item", "type"): _one_of(MemoryType),
    ("item", "source"): _one_of(Source),
    ("item", "status"): _one_of(Status),
    ("item", "key"): _text(limits.MAX_KEY_CHARS),
    ("item", "tags"): lambda _name, value: list(checks.tags(value)),
    ("item", "source_context"): _text(limits.MAX_SOURCE_CONTEXT_CHARS),
    ("item", "confidence"): _between(0, 100),
    ("item", "importance"): _between(1, 5),
    ("item", "id"): _between(1, limits.MAX_ID),
    ("theme", "display_name"): _text(limits.MAX_THEME_CHARS),
    ("theme", "description"): _text(limits.MAX_THEME_DESCRIPTION_CHARS),
    ("theme", "context"): _one_of(ContextPolicy),
    ("history", "event"): _one_of(Event),
    ("history", "reason"): _text(limits.MAX_REASON_CHARS),
    ("history", "meta"): _meta,
    ("history", "before"): _former,
    ("thread", "title"): _text(limits.MAX_THREAD_TITLE_CHARS),
    ("turn", "content"): _text(limits.MAX_TURN_CHARS),
    ("turn", "id"): _between(1, limits.MAX_ID),
    ("turn", "tool_calls"): lambda name, value: checks.json_list(
        name, value, limits.MAX_TOOL_CALLS_BYTES
    ),
}
