"""Log lines as JSON or text, and the request that they belong to."""

import contextlib
import json
import logging
import math
import re
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

from ricordo.formation.decisions import FIELDS
from ricordo.limits import MAX_REQUEST_ID_CHARS

_ALLOWED: Final = re.compile(rf"[A-Za-z0-9._-]{{1,{MAX_REQUEST_ID_CHARS}}}")
OURS: Final = "ricordo"
ALREADY_LOGGED: Final = "_ricordo_logged"
"""The attribute of an exception that was logged already."""
_MAX_MESSAGE_CHARS: Final = 10_000
_MAX_FRAMES: Final = 50
_MAX_CAUSES: Final = 5
_EVENT: Final = "event"
_SERVER: Final = "uvicorn"
_SERVER_LOGGERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_NEVER: Final = ("uvicorn.access", "uvicorn.asgi")  # they log whole paths; we have our own line


@dataclass(slots=True)
class CurrentRequest:
    """The request of this context. ``key_id`` is set by authentication, ``error`` by an error
    response."""

    id: str
    key_id: str | None = None
    error: Exception | None = None


current_request: Final[ContextVar[CurrentRequest | None]] = ContextVar(
    "ricordo_request", default=None
)


def new_request_id(given: str | None) -> str:
    """The client's own id where it is safe in a log and a header, else a new one."""
    if given is not None and _ALLOWED.fullmatch(given):
        return given
    return secrets.token_hex(16)


def request_id() -> str | None:
    request = current_request.get()
    return None if request is None else request.id


def note_key(key_id: str) -> None:
    """Note the key of the current request, for its log line and span."""
    request = current_request.get()
    if request is not None:
        request.key_id = key_id


def note_error(error: Exception) -> None:
    """Note the error that the current request is answered with, for its log line."""
    request = current_request.get()
    if request is not None:
        request.error = error


def is_ours(logger: str) -> bool:
    """Whether a logger belongs to ricordo, whose messages contain nothing private."""
    return logger == OURS or logger.startswith(f"{OURS}.")


class JsonLines(logging.Formatter):
    """One JSON object per line, in ASCII.

    No message can begin a second line. Of an exception only its type and traceback are logged: its
    message may quote what somebody said.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        line: dict[str, object] = {
            "time": moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            # A line with an event needs no text: the fields have all values.
            "message": fields.get(_EVENT) or message(record),
            "request_id": request_id(),
        }
        line |= {name: value for name, value in fields.items() if name not in line}
        line |= _exception_fields(record)
        shown = {name: _plain(value) for name, value in line.items() if value is not None}
        return json.dumps(shown, allow_nan=False)


class TextLines(logging.Formatter):
    """For people: time, level, logger and message, with the traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        head = [moment(record.created), record.levelname, record.name]
        if (request := request_id()) is not None:
            head.append(f"[{request}]")
        fields = {} if _EVENT in _fields(record) else _fields(record)
        values = [f"{name}={value}" for name, value in fields.items() if value is not None]
        line = _escaped(" ".join([*head, message(record), *values]))
        error = _exception_fields(record)
        if not error:
            return line
        frames = error.pop("frames")
        assert isinstance(frames, list)
        about = " ".join(f"{name}={value}" for name, value in error.items())
        return "\n".join([f"{line} {_escaped(about)}", *(f"    {_escaped(at)}" for at in frames)])


def message(record: logging.LogRecord) -> str:
    """The message of a record; only the first line of other libraries', which may append an
    exception."""
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001 - its values must not be shown, whatever is wrong with them
        text = f"{record.msg!s} (its values do not fit)"
    if not is_ours(record.name):
        text = (text.splitlines() or [""])[0]
    return text[:_MAX_MESSAGE_CHARS]


def moment(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    found = getattr(record, FIELDS, None)
    return found if isinstance(found, dict) and is_ours(record.name) else {}


def _error_of(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if isinstance(record.exc_info, tuple) else None


def _exception_fields(record: logging.LogRecord) -> dict[str, object]:
    """The type of an exception and its innermost calls, not its message."""
    error = _error_of(record)
    if error is None:
        return {}
    kinds = [_kind(one) for one in _chain(error)]
    found: dict[str, object] = {"error": kinds[0]}
    if kinds[1:]:
        found["caused_by"] = ", ".join(kinds[1:])
    frames = [
        f"{frame.f_globals.get('__name__', '?')}:{number}:{frame.f_code.co_name}"
        for frame, number in traceback.walk_tb(error.__traceback__)
    ]
    return {**found, "frames": frames[-_MAX_FRAMES:]}


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(1 + _MAX_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _kind(error: BaseException) -> str:
    kind = type(error)
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"


def _plain(value: object) -> object:
    """A value as JSON; of unknown types, only their name."""
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
    """A text that stays on one line and cannot control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


LogFormat = Literal["json", "text"]

_log = logging.getLogger(f"{OURS}.threads")


class _PrivacyFilter(logging.Filter):
    """Keeps out what may be private.

    Libraries log details of what they send and receive at lower levels, so only their warnings and
    errors pass.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if is_ours(record.name):
            return True
        if record.name.startswith(_NEVER):
            return False
        if getattr(_error_of(record), ALREADY_LOGGED, False):
            return False
        is_server = record.name == _SERVER or record.name.startswith(f"{_SERVER}.")
        return record.levelno >= (logging.INFO if is_server else logging.WARNING)


class _Handler(logging.StreamHandler[TextIO]):
    """Drops lines that cannot be written: Python would print their values instead."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("a line of the log could not be written\n")


def configure_logging(
    log_format: LogFormat = "json", stream: TextIO | None = None, level: int = logging.INFO
) -> Callable[[], None]:
    """Log everything in this process in one format, to stderr by default.

    This replaces all handlers, those of the web server included, and also logs errors that end a
    thread. Returns a function that restores the former state.
    """
    handler = _Handler(stream)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    handler.addFilter(_PrivacyFilter())
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in _SERVER_LOGGERS)]
    before = [(one, one.handlers[:], one.propagate, one.level) for one in loggers]
    thread_hook = threading.excepthook

    def undo() -> None:
        for one, handlers, propagate, former_level in before:
            one.handlers[:] = handlers
            one.propagate = propagate
            one.setLevel(former_level)
        threading.excepthook = thread_hook

    root, *servers = loggers
    root.handlers[:] = [handler]
    root.setLevel(level)
    for one in servers:
        one.handlers.clear()
        one.propagate = True
        one.setLevel(logging.NOTSET)
    threading.excepthook = _log_thread_error
    return undo


def _log_thread_error(ended: threading.ExceptHookArgs) -> None:
    name = "a thread" if ended.thread is None else f"thread {ended.thread.name}"
    if ended.exc_value is not None:
        trace = (ended.exc_type, ended.exc_value, ended.exc_traceback)
        _log.error("%s ended by an error", name, exc_info=trace)
