"""A log record as one line, for machines or for people.

Whatever a message holds, it cannot begin a second line. Of an exception only its kind and where it
came from are written: its message may quote what somebody said.
"""

import json
import logging
import math
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Final

from ricordo.formation.decisions import FIELDS
from ricordo.observing.current import request_id

OURS: Final = "ricordo"
TOLD_BEFORE: Final = "_ricordo_told"
"""The attribute of an exception that a line was written about."""

_MAX_MESSAGE_CHARS: Final = 10_000
_MAX_FRAMES: Final = 50
_MAX_CAUSES: Final = 5
_EVENT: Final = "event"


def is_ours(logger: str) -> bool:
    """Whether a logger belongs to ricordo, whose lines are known to hold nothing private."""
    return logger == OURS or logger.startswith(f"{OURS}.")


class JsonLines(logging.Formatter):
    """One JSON object on one line, in plain ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        fields = _fields(record)
        line: dict[str, object] = {
            "time": moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            # A line with an event needs no text: the values are all there.
            "message": fields.get(_EVENT) or message(record),
            "request_id": request_id(),
        }
        line |= {name: value for name, value in fields.items() if name not in line}
        line |= _trouble(record)
        shown = {name: _plain(value) for name, value in line.items() if value is not None}
        return json.dumps(shown, allow_nan=False)


class TextLines(logging.Formatter):
    """For people: the moment, the level, who says it, what; the frames of an error below."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        head = [moment(record.created), record.levelname, record.name]
        if (request := request_id()) is not None:
            head.append(f"[{request}]")
        fields = {} if _EVENT in _fields(record) else _fields(record)
        told = [f"{name}={value}" for name, value in fields.items() if value is not None]
        line = _escaped(" ".join([*head, message(record), *told]))
        trouble = _trouble(record)
        if not trouble:
            return line
        frames = trouble.pop("frames")
        assert isinstance(frames, list)
        about = " ".join(f"{name}={value}" for name, value in trouble.items())
        return "\n".join([f"{line} {_escaped(about)}", *(f"    {_escaped(at)}" for at in frames)])


def message(record: logging.LogRecord) -> str:
    """What a record says. Of others' records the first line: some put an exception below it."""
    try:
        told = record.getMessage()
    except Exception:  # noqa: BLE001 - whatever is wrong with its values, they must not be shown
        told = f"{record.msg!s} (its values do not fit)"
    if not is_ours(record.name):
        told = (told.splitlines() or [""])[0]
    return told[:_MAX_MESSAGE_CHARS]


def moment(created: float) -> str:
    """A moment in UTC, to the millisecond."""
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    found = getattr(record, FIELDS, None)
    return found if isinstance(found, dict) and is_ours(record.name) else {}


def _trouble(record: logging.LogRecord) -> dict[str, object]:
    """The kind of an exception and where it came from, nothing of what it says."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if error is None:
        return {}
    kinds = [_kind(one) for one in _chain(error)]
    told: dict[str, object] = {"error": kinds[0]}
    if kinds[1:]:
        told["caused_by"] = ", ".join(kinds[1:])
    return {**told, "frames": _frames(error.__traceback__)}


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(1 + _MAX_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _kind(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _frames(trace: TracebackType | None) -> list[str]:
    """Module, line and function of each call, the last of them where there are too many."""
    found = [
        f"{frame.f_globals.get('__name__', '?')}:{number}:{frame.f_code.co_name}"
        for frame, number in traceback.walk_tb(trace)
    ]
    return found[-_MAX_FRAMES:]


def _plain(value: object) -> object:
    """A value as JSON can carry it; of a kind that it does not know, only the kind."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return type(value).__name__


def _escaped(text: str) -> str:
    """A text that stays on its line and does nothing to a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
