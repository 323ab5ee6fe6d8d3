"""The ricordo export format: one JSON object per stored row, written and read back."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo import limits
from ricordo.agent_state.checkpoints import check_together, checked_json_text, name_part, read_json
from ricordo.errors import ImportFailed, InvalidInput, InvalidValue
from ricordo.formation.proposals import PROPOSAL
from ricordo.memories.lifecycle import WENT_WITH
from ricordo.memories.replacement import MERGED_IDS, TAKEN_UP
from ricordo.model import checks
from ricordo.model.checks import parse_moment
from ricordo.model.draft import FIELD_NAMES, NewMemory
from ricordo.model.group import checked_owner
from ricordo.model.item import former_values, parse_ratings
from ricordo.model.record import plain
from ricordo.model.thread import Observer
from ricordo.model.vocabulary import (
    SAID_KINDS,
    ContextPolicy,
    Event,
    GroupRole,
    MemoryType,
    ProposalState,
    Source,
    Status,
)
from ricordo.storage.history import UNDONE_REVISION
from ricordo.storage.sql import Moment
from ricordo.storage.tables import (
    blocked_senders,
    checkpoints,
    compactions,
    formation,
    graph_channels,
    graph_checkpoints,
    graph_writes,
    group_members,
    groups,
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
from ricordo.text.normalise import content_hash
from ricordo.transfer.json_bounds import OutOfBounds, bounded_value

Check = Callable[[str, Any], Any]

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_SPECIAL_PLACES: Final = 1_000
_MAX_TTL_MINUTES: Final = limits.MAX_RECENCY_DAYS * 24 * 60

_NAMED_BY: Final = {
    "graph_checkpoint": ("thread_id", "namespace", "checkpoint_id"),
    "graph_channel": ("thread_id", "namespace", "channel", "version"),
    "graph_write": ("thread_id", "namespace", "checkpoint_id", "task_id"),
    "store_entry": ("namespace", "key"),
}
"""The columns that identify a row within its user, and must fit into an index together."""
_MAX_SMALL: Final = 2**31 - 1
_HASH: Final = re.compile(r"[0-9a-f]{32}")
_ADDED_LATER: Final = frozenset(
    {
        ("turn", "observed_by"),
        ("turn", "ended_at"),
        ("item", "ratings"),
        *((kind, "project_id") for kind in ("item", "thread", "proposal")),
    }
)
"""Fields that exports of earlier releases lack."""
FORMAT_NAME: Final = "ricordo"
FORMAT_VERSION: Final = 1
END_KIND: Final = "end"
# A proposal's hash is exported: once decided, nothing else identifies what was rejected.
_DERIVED: Final[dict[sa.Table, frozenset[str]]] = {
    users: frozenset({"index_stamp", "index_epoch", "index_removals"}),
    items: frozenset({"content_hash", "folded"}),
    thread_views: frozenset({"ahead"}),
}
# In a line, "kind" is the kind of the line.
_RENAMED: Final[dict[sa.Column[Any], str]] = {proposals.c.kind: "proposal_kind"}


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def packed_bytes(name: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise InvalidValue(name, f"expected base64 as text, got {type(value).__name__}")
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(name, "is not base64") from None
    if len(data) > limits.MAX_GRAPH_VALUE_BYTES:
        most = limits.MAX_GRAPH_VALUE_BYTES
        raise InvalidValue(name, f"{len(data)} bytes; allowed: at most {most}")
    return data


def minutes(name: str, value: Any) -> float:
    found = checks.number(name, value, 0, _MAX_TTL_MINUTES)
    if found == 0:
        raise InvalidValue(name, "must be more than 0 minutes")
    return found


def check_state_row(kind: str, row: Mapping[str, Any]) -> None:
    """Check that the values of one row are consistent. Raises InvalidValue."""
    named_by = _NAMED_BY.get(kind)
    if named_by is not None:
        check_together(named_by[-1], *(row[name] for name in named_by))
    if kind == "graph_checkpoint":
        size = len(row["data"]) + len(row["metadata"])
        if size > limits.MAX_GRAPH_VALUE_BYTES:
            most = limits.MAX_GRAPH_VALUE_BYTES
            raise InvalidValue("data", f"{size} bytes with metadata; allowed: at most {most}")
    if kind == "store_entry" and (row["expires_at"] is None) != (row["ttl_minutes"] is None):
        raise InvalidValue("ttl_minutes", "goes together with expires_at")
    if kind == "compaction" and row["first_position"] > row["last_position"]:
        raise InvalidValue("first_position", "must not be after last_position")


def _kept(maximum: int) -> Check:
    """A text that is kept unchanged, and may be empty."""
    return lambda name, value: name_part(name, value, maximum)


def _between(low: int, high: int) -> Check:
    return lambda name, value: checks.integer(name, value, low, high)


def _day(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise InvalidValue(name, "expected a day such as 2026-01-31")
    return value


def _state(name: str, value: Any) -> str:
    return checked_json_text(name, value, limits.MAX_CHECKPOINT_BYTES)


def _entry_value(name: str, value: Any) -> str:
    text = checked_json_text(name, value, limits.MAX_ENTRY_BYTES)
    if not isinstance(read_json(name, text), dict):
        raise InvalidValue(name, "is not a JSON object")
    return text


def _namespace(name: str, value: Any) -> str:
    namespace = name_part(name, value, limits.MAX_NAMESPACE_CHARS)
    labels = namespace.split(".")
    if not all(labels) or len(labels) > limits.MAX_NAMESPACE_LABELS:
        most = limits.MAX_NAMESPACE_LABELS
        raise InvalidValue(name, f"expected 1 to {most} labels, none of them empty")
    return namespace


_graph_name: Final = _kept(limits.MAX_GRAPH_NAME_CHARS)
_position: Final = _between(1, 2**31 - 1)

SPECIAL: Final[dict[tuple[str, str], Check]] = {
    ("compaction", "first_position"): _position,
    ("compaction", "last_position"): _position,
    ("compaction", "day"): _day,
    ("compaction", "summary"): _kept(limits.MAX_COMPACTION_CHARS),
    ("compaction", "bridge"): _kept(limits.MAX_BRIDGE_CHARS),
    ("checkpoint", "state"): _state,
    ("checkpoint", "version"): _between(1, limits.MAX_ID),
    ("graph_checkpoint", "namespace"): _graph_name,
    ("graph_channel", "namespace"): _graph_name,
    ("graph_channel", "channel"): _graph_name,
    ("graph_channel", "version"): _graph_name,
    ("graph_write", "namespace"): _graph_name,
    ("graph_write", "channel"): _graph_name,
    ("graph_write", "task_path"): _graph_name,
    ("graph_write", "place"): _between(-_MOST_SPECIAL_PLACES, limits.MAX_GRAPH_WRITES),
    ("store_entry", "namespace"): _namespace,
    ("store_entry", "key"): _kept(limits.MAX_ENTRY_KEY_CHARS),
    ("store_entry", "value"): _entry_value,
    ("store_entry", "item_id"): _between(1, limits.MAX_ID),
}


def checked_row(
    kind: str, columns: Mapping[str, sa.Column[Any]], row: Mapping[str, Any]
) -> dict[str, Any]:
    """One row for the store, with every value and their consistency checked.

    ``columns`` are by their names in the file.

    Raises:
        InvalidValue, UnknownField: names the field.
    """
    checks.known_fields(f"{kind} field", row, columns)
    checked = {column.name: _value(kind, name, column, row) for name, column in columns.items()}
    if kind == "proposal":
        _check_proposal(checked)
    check_state_row(kind, checked)
    return checked


def _check_proposal(row: Mapping[str, Any]) -> None:
    """An open proposal has a draft; a decided one has its decision instead."""
    is_open = row["state"] == ProposalState.OPEN.value
    for name in ("draft", "quote"):
        _present_where(name, row, "the proposal is open", wanted=is_open)
    for name in ("decided_at", "decided_by"):
        _present_where(name, row, "the proposal is decided", wanted=not is_open)
    is_approved = row["state"] == ProposalState.APPROVED.value
    _present_where("item_id", row, "the proposal is approved", wanted=is_approved)
    if is_open and row["content_hash"] != content_hash(row["draft"]["content"]):
        raise InvalidValue("content_hash", "is not that of the draft's content")


def _present_where(name: str, row: Mapping[str, Any], where: str, *, wanted: bool) -> None:
    if wanted and row[name] is None:
        raise InvalidValue(name, f"must not be null where {where}")
    if not wanted and row[name] is not None:
        raise InvalidValue(name, f"must be null unless {where}")


def _value(kind: str, name: str, column: sa.Column[Any], row: Mapping[str, Any]) -> Any:
    if name not in row:
        if (kind, name) in _ADDED_LATER:
            return None
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
    if isinstance(column.type, sa.LargeBinary):
        return packed_bytes(name, value)
    if isinstance(column.type, sa.Float):
        return minutes(name, value)
    return checks.reference(name, value)


def _one_of(allowed: type[StrEnum]) -> Check:
    return lambda name, value: checks.choice(name, value, allowed).value


def _only(*allowed: StrEnum) -> Check:
    def check(name: str, value: Any) -> str:
        if value not in allowed:
            raise InvalidValue(name, f"{value!r:.60} is not one of: {', '.join(allowed)}")
        return str(value)

    return check


def _text(maximum: int) -> Check:
    return lambda name, value: checks.text(name, value, maximum)


def _words(maximum: int) -> Check:
    """A text that is kept unchanged, with surrounding space."""

    def check(name: str, value: Any) -> str:
        checks.text(name, value, maximum)
        if len(value) > maximum:
            raise InvalidValue(name, f"{len(value)} characters; allowed: at most {maximum}")
        return str(value)

    return check


def _meta(name: str, value: Any) -> dict[str, Any]:
    """Notes on a change; those that an undo, restore or import uses are checked."""
    meta = checks.json_object(name, value, limits.MAX_META_BYTES)
    if TAKEN_UP in meta:  # an undo restores this
        former_values(checks.json_object(TAKEN_UP, meta[TAKEN_UP], limits.MAX_META_BYTES))
    for item_id in checks.entries(MERGED_IDS, meta.get(MERGED_IDS, []), limits.MAX_MERGED_ITEMS):
        checks.memory_id(item_id)
    if WENT_WITH in meta:
        checks.memory_id(meta[WENT_WITH])
    if UNDONE_REVISION in meta:
        checks.integer(UNDONE_REVISION, meta[UNDONE_REVISION], 1, limits.MAX_ID)
    if PROPOSAL in meta:
        checks.integer(PROPOSAL, meta[PROPOSAL], 1, limits.MAX_ID)
    return meta


def _former(name: str, value: Any) -> dict[str, Any]:
    """The values before a change; checked, because an undo would write them back."""
    kept = checks.json_object(name, value, limits.MAX_BEFORE_BYTES)
    former_values(kept)
    return kept


def _draft(name: str, value: Any) -> dict[str, Any]:
    """The draft of a proposal; checked, because an approval writes it."""
    given = checks.json_object(name, value, limits.MAX_BEFORE_BYTES)
    checks.known_fields("draft field", given, FIELD_NAMES)
    if given.get("valid_from") is None:
        raise InvalidValue("valid_from", "is missing: a draft says when it was said")
    draft = NewMemory.parse(given)
    return {field: plain(getattr(draft, field)) for field in given}


def _hash(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise InvalidValue(name, "expected 32 hexadecimal digits")
    return value


def _field_names(name: str, value: Any) -> list[str]:
    named = checks.entries(name, value, limits.MAX_FILTER_VALUES)
    return [checks.reference(name, entry) for entry in named]


def _turn_ids(name: str, value: Any) -> list[int]:
    listed = checks.json_list(name, value, limits.MAX_IMPORT_LINE_BYTES)
    ids = [checks.integer(name, entry, 1, limits.MAX_ID) for entry in listed]
    if len(ids) != len(set(ids)):
        raise InvalidValue(name, "names a turn twice")
    return ids


_SPECIAL: Final[dict[tuple[str, str], Check]] = {
    **SPECIAL,
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
    ("item", "ratings"): lambda name, value: plain(parse_ratings(name, value)),
    ("user", "user_id"): lambda _, value: checked_owner(checks.reference("user_id", value)),
    ("group", "title"): _text(limits.MAX_GROUP_TITLE_CHARS),
    ("group_member", "user_id"): lambda _, value: checks.user_id(value),
    ("group_member", "role"): _one_of(GroupRole),
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
    ("turn", "observed_by"): lambda _, value: Observer.parse(value).to_dict(),
    ("proposal", "id"): _between(1, limits.MAX_ID),
    ("proposal", "proposal_kind"): _only(*SAID_KINDS),
    ("proposal", "state"): _one_of(ProposalState),
    ("proposal", "fields"): _field_names,
    ("proposal", "content_hash"): _hash,
    ("proposal", "draft"): _draft,
    ("proposal", "quote"): _words(limits.MAX_QUOTE_CHARS),
    ("proposal", "signals"): _turn_ids,
    ("proposal", "item_id"): _between(1, limits.MAX_ID),
    ("refused_link", "item_id"): _between(1, limits.MAX_ID),
    ("refused_link", "state"): _only(ProposalState.REJECTED),
    ("summary", "content"): _words(limits.MAX_SUMMARY_CHARS),
}

# Each line has a ``kind``. The first is ``ricordo`` with the format's version; then, per user, one
# ``user`` line and the lines of the kinds below in this order; the last is ``end`` with the number
# of rows. Older files lack some kinds. Bytes are in base64. Derived values (hashes, folded text)
# are left out and recomputed. ``jobs``, ``events`` and ``tallies`` belong to one store and are not
# exported. Links are with the owner of the memory; rejected links and blocked senders with the user
# who rejected or blocked. Members are with their group, whose user is its space. Open offers are
# left out: they can be offered again.

TABLE_OF_KIND: Final[dict[str, sa.Table]] = {
    "user": users,
    "group": groups,
    "group_member": group_members,
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
"""In an order in which they can be inserted."""

_WHOSE: Final = {"link": "owner_id", "group_member": "space_id"}
"""The column that names to whom a row belongs, where it is not ``user_id``."""

Row = dict[str, Any]


def exported_columns(table: sa.Table) -> dict[str, sa.Column[Any]]:
    """The exported columns of a table, by their names in the file."""
    derived = _DERIVED.get(table, frozenset())
    return {
        _RENAMED.get(column, column.name): column
        for column in table.columns
        if column.name not in derived
    }


def line_of(kind: str, row: Mapping[Any, Any]) -> str:
    shown = {
        str(name): (
            base64_text(bytes(value)) if isinstance(value, bytes | memoryview) else plain(value)
        )
        for name, value in row.items()
    }
    return json.dumps({"kind": kind, **shown}, ensure_ascii=False)


def end_line(rows: int) -> str:
    """The last line of an export, by which a truncated file is noticed."""
    return json.dumps({"kind": END_KIND, "rows": rows})


def header_line() -> str:
    return json.dumps({"kind": FORMAT_NAME, "version": FORMAT_VERSION})


class DraftRow(NamedTuple):
    """A checked row of a file, for a draft. ``size`` is that of its text.

    Files of other systems may have a conversation more than once: each is a ``part``.
    """

    user_id: str
    kind: str
    values: Row
    size: int
    part: int = 0


def read_rows(path: Path) -> Iterator[DraftRow]:
    """The rows of an export, user by user, every value checked. Raises ImportFailed."""
    seen: set[str] = set()
    user_id = None
    number = rows = size = 0
    ended = False
    for number, line in _numbered_lines(path):
        row = _parsed(path, number, line)
        kind = row.pop("kind", None)
        if number == 1:
            _check_header(path, kind, row)
            continue
        where = f"{path}, line {number}"
        if ended:
            raise ImportFailed(f"{where}: follows the line that ends the export")
        if kind == END_KIND:
            if row.get("rows") != number - 2:
                found = f"{number - 2} rows, but {row.get('rows')!r} were exported"
                raise ImportFailed(f"{where}: {found}")
            ended = True
            continue
        if not isinstance(kind, str) or kind not in TABLE_OF_KIND:
            raise ImportFailed(f"{where}: kind {kind!r}; allowed: {', '.join(TABLE_OF_KIND)}")
        try:
            checked = checked_row(kind, exported_columns(TABLE_OF_KIND[kind]), row)
        except InvalidInput as problem:
            raise ImportFailed(f"{where}: {problem}") from None
        if kind == "user":
            user_id, rows, size = checked["user_id"], 0, 0
            if user_id in seen:
                raise ImportFailed(f"{where}: user appears twice")
            seen.add(user_id)
        owner = checked[_WHOSE.get(kind, "user_id")]
        if user_id is None or owner != user_id:
            raise ImportFailed(f"{where}: belongs to no user line before it")
        rows, size = rows + 1, size + len(line)
        if rows > limits.MAX_IMPORTED_ROWS or size > limits.MAX_IMPORTED_ROWS_BYTES:
            most = f"{limits.MAX_IMPORTED_ROWS} rows or {limits.MAX_IMPORTED_ROWS_BYTES} bytes"
            raise ImportFailed(f"{where}: more than {most} of one user; a backup brings them")
        yield DraftRow(user_id, kind, checked, len(line))
    if not ended:
        raise ImportFailed(f"{path}: ends after line {number}, before the end of the export")


def is_export(path: Path) -> bool:
    """Whether a file begins like a ricordo export."""
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
