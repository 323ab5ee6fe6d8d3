"""Copying a file as a whole while others use it, and replacing all that one holds at once."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_PATIENCE_SECONDS: Final = 2.0  # for a program that is just about to end
_RETRY_SECONDS: Final = 0.02


def write_copy(driver: Any, path: Path) -> None:
    """Write all that the file holds at one moment to another one, which is there and empty.

    Readers and writers go on. What is encrypted is so in the copy, with the same key.
    """
    driver.execute("VACUUM INTO ?", (str(path),))


def shut_others_out(driver: Any, is_busy: Callable[[Exception], bool]) -> bool:
    """Let no other connection use the file for as long as this one is open; False where somebody
    has it open.

    Without its log a file can be used by one connection at a time. It is refused to give the log up
    as long as any other, of whichever program, has the file open, even one that does nothing.
    """
    driver.execute("PRAGMA locking_mode = EXCLUSIVE")  # a lock that was taken stays
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            driver.execute("PRAGMA journal_mode = DELETE")
            driver.execute("BEGIN EXCLUSIVE")
            driver.execute("COMMIT")
            return True
        except Exception as error:
            if not is_busy(error):
                raise
            if time.monotonic() > deadline:
                return False
        time.sleep(_RETRY_SECONDS)


def take_over(driver: Any, source: Any) -> None:
    """Replace all that the file holds by what another one does, in one transaction.

    Only for who has it alone. The old contents are whole until the new ones are.
    """
    source.backup(driver)
