"""Where the log of a service goes, and what does not get there."""

import contextlib
import logging
import sys
import threading
from collections.abc import Callable
from typing import Final, Literal, TextIO

from ricordo.observing.log_lines import OURS, TOLD_BEFORE, JsonLines, TextLines, is_ours

LogFormat = Literal["json", "text"]

_SERVER: Final = "uvicorn"
_SERVER_LOGGERS: Final = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_NEVER: Final = (
    "uvicorn.access",
    "uvicorn.asgi",
)  # they show whole paths, and there is our own line
_log = logging.getLogger(f"{OURS}.threads")


class _Fit(logging.Filter):
    """Lets pass what is known to hold nothing private.

    Libraries tell in detail what they send and receive when they tell little things at all, so that
    of theirs only warnings and errors are written.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if is_ours(record.name):
            return True
        if record.name.startswith(_NEVER):
            return False
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if getattr(error, TOLD_BEFORE, False):
            return False
        is_server = record.name == _SERVER or record.name.startswith(f"{_SERVER}.")
        return record.levelno >= (logging.INFO if is_server else logging.WARNING)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines. One that cannot be written is dropped: what Python would print of it in its
    place has the values in it."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802
        """Say no more than that, where somebody may see it."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write("a line of the log could not be written\n")


def configure_logging(
    log_format: LogFormat = "json", stream: TextIO | None = None, level: int = logging.INFO
) -> Callable[[], None]:
    """Write everything that this process logs as lines of one format, to stderr by default.

    It takes the place of what was set up before, the web server's own handlers included. Errors
    that end a thread are logged, too. Returns what puts everything back.
    """
    handler = _Handler(stream)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    handler.addFilter(_Fit())
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
