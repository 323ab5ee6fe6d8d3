"""Versions 1 and 2 of the ``mcp`` library behind one interface.

The protocol's own names are the same in both, so results are built from those. Everything that the
versions name or do differently is in this module.
"""

import contextlib
import inspect
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
import mcp.types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared import exceptions

from ricordo.mcp.session import RequestContext
from ricordo.mcp.subscriptions import Lifetime
from ricordo.version import __version__

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

IS_VERSION_1: Final = not hasattr(exceptions, "MCPError")
ProtocolError: Final[type[Exception]] = getattr(
    exceptions, "McpError" if IS_VERSION_1 else "MCPError"
)
"""What a handler raises to answer with an error; see :func:`protocol_error`."""

Handler: TypeAlias = Callable[[RequestContext, Any], Awaitable[dict[str, Any]]]
"""From the context and the parameters of a request to its result, by the protocol's names."""

Listen: TypeAlias = Callable[..., AbstractAsyncContextManager[list[str]]]
"""Tells of changes in the block; see ``server.py``."""

Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Lifetime]]

_TITLE: Final = "ricordo"
_DESCRIPTION: Final = "Long-term memory for AI assistants and agents."
_BODY_LIMIT: Final = "max_request_body_size"
_FOLDER: Final = Path(mcp.__file__).parent


def protocol_error(code: int, message: str, data: object = None) -> Exception:
    if IS_VERSION_1:
        return ProtocolError(mcp.types.ErrorData(code=code, message=message, data=data))
    return ProtocolError(code, message, data)


def new_server(
    handlers: Mapping[str, Handler], instructions: str, lifespan: Lifespan, listen: Listen
) -> Server[Lifetime]:
    """A server with a handler for each kind of request, such as ``ListTools``; of ``Subscribe``
    and ``Unsubscribe`` only where connections are kept."""
    if IS_VERSION_1:
        return _version_1(handlers, instructions, lifespan)
    kept: dict[str, Any] = {
        f"on_{kind.lower()}_resource": _answer(kind, handlers)
        for kind in ("Subscribe", "Unsubscribe")
        if kind in handlers
    }
    server: Server[Lifetime] = Server(
        _TITLE,
        version=__version__,
        title=_TITLE,
        description=_DESCRIPTION,
        instructions=instructions,
        lifespan=lifespan,
        # No tool argument is repeated in a header, so there is nothing to compare.
        get_tool_input_schema=lambda _name: None,
        on_list_tools=_answer("ListTools", handlers),
        on_call_tool=_answer("CallTool", handlers),
        on_list_resources=_answer("ListResources", handlers),
        on_list_resource_templates=_answer("ListResourceTemplates", handlers),
        on_read_resource=_answer("ReadResource", handlers),
        on_list_prompts=_answer("ListPrompts", handlers),
        on_get_prompt=_answer("GetPrompt", handlers),
        on_subscriptions_listen=_listening(listen),
        **kept,
    )
    # The library's own spans contain error messages. See observability/ for ours.
    server.middleware.clear()
    return server


def _answer(kind: str, handlers: Mapping[str, Handler]) -> Callable[[Any, Any], Awaitable[Any]]:
    result = getattr(mcp.types, f"{kind}Result", mcp.types.EmptyResult)

    async def answer(context: Any, params: Any) -> Any:
        return result.model_validate(await handlers[kind](_asked(context), params))

    return answer


def _asked(context: Any) -> RequestContext:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    lifetime: Lifetime = context.lifespan_context
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return RequestContext(
        lifetime.threads,
        context.request,
        context.session.report_progress,
        None if is_modern else context.session,
        None if is_modern else lifetime.follower,
    )


