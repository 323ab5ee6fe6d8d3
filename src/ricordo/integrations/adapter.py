"""What adapters share: whose memory an agent works with, what it is told, how a run is recorded."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from ricordo import limits
from ricordo.aio import AsyncMemory, AsyncUserMemory, in_pool
from ricordo.errors import InvalidValue, RicordoError, in_log
from ricordo.memory import Memory
from ricordo.model.record import Page
from ricordo.model.thread import NewTurn, Turn
from ricordo.proxy.memory import ChatRecall, FaultLog, storable
from ricordo.proxy.wire import USER
from ricordo.storage.threads import find_thread, page_of_turns
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


_Words = tuple[str, str]

_MODES: Final = "recall,summary"  # as the chat proxy


class Chats:
    """Recall and recording for the agents of one adapter, as by the chat proxy."""

    def __init__(self) -> None:
        self._faults = FaultLog()

    def recall(self, user: UserMemory, message: str, thread: str | None) -> str | None:
        """What a model should know before it answers a message; None where that is nothing."""
        budget = user.parts.prompting.policy.budget_tokens
        recall = ChatRecall(_MODES, budget, self._faults)
        return recall.recall(user, message, thread, ()).text

    def record(self, user: UserMemory, thread: str, turns: Sequence[NewTurn]) -> None:
        """Record what is new in a conversation."""
        try:
            observe(user, thread, turns)
        except RicordoError as error:
            self._faults.note(in_log(error))

    def record_whole(self, user: UserMemory, thread: str, turns: Sequence[NewTurn]) -> None:
        """Record what is new in a conversation that is given from its start, or its end."""
        try:
            observe_new(user, thread, turns, len(turns))
        except RicordoError as error:
            self._faults.note(in_log(error))


def observe(user: UserMemory, thread: str, turns: Sequence[NewTurn]) -> int:
    """Record any number of turns; how many were new. Raises RicordoError: they could not be
    recorded."""
    size = limits.MAX_OBSERVED_TURNS
    parts = (turns[start : start + size] for start in range(0, len(turns), size))
    return sum(user.observe(part, thread=thread).recorded for part in parts)


def observe_new(user: UserMemory, thread: str, turns: Sequence[NewTurn], depth: int) -> int:
    """Record what of a piece of a conversation is not among its latest turns; how many were new.

    Frameworks give the same messages again and again, without ids. Raises RicordoError: they could
    not be recorded.
    """
    # Not user.turns(), which an agent confined to categories may not read; it sees nothing of this.
    user_id = user.scope.user_id
    with user.database.read(user_id) as view:
        found = find_thread(view.connection, user_id, thread)
        first = max(1, found.turn_count - depth + 1) if found is not None else 1
        latest = page_of_turns(view.connection, user_id, thread, depth, None, from_position=first)
    return observe(user, thread, _unrecorded([_words(turn) for turn in latest], turns))


def _unrecorded(latest: Sequence[_Words], turns: Sequence[NewTurn]) -> Sequence[NewTurn]:
    """The turns after those with which the recorded ones end; none if all are among them."""
    given = [_words(turn) for turn in turns]
    size = len(given)
    if any(latest[at : at + size] == given for at in range(len(latest) - size + 1)):
        return []
    overlaps = range(min(size, len(latest)), 0, -1)
    return turns[next((one for one in overlaps if latest[-one:] == given[:one]), 0) :]


def _words(turn: Turn | NewTurn) -> _Words:
    return turn.role, turn.content


def every(page_of: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """All entries of a list, page by page."""
    cursor = None
    while True:
        page = page_of(cursor)
        yield from page
        if (cursor := page.next_cursor) is None:
            return


def last_of_user(turns: Sequence[NewTurn]) -> str:
    """The user's last message."""
    return next((one.content for one in reversed(turns) if one.role == USER), "")


def said(role: str, text: str, **known: Any) -> NewTurn | None:
    """A turn with what can be stored of a text; None where that is nothing."""
    cut = storable(text).strip()[: limits.MAX_TURN_CHARS].strip()
    return NewTurn(role=role, content=cut, **known) if cut else None
