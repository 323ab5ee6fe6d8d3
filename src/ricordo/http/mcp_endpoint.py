"""``/mcp``: the Model Context Protocol over streamable HTTP, without sessions.

A session would live in the memory of one server, while any of several may get the next request. So
there is none, as in the protocol itself since 2026-07-28: every request is authenticated by itself.

Progress comes in the response stream of the call. A call is cancelled by closing that response; the
cancel notification of older clients has no effect, and the call ends by itself. ``GET`` streams are
not supported: what this server has to tell, it tells in the stream of a ``subscriptions/listen``
request, which older versions of the protocol do not have.
"""

import contextlib
import importlib.util
import json
from collections.abc import AsyncIterator, Callable, Collection
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from ricordo.errors import InvalidValue, StorageClosed, UnknownField, needs_extra
from ricordo.http.auth import Caller, Gate, user_memory_of
from ricordo.http.form_body import limited_body
from ricordo.http.oauth import RESOURCE_PATH, Authorisation
from ricordo.http.problems import ScopeMissing, problem
from ricordo.limits import MAX_MCP_STREAMS, MAX_REQUEST_BYTES
from ricordo.mcp.session import Binding, RequestContext, Threads, default_sets
from ricordo.memory import Memory
from ricordo.model.vocabulary import AccessScope
from ricordo.tools.sets import named_sets

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from ricordo.mcp.subscriptions import Streams

SETS_PARAMETER: Final = "tools"


class McpEndpoint:
    """The MCP endpoint as an ASGI application.

    The server is created on the first request: importing the ``mcp`` library takes a second, and
    many services never need it.
    """

    def __init__(self, memory: Memory, gate: Gate, oauth: Authorisation | None = None) -> None:
        self._memory = memory
        self._gate = gate
        self._oauth = oauth
        self._sets = default_sets(memory.settings.mcp_tools)
        self._tasks: TaskGroup | None = None
        self._starting = anyio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._streams: Streams | None = None

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer while the block runs; calls under way at its end are awaited."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = self._manager = None
                tasks.cancel_scope.cancel()

    def end_streams(self) -> None:
        """Tell clients who listen for changes that this is the end, before the service stops."""
        if self._streams is not None:
            self._streams.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            NotAuthenticated, PermissionMissing, TooManyRequests: the caller is refused.
            UnknownField, InvalidValue: a query parameter is wrong.
            HTTPException: the method is not POST.
        """
        request = Request(scope, receive)
        caller, scopes, check = await self._caller_of(request)
        user = user_memory_of(self._memory, caller)
        if request.method != "POST":
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        reads_only = AccessScope.WRITE not in scopes
        binding = Binding(user, self._sets_of(request), reads_only, check)
        request.state.mcp = binding
        if binding.reads_only:
            receive = await self._only_reading(request, binding)
        if importlib.util.find_spec("mcp") is None:
            missing = needs_extra(RESOURCE_PATH, "mcp")
            refusal = problem(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", missing)
            await refusal(scope, receive, send)
            return
        manager = await self._running_manager()
        await manager.handle_request(scope, receive, send)

    async def _caller_of(
        self, request: Request
    ) -> tuple[Caller, Collection[AccessScope], Callable[[], object]]:
        """Who asks, by a program's token or a key, what for, and what raises once they may not any
        more; keys are good for everything."""
        if self._oauth is not None:
            request.state.challenge = self._oauth.challenge()
            found = await self._oauth.caller_of(self._gate, request)
            if found is not None:
                if not found[1]:
                    self._refuse(request)
                return found
        caller = await self._gate.caller_of(request)
        secret = self._gate.secret_in(request.headers)
        check = partial(self._memory.authenticate, secret) if caller.key else lambda: None
        return caller, tuple(AccessScope), check

    async def _only_reading(self, request: Request, binding: Binding) -> Receive:
        """The body again, once it is known to call nothing that writes."""
        body = await limited_body(request, MAX_REQUEST_BYTES, "the message")
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None  # the library refuses it
        for message in said if isinstance(said, list) else [said]:
            params = message.get("params") if isinstance(message, dict) else None
            name = params.get("name") if isinstance(params, dict) else None
            if isinstance(name, str) and name in binding.withheld():
                self._refuse(request)
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await request.receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        return again

    def _refuse(self, request: Request) -> None:
        assert self._oauth is not None
        request.state.challenge = self._oauth.challenge("insufficient_scope")
        raise ScopeMissing("this token does not allow that: ask the user for memory:write")

    async def _running_manager(self) -> "StreamableHTTPSessionManager":
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
        threads = Threads(self._memory.settings.service_threads)
        try:
            manager = await run_in_threadpool(self._new_manager, threads)
            async with manager.run():
                task_status.started(manager)
                await anyio.sleep_forever()
        finally:
            await threads.close()

    def _new_manager(self, threads: Threads) -> "StreamableHTTPSessionManager":
        from ricordo.mcp.library import http_manager
        from ricordo.mcp.server import server_for
        from ricordo.mcp.subscriptions import Streams

        self._streams = Streams(MAX_MCP_STREAMS)
        server = server_for(_binding, threads=threads, streams=self._streams)
        return http_manager(server, MAX_REQUEST_BYTES)

    def _sets_of(self, request: Request) -> tuple[str, ...]:
        """The tool sets that the URL asks for, else the configured ones."""
        given = request.query_params
        unknown = set(given) - {SETS_PARAMETER}
        if unknown:
            raise UnknownField("query parameter", unknown, [SETS_PARAMETER])
        sets = given.getlist(SETS_PARAMETER)
        if len(sets) > 1:
            raise InvalidValue(SETS_PARAMETER, "is given more than once")
        return named_sets(sets[0]) if sets else self._sets


class McpRoute(Route):
    """Matches like a route, so that requests are counted and logged under its path."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        super().__init__(RESOURCE_PATH, endpoint, include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def _binding(context: RequestContext) -> Binding:
    """What :meth:`McpEndpoint.__call__` found out about the HTTP request."""
    binding: Binding = context.request.state.mcp
    return binding