def _listening(listen: Listen) -> Callable[[Any, Any], Awaitable[Any]]:
    """Answer ``subscriptions/listen`` (since 2026-07-28) with a stream of what changes."""
    from mcp.server.subscriptions import (
        InMemorySubscriptionBus,
        ListenHandler,
        ResourcesListChanged,
        ResourceUpdated,
    )
    from mcp_types import SubscriptionFilter

    async def answer(context: Any, params: Any) -> Any:
        wanted = params.notifications
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus, max_subscriptions=1)

        async def tell(address: str | None) -> None:
            await bus.publish(
                ResourcesListChanged() if address is None else ResourceUpdated(uri=address)
            )

        async with listen(
            _asked(context),
            list(wanted.resource_subscriptions or ()),
            bool(wanted.resources_list_changed),
            tell,
            stream.close,
        ) as honoured:
            kept = SubscriptionFilter(
                resources_list_changed=wanted.resources_list_changed,
                resource_subscriptions=honoured or None,
            )
            return await stream(context, params.model_copy(update={"notifications": kept}))

    return answer


def _version_1(
    handlers: Mapping[str, Handler], instructions: str, lifespan: Lifespan
) -> Server[Lifetime]:
    # Not by its decorators: they check arguments themselves and quote what failed.
    types: Any = mcp.types
    server: Any = Server(_TITLE, version=__version__, instructions=instructions, lifespan=lifespan)

    def answering(kind: str, handle: Handler) -> Callable[[Any], Awaitable[Any]]:
        result = getattr(types, f"{kind}Result", types.EmptyResult)

        async def answer(request: Any) -> Any:
            context = server.request_context
            lifetime: Lifetime = context.lifespan_context
            token = None if context.meta is None else context.meta.progressToken

            async def report(progress: float, *, message: str) -> None:
                if token is not None:
                    await context.session.send_progress_notification(
                        token, progress, message=message, related_request_id=str(context.request_id)
                    )

            session = context.session if lifetime.follower else None
            asked = RequestContext(
                lifetime.threads, context.request, report, session, lifetime.follower
            )
            return types.ServerResult(result.model_validate(await handle(asked, request.params)))

        return answer

    for kind, handle in handlers.items():
        server.request_handlers[getattr(types, f"{kind}Request")] = answering(kind, handle)
    served: Server[Lifetime] = server
    return served


def beginning(server: Server[Lifetime]) -> Any:
    """What a server says of itself to a client whose connection is kept."""
    from mcp.server.lowlevel.server import NotificationOptions

    said = server.create_initialization_options(NotificationOptions(resources_changed=True))
    if said.capabilities.resources is not None:  # version 1 never says so
        said.capabilities.resources.subscribe = True
    return said


@contextlib.asynccontextmanager
async def standard_streams(lines: anyio.AsyncFile[str]) -> AsyncIterator[tuple[Any, Any]]:
    """What is read from ``lines`` and written to standard output; prints go to standard error."""
    if not IS_VERSION_1:
        async with stdio_server(stdin=lines) as streams:
            yield streams
        return
    _mute_version_1()
    with (
        os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as output,
        contextlib.redirect_stdout(sys.stderr),
    ):
        # Its own wrapper would close standard output at the end.
        async with stdio_server(stdin=lines, stdout=anyio.wrap_file(output)) as streams:
            yield streams


def _mute_version_1() -> None:
    """Keep out of the log what it says of messages that it cannot read: it quotes them."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(
        lambda record: not Path(record.pathname).is_relative_to(_FOLDER)  # by the root logger
    )


def http_manager(server: Server[Lifetime], max_body_bytes: int) -> "StreamableHTTPSessionManager":
    """Serves over HTTP without sessions."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from sse_starlette.sse import AppStatus

    # Otherwise responses to older clients break off as soon as the service is told to stop. No
    # stream outlives its call, so shutdown does not hang.
    AppStatus.enable_automatic_graceful_drain = False
    if IS_VERSION_1:
        _mute_version_1()
    options: dict[str, Any] = {"stateless": True}
    if _BODY_LIMIT in inspect.signature(StreamableHTTPSessionManager).parameters:
        options[_BODY_LIMIT] = max_body_bytes  # else ours, before the request gets here
    return StreamableHTTPSessionManager(server, **options)
