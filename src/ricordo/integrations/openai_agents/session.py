"""A session of the OpenAI Agents SDK that is kept in a ricordo store."""

import asyncio
from collections.abc import Callable
from typing import TypeVar, cast

from agents.items import TResponseInputItem
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from ricordo.aio import AsyncUserMemory, in_pool
from ricordo.integrations.openai_agents.said import calls_in, turns_of, unknown_calls
from ricordo.integrations.openai_agents.session_items import SessionItems, checked_session_id
from ricordo.limits import MAX_OBSERVED_TURNS
from ricordo.model import checks
from ricordo.user_memory import UserMemory

T = TypeVar("T")

_LOOK_BACK_ITEMS = 100
"""How far back the call is looked for whose result is added; it is mostly the item before."""


class MemorySession:
    """The items of one conversation of a user with agents, for ``Runner.run(..., session=...)``.

    Items come back exactly as they were added, in order. What the user, the agents and their tools
    say in them is also observed as turns of the thread that is named like the session, so that it
    can be searched and memories are formed; ``observe=False`` leaves that out. What was observed
    stays said: ``pop_item`` and ``clear_session`` take items away, not turns.

    Raises:
        InvalidValue: the session cannot have that name.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        user: UserMemory | AsyncUserMemory,
        session_id: str,
        *,
        observe: bool = True,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = checked_session_id(session_id)
        self.session_settings = session_settings
        self._user = user
        self._observes = checks.flag("observe", observe)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, or all, the oldest of them first."""
        wanted = resolve_session_limit(limit, self.session_settings)
        found = await self._in_thread(lambda user: self._items(user).latest(wanted))
        return cast(list[TResponseInputItem], found)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, all of them or none, and observe what they say.

        Raises:
            InvalidValue: an item is not JSON, or larger than 8 MiB; nothing was added.
        """
        added = list(items)
        await self._in_thread(lambda user: self._add(user, added))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away; None where there is none."""
        popped = await self._in_thread(lambda user: self._items(user).pop())
        return cast(TResponseInputItem | None, popped)

    async def clear_session(self) -> None:
        """Take all items away."""
        await self._in_thread(lambda user: self._items(user).clear())

    def _items(self, user: UserMemory) -> SessionItems:
        return SessionItems(user, self.session_id)

    def _add(self, user: UserMemory, added: list[TResponseInputItem]) -> None:
        items = self._items(user)
        items.add(added)
        if not self._observes:
            return
        called = calls_in(added)
        if unknown_calls(added, called):
            called = calls_in(items.latest(_LOOK_BACK_ITEMS + len(added)))
        turns = turns_of(added, called)
        for start in range(0, len(turns), MAX_OBSERVED_TURNS):
            user.observe(turns[start : start + MAX_OBSERVED_TURNS], thread=self.session_id)

    async def _in_thread(self, work: Callable[[UserMemory], T]) -> T:
        """Do the work in a thread; whoever is cancelled meanwhile waits until it is done.

        A write that goes on behind the back of its caller would come after what is done next.
        """
        if isinstance(self._user, AsyncUserMemory):
            task = asyncio.ensure_future(in_pool(self._user, work))
        else:
            task = asyncio.ensure_future(asyncio.to_thread(work, self._user))
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled from (None if task.cancelled() else task.exception())
        return task.result()
