"""Fork safety: a child process replaces its threads, locks and sockets."""

import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

Made = TypeVar("Made")


class Resettable(Protocol):
    def reset_after_fork(self) -> Any:
        """Replace them, and return the old ones so that they are kept alive unused."""
        ...


class Pausable(Protocol):
    def pause_for_fork(self) -> None:
        """Wait for work in progress, up to a limit, and start none."""
        ...

    def resume_after_fork(self) -> None:
        """Resume in the parent; a child resets."""
        ...


_alive: "weakref.WeakSet[Resettable]" = weakref.WeakSet()
_pausable: "weakref.WeakSet[Pausable]" = weakref.WeakSet()
_inherited: list[Any] = []  # never closed: closing would disturb the parent


def reset_in_child(resource: Resettable) -> None:
    """Call ``reset_after_fork`` in every child process."""
    _alive.add(resource)


class OnePerProcess(Generic[Made]):
    """Made when it is first needed; a child process makes its own."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._one: Made | None = None
        self._lock = threading.Lock()
        reset_in_child(self)

    def reset_after_fork(self) -> Any:
        """Its threads are gone in a child."""
        inherited = (self._lock, self._one)
        self._lock, self._one = threading.Lock(), None
        return inherited

    def get(self) -> Made:
        if self._one is None:
            with self._lock:
                if self._one is None:
                    self._one = self._make()
        return self._one


def pause_at_fork(resource: Pausable) -> None:
    """Pause the resource around every fork of this process."""
    _pausable.add(resource)


def _pause_all() -> None:
    for resource in list(_pausable):
        resource.pause_for_fork()


def _resume_all() -> None:
    for resource in list(_pausable):
        resource.resume_after_fork()


def _reset_all() -> None:
    _inherited.extend([resource.reset_after_fork() for resource in list(_alive)])
    # Never collected, not even at exit: a model would wait for threads that only the parent has.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_inherited))


if hasattr(os, "register_at_fork"):  # systems without fork have nothing to reset
    os.register_at_fork(before=_pause_all, after_in_parent=_resume_all, after_in_child=_reset_all)
