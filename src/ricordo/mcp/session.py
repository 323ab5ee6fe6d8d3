"""What a request needs: threads to work in, the user and the tool sets."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio.to_thread
from anyio import CancelScope

from ricordo.errors import InvalidCursor, InvalidValue
from ricordo.frozen import dataclass
from ricordo.tools.sets import chosen, named_sets
from ricordo.tools.tool import Tool
from ricordo.user_memory import UserMemory

if TYPE_CHECKING:
    from ricordo.mcp.subscriptions import Follower

T = TypeVar("T")

PROGRESS_SECONDS = 1.0


class Threads:
    """A thread pool for requests; more of them wait for their turn.

    A cancelled request that still waits never starts. One under way ends in its thread and keeps
    its place until then, so cancelling gets nobody more threads.
    """

    def __init__(self, threads: int, progress_seconds: float = PROGRESS_SECONDS) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="ricordo-mcp")
        self._progress_seconds = progress_seconds

    async def run(self, context: "RequestContext", work: Callable[[], T]) -> T:
        """Do the work of a request, and report progress to clients that want it."""
        logged = contextvars.copy_context()  # so that logs name the request
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._executor, logged.run, work)
        reports = 0
        try:
            while not (await asyncio.wait([future], timeout=self._progress_seconds))[0]:
                reports += 1
                seconds = reports * self._progress_seconds
                await context.report_progress(seconds, message=f"at work for {seconds:g} s")
        finally:
            future.cancel()  # no effect once it is running
        return future.result()

    async def do(self, work: Callable[[], T]) -> T:
        """Do some work that belongs to no single request."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def close(self) -> None:
        """Start nothing more and wait for work under way, before the store is closed."""
        with CancelScope(shield=True):
            await anyio.to_thread.run_sync(
                lambda: self._executor.shutdown(wait=True, cancel_futures=True)
            )


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What belongs to a request; ``request`` is the HTTP request, or None. ``session`` tells the
    client something apart from answers; None where the protocol has no place for that."""

    threads: Threads
    request: Any
    report_progress: Callable[..., Awaitable[None]]
    session: Any = None
    follower: "Follower | None" = None


@dataclass(frozen=True, slots=True)
class Binding:
    """The memory that a request is about, and the tool sets; none for the standard one. With
    ``reads_only``, no tool that writes is offered. ``check`` raises where who asked may not read
    any more."""

    user: UserMemory
    sets: tuple[str, ...] = ()
    reads_only: bool = False
    check: Callable[[], object] = lambda: None

    def offered(self) -> tuple[Tool, ...]:
        return tuple(tool for tool in chosen(*self.sets) if tool.reads_only or not self.reads_only)

    def withheld(self) -> frozenset[str]:
        """The tools of these sets that are not offered, by their names."""
        offered = {tool.name for tool in self.offered()}
        return frozenset(tool.name for tool in chosen(*self.sets)) - offered


def default_sets(setting: str) -> tuple[str, ...]:
    """The sets of the setting ``mcp_tools``. Raises InvalidValue: there is no such set."""
    try:
        return named_sets(setting)
    except InvalidValue as problem:
        raise InvalidValue("setting mcp_tools", problem.problem) from None


Who: TypeAlias = Callable[[RequestContext], Binding]
"""Finds the binding of each request, in the thread of the request."""


def cursor_of(params: Any) -> str | None:
    """The cursor in the parameters of a list, which may be None."""
    return None if params is None else params.cursor


def only_page(params: Any) -> None:
    """Raise InvalidCursor where a list that has one page is asked for another."""
    if cursor_of(params) is not None:
        raise InvalidCursor("this list has one page and gives out no cursors")
