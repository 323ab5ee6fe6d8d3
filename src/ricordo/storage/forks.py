"""Database connections do not survive ``fork``: a child process starts with fresh ones."""

import os
import weakref
from typing import Any, Protocol


class Resettable(Protocol):
    """Something with connections or locks of its own."""

    def reset_after_fork(self) -> Any:
        """Replace them, and return the old ones so that they can be kept unused."""
        ...


_open: "weakref.WeakSet[Resettable]" = weakref.WeakSet()
_inherited: list[Any] = []  # never closed: closing would disturb the parent's connections


def reset_in_child(resource: Resettable) -> None:
    """Call the resource's ``reset_after_fork`` in every process forked from this one."""
    _open.add(resource)


def _reset_all() -> None:
    _inherited.extend([resource.reset_after_fork() for resource in list(_open)])


if hasattr(os, "register_at_fork"):  # systems without fork have nothing to reset
    os.register_at_fork(after_in_child=_reset_all)
