"""``/mcp``: the Model Context Protocol over streamable HTTP, for the caller of each request.

There are no sessions. A session would live in the memory of one server, while any of several may
get the next request; it would be lost when the service is restarted; and an id that one caller got
would have to be kept from all others. So none is handed out, one that somebody sends means nothing,
and every request passes the gate for itself: its key, user and agent are all that counts. Since
2026-07-28 the protocol itself is like that.

Nothing is missed by clients. Progress comes on the answer to the call that it is about, as a stream
of events. A call is cancelled by closing that answer. Clients of the versions before 2026-07-28
send a note in a request of its own instead, which finds no session: they stop waiting at once, and
the call ends by itself. Streams that stay open (``GET``) are for messages that this server never
sends, so that none of them keeps the service from stopping.
"""

import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from ricordo.errors import InvalidValue, StorageClosed, UnknownField
from ricordo.http.auth import Gate, user_memory_of
from ricordo.limits import MAX_REQUEST_BYTES
from ricordo.mcp.session import Asked, Binding, default_sets
from ricordo.memory import Memory
from ricordo.tools.sets import named_sets

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH: Final = "/mcp"
SETS_PARAMETER: Final = "tools"


class McpEndpoint:
    """Answers requests of the protocol; an ASGI application.

    The server behind it is made when the first of them comes: loading the library that speaks the
    protocol takes a second, and many services are never asked for it.
    """

    def __init__(self, memory: Memory, gate: Gate) -> None:
        self._memory = memory
        self._gate = gate
        self._sets = default_sets(memory.settings.mcp_tools)
        self._tasks: TaskGroup | None = None
        self._starting = anyio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer for as long as the block runs; calls under way at its end are waited for."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = self._manager = None
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            NotAuthenticated, PermissionMissing, TooManyRequests: the caller is not let in.
            UnknownField, InvalidValue: the address names something that does not exist.
            HTTPException: not the method that the protocol uses.
        """
        request = Request(scope, receive)
        caller = await self._gate.caller_of(request)
        user = user_memory_of(self._memory, caller)
        if request.method != "POST":
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        request.state.mcp = Binding(user, self._sets_of(request))
        manager = await self._started()
        await manager.handle_request(scope, receive, send)

    async def _started(self) -> "StreamableHTTPSessionManager":
        async with self._starting:
            if self._tasks is None:
                raise StorageClosed("the service is not running")
            if self._manager is None:
                self._manager = await self._tasks.start(self._serve)
            assert self._manager is not None
            return self._manager

    async def _serve(
        self, *, task_status: TaskStatus["StreamableHTTPSessionManager"] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        manager = await run_in_threadpool(self._made)
        async with manager.run():
            task_status.started(manager)
            await anyio.sleep_forever()

    def _made(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from sse_starlette.sse import AppStatus

        from ricordo.mcp.server import server_for

        # Else answers to clients of earlier versions break off as soon as the service is to stop.
        # No stream outlasts its call, so that there is none to wait for in vain.
        AppStatus.enable_automatic_graceful_drain = False
        server = server_for(_bound_before, threads=self._memory.settings.service_threads)
        return StreamableHTTPSessionManager(
            server, stateless=True, max_request_body_size=MAX_REQUEST_BYTES
        )

    def _sets_of(self, request: Request) -> tuple[str, ...]:
        """The sets of tools that the address asks for, or those that are set."""
        given = request.query_params
        unknown = set(given) - {SETS_PARAMETER}
        if unknown:
            raise UnknownField("query parameter", unknown, [SETS_PARAMETER])
        asked = given.getlist(SETS_PARAMETER)
        if len(asked) > 1:
            raise InvalidValue(SETS_PARAMETER, "is given more than once")
        return named_sets(asked[0]) if asked else self._sets


class McpRoute(Route):
    """The place of the endpoint; requests are counted and logged under it."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        super().__init__(PATH, endpoint, include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for this route."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def _bound_before(asked: "Asked") -> Binding:
    """What the gate has found out about the request that a message came with."""
    bound: Binding = asked.request.state.mcp  # type: ignore[union-attr]
    return bound
