"""What the log is told when memory does not work, without a word of what anybody said."""

import logging
import threading

_log = logging.getLogger(__name__)


class Complaints:
    """Tells the log what keeps memory from working: once, and again when that changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: str | None = None

    def note(self, problem: str | None) -> None:
        """Say what is wrong, None for nothing."""
        with self._lock:
            is_news, self._last = problem != self._last, problem
        if is_news and problem is not None:
            _log.warning("chats go on with less memory: %s", problem)
        elif is_news:
            _log.info("chats have memory again")
