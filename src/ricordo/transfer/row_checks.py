"""What the fields of an exported row may hold: a check returns the value or says what is wrong."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.formation.proposals import PROPOSAL
from ricordo.memories.lifecycle import WENT_WITH
from ricordo.memories.replacement import MERGED_IDS, TAKEN_UP
from ricordo.model import checks
from ricordo.model.checks import parse_moment
from ricordo.model.draft import FIELD_NAMES, NewMemory
from ricordo.model.item import former_values
from ricordo.model.record import plain
from ricordo.model.thread import Observer
from ricordo.model.vocabulary import (
    SAID_KINDS,
    ContextPolicy,
    Event,
    MemoryType,
    ProposalState,
    Source,
    Status,
)
from ricordo.storage.columns import Moment
from ricordo.storage.history import UNDONE_REVISION
from ricordo.text.normalise import content_hash
from ricordo.transfer.state_checks import SPECIAL, check_state_row, minutes, packed_bytes

_MAX_SMALL: Final = 2**31 - 1
_HASH: Final = re.compile(r"[0-9a-f]{32}")

Check = Callable[[str, Any], Any]


_ADDED_LATER: Final = frozenset({("turn", "observed_by")})
"""What exports of earlier releases do not have."""


def checked_row(
    kind: str, columns: Mapping[str, sa.Column[Any]], row: Mapping[str, Any]
) -> dict[str, Any]:
    """One row as the store has it, with every value checked, and how they fit together.

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
    """What a proposal says stands in it as long as it is open; how it was decided, from then on."""
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
    """Some words of a vocabulary."""

    def check(name: str, value: Any) -> str:
        if value not in allowed:
            raise InvalidValue(name, f"{value!r:.60} is not one of: {', '.join(allowed)}")
        return str(value)

    return check


def _text(maximum: int) -> Check:
    return lambda name, value: checks.text(name, value, maximum)


def _words(maximum: int) -> Check:
    """A text that is kept as it is, with the space around it."""

    def check(name: str, value: Any) -> str:
        checks.text(name, value, maximum)
        if len(value) > maximum:
            raise InvalidValue(name, f"{len(value)} characters; allowed: at most {maximum}")
        return str(value)

    return check


def _between(low: int, high: int) -> Check:
    return lambda name, value: checks.integer(name, value, low, high)


def _meta(name: str, value: Any) -> dict[str, Any]:
    """Notes on a change; those that an undo, a restore or an import acts on are checked."""
    meta = checks.json_object(name, value, limits.MAX_META_BYTES)
    if TAKEN_UP in meta:  # an undo gives this back
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
    """What a change replaced; checked, because an undo would write it back."""
    kept = checks.json_object(name, value, limits.MAX_BEFORE_BYTES)
    former_values(kept)
    return kept


def _draft(name: str, value: Any) -> dict[str, Any]:
    """What a proposal would become; checked, because an approval writes it."""
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
