"""Forms that may be sent once: what a reload sends again, or a second click, does nothing."""

import secrets
import threading
from collections import OrderedDict
from typing import Final

_BYTES: Final = 16
_LONGEST: Final = 64  # characters; ours have fewer, and a thousand long ones would be kept
_MOST_USED: Final = 1_000


class OneTimeForms:
    """The ids of forms that were sent, those of the last time, in the memory of this process.

    A form without an id of ours counts as sent. That another process does not know of it, or this
    one after a restart, is what the browser's own question before it sends a form again is for.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: OrderedDict[str, None] = OrderedDict()

    @staticmethod
    def new_id() -> str:
        """An id for a form that is about to be shown."""
        return secrets.token_urlsafe(_BYTES)

    def take(self, form_id: str | None) -> bool:
        """Use an id up; False where it was before."""
        if not form_id or len(form_id) > _LONGEST:
            return False
        with self._lock:
            if form_id in self._used:
                return False
            self._used[form_id] = None
            if len(self._used) > _MOST_USED:
                self._used.popitem(last=False)
            return True
