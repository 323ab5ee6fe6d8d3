"""Having something happen just before the nth command that a thread gives to PostgreSQL."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_COMMANDS = frozenset({"execute", "executemany", "commit"})
_DRIVER = f"{os.sep}psycopg{os.sep}"


@contextlib.contextmanager
def before_command(number: int, act: Callable[[], object]) -> Iterator[list[str]]:
    """Do something once, just before the nth command of this thread; which commands were given."""
    given: list[str] = []

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or _DRIVER not in code.co_filename or code.co_name not in _COMMANDS:
            return
        given.append(code.co_name)
        if len(given) == number:
            sys.setprofile(None)
            act()
            sys.setprofile(watch)

    sys.setprofile(watch)
    try:
        yield given
    finally:
        sys.setprofile(None)
