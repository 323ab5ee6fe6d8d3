"""Whose memory an adapter works with: what it is given is checked where it is given, everywhere
with the same sentence."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from ricordo.aio import AsyncMemory, AsyncUserMemory, in_pool
from ricordo.errors import InvalidValue
from ricordo.memory import Memory
from ricordo.user_memory import UserMemory

AnyMemory = Memory | AsyncMemory
"""A whole store, of all users."""

AnyUserMemory = UserMemory | AsyncUserMemory
"""One user's memory."""

C = TypeVar("C")
T = TypeVar("T")

_OPEN: Final = "memory = ricordo.open(…)"
_OPEN_ANY: Final = f"{_OPEN} or ricordo.open_async(…)"


def _wrong(field: str, wanted: str, opened: str, given: object) -> InvalidValue:
    return InvalidValue(
        field, f"expected {wanted} with {opened}, got an object of type {type(given).__name__}"
    )


def one_user(given: object, field: str = "user", *, or_function: bool = False) -> UserMemory:
    """One user's memory, for an adapter that is called in threads. Raises InvalidValue: it is
    anything else."""
    if isinstance(given, UserMemory):
        return given
    raise _wrong(field, _one_user(or_function), _OPEN, given)


def any_user(given: object, field: str = "user", *, or_function: bool = False) -> AnyUserMemory:
    """One user's memory, for an adapter that is called by an event loop. Raises InvalidValue: it is
    anything else."""
    if isinstance(given, UserMemory | AsyncUserMemory):
        return given
    raise _wrong(field, _one_user(or_function), _OPEN_ANY, given)


def _one_user(or_function: bool) -> str:
    function = " (or a function that returns it)" if or_function else ""
    return f"the memory of one user, memory.user('ana'){function}"


def one_user_or_store(given: object) -> UserMemory | Memory:
    """One user's memory, or a store of all. Raises InvalidValue: it is anything else."""
    if isinstance(given, UserMemory | Memory):
        return given
    raise _wrong("who", f"{_one_user(False)} or a whole store", _OPEN, given)


def whole_store(given: object) -> Memory:
    """A store of all users, for an adapter that is called in threads. Raises InvalidValue: it is
    anything else."""
    if isinstance(given, Memory):
        return given
    raise _wrong("memory", "a whole store", _OPEN, given)


def any_store(given: object) -> AnyMemory:
    """A store of all users, for an adapter that is called by an event loop. Raises InvalidValue: it
    is anything else."""
    if isinstance(given, Memory | AsyncMemory):
        return given
    raise _wrong("memory", "a whole store", _OPEN_ANY, given)


def chooser(who: UserMemory | Callable[[C], UserMemory], field: str) -> Callable[[C], UserMemory]:
    """A function that returns the user of a call, from one or from a fixed user. Raises
    InvalidValue: it is neither; and when called, if what is returned is no user's memory."""
    if callable(who):
        return lambda asked: one_user(who(asked), field)
    user = one_user(who, field, or_function=True)
    return lambda _asked: user


async def in_thread(user: AnyUserMemory, work: Callable[[UserMemory], T]) -> T:
    """Do some work for a user without holding up the event loop."""
    if isinstance(user, AsyncUserMemory):
        return await in_pool(user, work)
    return await asyncio.to_thread(work, user)
