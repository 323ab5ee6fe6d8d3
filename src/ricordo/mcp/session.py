"""The threads that requests are worked on in, so that the event loop never waits for a database."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio.to_thread
from anyio import CancelScope
from mcp.server.session import ServerSession
from mcp_types import PaginatedRequestParams

from ricordo.errors import InvalidCursor, InvalidValue
from ricordo.tools.sets import named_sets
from ricordo.user_memory import UserMemory

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

T = TypeVar("T")

PROGRESS_SECONDS = 1.0


class Threads:
    """So many requests at once; the others wait for their turn.

    A request that is cancelled is answered no more. One that still waits is never begun. One that
    is under way ends in its thread, and keeps its place until then: what it writes is written
    whole or not at all, as ever, and nobody gets more threads by cancelling.
    """

    def __init__(self, threads: int, progress_seconds: float = PROGRESS_SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="ricordo-mcp")
        self._progress_seconds = progress_seconds

    async def run(self, session: ServerSession, work: Callable[[], T]) -> T:
        """Do the work of a request; its caller, if it wants to know, hears that it goes on."""
        # The thread knows what the caller knows, such as the request that it is for.
        known = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        doing = loop.run_in_executor(self._executor, known.run, work)
        told = 0
        try:
            while not (await asyncio.wait([doing], timeout=self._progress_seconds))[0]:
                told += 1
                seconds = told * self._progress_seconds
                await session.report_progress(seconds, message=f"at work for {seconds:g} s")
        finally:
            doing.cancel()  # nothing where it is done, or under way
        return doing.result()

    async def close(self) -> None:
        """Begin nothing more, and wait for what is under way: the store is closed after this."""
        with CancelScope(shield=True):
            await anyio.to_thread.run_sync(
                lambda: self._executor.shutdown(wait=True, cancel_futures=True)
            )


Asked: TypeAlias = "ServerRequestContext[Threads, Any]"
"""A request: its session, and over HTTP the request that it came with."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The memory that one request is about, and the sets of tools; none for the standard one."""

    user: UserMemory
    sets: tuple[str, ...] = ()


def default_sets(setting: str) -> tuple[str, ...]:
    """The sets that the setting ``mcp_tools`` names, for where nobody asks for others.

    Raises:
        InvalidValue: there is no such set.
    """
    try:
        return named_sets(setting)
    except InvalidValue as problem:
        raise InvalidValue("setting mcp_tools", problem.problem) from None


Who: TypeAlias = Callable[["Asked"], Binding]
"""Finds out whom a request is about, for each anew. Runs in the thread of the request."""


def cursor_of(asked: PaginatedRequestParams | None) -> str | None:
    """Where a list is to go on; None for its beginning."""
    return None if asked is None else asked.cursor


def only_page(asked: PaginatedRequestParams | None) -> None:
    """Nothing, for a list that has one page.

    Raises:
        InvalidCursor: another page is asked for.
    """
    if cursor_of(asked) is not None:
        raise InvalidCursor("this list has one page and gives out no cursors")
