"""Which files this process has open, and with which driver.

A process loses all its locks on a file when it closes any descriptor of it. Each driver brings a
SQLite of its own that knows of this and takes care; two of them know nothing of each other.
"""

import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo.errors import DatabaseKeyMismatch

if TYPE_CHECKING:
    from ricordo.storage.sqlite.backend import SqliteBackend
    from ricordo.storage.sqlite.connecting import ConnectionPlan

_open: Final["weakref.WeakSet[SqliteBackend]"] = weakref.WeakSet()


def note_open(backend: "SqliteBackend") -> None:
    """Remember a backend for as long as it lives."""
    _open.add(backend)


def is_open_here(path: Path) -> bool:
    """True where this process has the file open."""
    return any(_same(one.path, path) for one in list(_open) if not one.is_closed)


def refuse_two_drivers(plan: "ConnectionPlan") -> None:
    """See to it that a file is open with one driver alone.

    Raises:
        DatabaseKeyMismatch: this process has it open with a key, and this is without, or reversed.
    """
    for one in list(_open):
        differs = one.is_encrypted != (plan.key is not None)
        if differs and not one.is_closed and _same(one.path, plan.path):
            here = "with a key" if one.is_encrypted else "without a key"
            raise DatabaseKeyMismatch(f"{plan.path}: this process has it open {here}")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
