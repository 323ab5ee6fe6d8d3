"""Threads, locks and sockets do not survive ``fork``: a child process starts with fresh ones."""

import ctypes
import os
import weakref
from typing import Any, Protocol


class Resettable(Protocol):
    """Something with locks, threads or connections of its own."""

    def reset_after_fork(self) -> Any:
        """Replace them, and return the old ones so that they can be kept unused."""
        ...


class Pausable(Protocol):
    """Something that must not be in the middle of its work when the process is forked."""

    def pause_for_fork(self) -> None:
        """Wait for what goes on right now, within reason, and let nothing begin."""
        ...

    def go_on_after_fork(self) -> None:
        """Work again, in the parent; a child starts afresh."""
        ...


_alive: "weakref.WeakSet[Resettable]" = weakref.WeakSet()
_pausable: "weakref.WeakSet[Pausable]" = weakref.WeakSet()
_inherited: list[Any] = []  # never closed: closing would disturb the parent


def reset_in_child(resource: Resettable) -> None:
    """Call the resource's ``reset_after_fork`` in every process forked from this one."""
    _alive.add(resource)


def pause_at_fork(resource: Pausable) -> None:
    """Let the resource pause around every fork of this process."""
    _pausable.add(resource)


def _pause_all() -> None:
    for resource in list(_pausable):
        resource.pause_for_fork()


def _go_on() -> None:
    for resource in list(_pausable):
        resource.go_on_after_fork()


def _reset_all() -> None:
    _inherited.extend([resource.reset_after_fork() for resource in list(_alive)])
    # Not even when the child ends: a model would then wait for threads that only its parent has.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_inherited))


if hasattr(os, "register_at_fork"):  # systems without fork have nothing to reset
    os.register_at_fork(before=_pause_all, after_in_parent=_go_on, after_in_child=_reset_all)
