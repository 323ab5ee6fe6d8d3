"""The client of version 1 of the library, with the face of that of version 2."""

import contextlib
import re
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Self

import anyio
from mcp.client.session import ClientSession
from mcp.shared import exceptions
from mcp.shared.memory import create_client_server_memory_streams
from pydantic import AnyUrl, BaseModel

from mcp import types

types_1: Any = types
LibraryError: Any = exceptions.McpError  # type: ignore[attr-defined]


class Refused(Exception):
    """An error of the protocol."""

    def __init__(self, error: Any) -> None:
        self.error = error
        self.code, self.message, self.data = error.code, error.message, error.data
        super().__init__(error.message)


def second(value: Any) -> Any:
    """What version 1 read, by the names that it has in version 2."""
    if isinstance(value, BaseModel):
        named = {name: second(getattr(value, name)) for name in type(value).model_fields}
        return SimpleNamespace(**{_snake(name): one for name, one in named.items()})
    if isinstance(value, AnyUrl):
        return str(value)
    return [second(one) for one in value] if isinstance(value, list) else value


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", name)


class Client:
    """A client of a server in this process, or of a transport. There is the handshake alone."""

    def __init__(
        self,
        place: Any,
        *,
        mode: str = "auto",
        read_timeout_seconds: float = 60,
        message_handler: Any = None,
    ) -> None:
        self._place = place
        self._handler = message_handler
        self._patience = timedelta(seconds=read_timeout_seconds)
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        is_server = hasattr(self._place, "request_handlers")
        transport = _in_process(self._place) if is_server else self._place
        read, write, *_ = await self._stack.enter_async_context(transport)
        session: Any = ClientSession(
            read, write, read_timeout_seconds=self._patience, message_handler=self._handler
        )  # type: ignore[arg-type]
        self.session: Any = await self._stack.enter_async_context(session)
        said = await self.session.initialize()
        self.instructions, self.server_capabilities = said.instructions, second(said.capabilities)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def call_tool(
        self, name: str, arguments: Any = None, timeout: Any = None, progress_callback: Any = None
    ) -> Any:
        number = self.session._request_id
        call = self.session.call_tool(name, arguments, timeout, progress_callback)
        try:
            return await _asked(call)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):  # this client does not say so itself
                note = types_1.CancelledNotificationParams(requestId=number)
                cancelled = types_1.CancelledNotification(params=note)
                await self.session.send_notification(types_1.ClientNotification(cancelled))
            raise

    async def subscribe_resource(self, uri: str) -> Any:
        return await _asked(self.session.subscribe_resource(uri))

    async def unsubscribe_resource(self, uri: str) -> Any:
        return await _asked(self.session.unsubscribe_resource(uri))

    async def read_resource(self, uri: str) -> Any:
        return await _asked(self.session.read_resource(uri))

    async def get_prompt(self, name: str, arguments: Any = None) -> Any:
        return await _asked(self.session.get_prompt(name, arguments))

    async def send_ping(self) -> Any:
        return await _asked(self.session.send_ping())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The lists."""

        async def listed(*, cursor: str | None = None) -> Any:
            params = types_1.PaginatedRequestParams(cursor=cursor)
            return await _asked(getattr(self.session, name)(params=params))

        if not name.startswith("list_"):
            raise AttributeError(name)
        return listed


async def _asked(call: Any) -> Any:
    try:
        return second(await call)
    except LibraryError as error:
        raise Refused(error.error) from None


@contextlib.asynccontextmanager
async def _in_process(server: Any) -> AsyncIterator[Any]:
    async with (
        create_client_server_memory_streams() as (ours, theirs),
        anyio.create_task_group() as tasks,
    ):
        options = server.create_initialization_options()
        tasks.start_soon(server.run, *theirs, options)
        try:
            yield ours
        finally:
            tasks.cancel_scope.cancel()
