"""States that programs save per conversation, as JSON text."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ricordo.errors import CheckpointNotFound, Conflict, InvalidValue
from ricordo.limits import MAX_JSON_DEPTH, MAX_ROW_NAME_BYTES
from ricordo.model.thread import Checkpoint
from ricordo.storage.checkpoints import (
    CheckpointPosition,
    delete_state,
    find_position,
    find_state,
    put_state,
)
from ricordo.storage.database import ReadTransaction, WriteTransaction

# Text preserves the order of keys and every digit of numbers, unlike JSON columns.

_NESTING: Final = (dict, list)
_ALLOWED: Final = "allowed: objects with text keys, lists, texts, numbers, true, false, null"


class JsonText(NamedTuple):
    """A JSON value as text, and as it will be read back."""

    text: str
    value: Any


def json_text(field: str, value: object, maximum_bytes: int) -> JsonText:
    """A value as JSON text. Tuples become lists; everything else is read back unchanged. Raises
    InvalidValue: not JSON (NaN, infinity, keys that are not text, other types, lone surrogates),
    nested too deeply, or too large."""
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise _too_deep(field) from None
    except (TypeError, ValueError) as problem:
        raise InvalidValue(field, f"is not JSON: {problem}; {_ALLOWED}") from None
    _check_size(field, encoded, maximum_bytes)
    read = read_json(field, encoded)
    _check_depth(field, read)
    if read != value:
        _check_keys(field, value)
    return JsonText(encoded, read)


def checked_json_text(field: str, text: object, maximum_bytes: int) -> str:
    """Validate an outside JSON text that is stored as it is. Raises InvalidValue: not text, not
    JSON, nested too deeply, or too large."""
    if not isinstance(text, str):
        raise InvalidValue(field, f"expected JSON as text, got {type(text).__name__}")
    _check_size(field, text, maximum_bytes)
    json_text(field, read_json(field, text), maximum_bytes)
    if "\x00" in text:
        raise InvalidValue(field, "must not contain NUL characters that are not escaped")
    return text


def read_json(field: str, text: str) -> Any:
    """Parse a stored JSON text. Raises InvalidValue: not JSON, or nested so deeply that it cannot
    be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise _too_deep(field) from None
    except ValueError as problem:
        raise InvalidValue(field, f"is not JSON: {problem}") from None


def _check_size(field: str, encoded: str, maximum_bytes: int) -> None:
    size = _size(field, encoded)
    if size > maximum_bytes:
        raise InvalidValue(field, f"{size} bytes as JSON; allowed: at most {maximum_bytes}")


def _check_depth(field: str, value: Any) -> None:
    """Limit the nesting, so that reading cannot overflow the stack."""
    level = [value] if type(value) in _NESTING else []
    for _ in range(MAX_JSON_DEPTH):
        if not level:
            return
        level = [
            part
            for whole in level
            for part in (whole.values() if type(whole) is dict else whole)
            if type(part) in _NESTING
        ]
    if level:
        raise _too_deep(field)


def _check_keys(field: str, value: object) -> None:
    """Refuse keys that are not text: they would be read back as text."""
    waiting = [value]
    while waiting:
        present = waiting.pop()
        if isinstance(present, Mapping):
            for key, part in present.items():
                if not isinstance(key, str):
                    shown = repr(key)[:60]
                    raise InvalidValue(field, f"is not JSON: key {shown} is not text; {_ALLOWED}")
                waiting.append(part)
        elif isinstance(present, Sequence) and not isinstance(present, str):
            waiting.extend(present)


def _too_deep(field: str) -> InvalidValue:
    return InvalidValue(field, f"is nested more than {MAX_JSON_DEPTH} deep")


def name_part(field: str, value: object, maximum: int) -> str:
    """One part of a row's key, kept exactly; it may be empty. Raises InvalidValue: not text, too
    long, or with characters that cannot be stored."""
    if not isinstance(value, str):
        raise InvalidValue(field, f"expected text, got {type(value).__name__}")
    if len(value) > maximum:
        raise InvalidValue(field, f"{len(value)} characters; allowed: at most {maximum}")
    if "\x00" in value:
        raise InvalidValue(field, "must not contain NUL characters")
    _size(field, value)
    return value


def check_together(field: str, *parts: str) -> None:
    """Refuse a name that is too long in total. Raises InvalidValue: says how long it is."""
    size = sum(_size(field, part) for part in parts)
    if size > MAX_ROW_NAME_BYTES:
        raise InvalidValue(
            field,
            f"{size} bytes with all that belongs to the name; allowed: at most"
            f" {MAX_ROW_NAME_BYTES}",
        )


def _size(field: str, text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidValue(field, "is not valid Unicode (lone surrogates)") from None


def save(
    writing: WriteTransaction, thread_id: str, state: JsonText, expected: int | None
) -> Checkpoint:
    """Replace the saved state. Raises Conflict: another version is there than the expected one."""
    present = find_position(writing.connection, writing.user_id, thread_id)
    _check_expected(thread_id, present, expected)
    saved = put_state(writing, thread_id, state.text, present, writing.now)
    return Checkpoint(
        thread_id=thread_id,
        version=saved.version,
        state=state.value,
        created_at=saved.created_at,
        updated_at=writing.now,
    )


def load(view: ReadTransaction, user_id: str, thread_id: str) -> Checkpoint:
    """The state saved last. Raises CheckpointNotFound: nothing is saved for this conversation."""
    found = find_state(view.connection, user_id, thread_id)
    if found is None:
        raise CheckpointNotFound(thread_id)
    return Checkpoint(
        thread_id=thread_id,
        version=found.version,
        state=read_json("state", found.state),
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def delete(writing: WriteTransaction, thread_id: str, expected: int | None) -> bool:
    """Delete the saved state; False where there was none. Raises Conflict: another version is there
    than the expected one."""
    if expected is not None:
        present = find_position(writing.connection, writing.user_id, thread_id)
        _check_expected(thread_id, present, expected)
    return delete_state(writing, thread_id)


def _check_expected(
    thread_id: str, present: CheckpointPosition | None, expected: int | None
) -> None:
    there = 0 if present is None else present.version
    if expected is None or expected == there:
        return
    saved = "has none" if present is None else f"is at version {there}"
    wanted = "no checkpoint was expected" if expected == 0 else f"version {expected} was expected"
    raise Conflict(f"thread {thread_id!r} {saved}; {wanted}: load it and try again")
