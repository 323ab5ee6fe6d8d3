"""The FastAPI application: all routes and middleware."""

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator, MutableMapping
from typing import Any, Final

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Match, Router
from starlette.types import Receive, Scope, Send

from ricordo.http import admin, chat, checkpoints, manual, oauth, tools, transfer
from ricordo.http.addresses import is_loopback
from ricordo.http.auth import Gate, GatedRoute
from ricordo.http.files import TransferSlots
from ricordo.http.mcp_endpoint import McpEndpoint, McpRoute
from ricordo.http.middleware import BodyLimit, ErrorMiddleware, HeadRequests, LoopbackGuard
from ricordo.http.oauth import authorisation_of
from ricordo.http.operations import routers
from ricordo.http.problems import Problem, add_error_handlers
from ricordo.http.rate_limit import RateLimiter
from ricordo.http.responses import Uncached
from ricordo.http.routing import SEARCHING, searching_threads
from ricordo.limits import MAX_IMPORTS_AT_ONCE
from ricordo.memory import Memory
from ricordo.observability.metrics import ServiceMetrics, watch_steps
from ricordo.observability.middleware import ObservingMiddleware, tracing_of
from ricordo.observability.traces import Tracing
from ricordo.proxy.service import ChatProxy
from ricordo.proxy.upstream import CallWatch
from ricordo.recall.reranker import under_way
from ricordo.settings import Settings
from ricordo.version import __version__


def all_routers() -> tuple[APIRouter, ...]:
    """In the order of the OpenAPI document."""
    return (
        *routers(),
        tools.router,
        tools.tool_server_router,
        tools.calls,
        checkpoints.router,
        transfer.router,
        chat.router,
        admin.router,
        admin.keys_router,
        oauth.router,
        manual.router,
        admin.health_router,
    )


_DESCRIPTION: Final = """\
Long-term memory for AI assistants and agents.

Every request is about one user. A key that is bound to a user, or to an agent of one, says who that
is; a service's key, or a caller on this machine where no keys are required, names the user in the
header `X-Ricordo-User`. What belongs to other users answers exactly like what does not exist.

Failures are told as problem details (RFC 9457). Writes can be repeated safely with an
`Idempotency-Key`. Lists come in pages: pass `next_cursor` as `cursor` to go on.
"""

# FastAPI's own telemetry would include error messages, and an environment variable could make it
# send them elsewhere. See observability/ for ours.
_NO_TELEMETRY: Final[Any] = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)
# Response headers that browsers let pages of other origins read.
_EXPOSED_HEADERS: Final = (
    "ETag",
    "Location",
    "Retry-After",
    "X-Request-ID",
    "Idempotent-Replayed",
    "X-Ricordo-Recorded",
    "X-Ricordo-Rated",
    "WWW-Authenticate",
    "X-Ricordo-Task",
)


def create_app(memory: Memory) -> FastAPI:
    """The service over an open store, which the caller closes."""
    settings = memory.settings
    app = FastAPI(
        title="ricordo",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        # include_router() would build each route again.
        routes=[route for router in all_routers() for route in router.routes],
        openapi_url=None,  # generating it takes half a second, and would block the event loop
        docs_url=None,  # its page loads scripts from a CDN
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.memory = memory
    app.state.gate = Gate(
        memory, keys_are_required(settings), RateLimiter(settings.rate_limit_per_minute)
    )
    app.state.imports = TransferSlots("import", MAX_IMPORTS_AT_ONCE)
    # An export holds a database connection to its end; half of them stay free.
    app.state.exports = TransferSlots("export", max(1, settings.pool_size // 2))
    app.state.metrics = ServiceMetrics(memory)
    app.state.tracing = tracing_of(settings)
    watch_steps(memory, app.state.metrics, app.state.tracing)
    app.state.proxy = ChatProxy(memory, settings, _call_watch(app.state.metrics, app.state.tracing))
    app.state.oauth = authorisation_of(memory)
    app.state.mcp = McpEndpoint(memory, app.state.gate, app.state.oauth)
    app.router.routes.append(McpRoute(app.state.mcp))
    app.router.middleware_stack = FixedPaths(app.router)
    add_error_handlers(app)
    _add_middleware(app, settings)
    _document_problems(app)
    return app


class FixedPaths:
    """Finds routes without parameters by their path, where the router would try one after the
    other."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._routes: dict[tuple[str, str], GatedRoute] = {}
        for route in router.routes:
            if isinstance(route, GatedRoute) and not route.param_convertors:
                for method in route.methods or ():
                    self._routes.setdefault((method, route.path), route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get((scope["method"], scope["path"])) if "method" in scope else None
        match, found = (Match.NONE, {}) if route is None else route.matches(scope)
        if route is None or match is not Match.FULL:
            await self._router.app(scope, receive, send)
            return
        scope.update(found, router=self._router)
        await route.handle(scope, receive, send)


def keys_are_required(settings: Settings) -> bool:
    if settings.require_keys is not None:
        return settings.require_keys
    # With a public address, a loopback one is behind a proxy.
    return settings.public_url is not None or not is_loopback(settings.host)


def _call_watch(metrics: ServiceMetrics, tracing: Tracing) -> CallWatch:
    """Measure and trace calls of the upstream model."""

    @contextlib.contextmanager
    def span(headers: MutableMapping[str, str]) -> Iterator[None]:
        with tracing.span("ricordo.upstream"):
            tracing.inject_headers(headers)
            yield

    return CallWatch(span, metrics.upstream_finished)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """On shutdown, write the last chats before the store is closed."""
    settings: Settings = app.state.memory.settings
    anyio.to_thread.current_default_thread_limiter().total_tokens = settings.service_threads
    SEARCHING.allow(searching_threads(settings.workers))
    under_way.get().processes = settings.workers
    try:
        async with app.state.mcp.run():
            yield
    finally:
        await app.state.proxy.aclose()
        await run_in_threadpool(app.state.tracing.shutdown)


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """The middleware added last runs first."""
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    app.add_middleware(HeadRequests)
    app.add_middleware(ErrorMiddleware)
    app.add_middleware(BodyLimit)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=_EXPOSED_HEADERS,
        )
    if not app.state.gate.requires_keys:
        app.add_middleware(LoopbackGuard, hosts=[settings.host], origins=origins)
    app.add_middleware(Uncached)
    app.add_middleware(ObservingMiddleware, metrics=app.state.metrics, tracing=app.state.tracing)


def _summarise(document: dict[str, Any]) -> None:
    """Use the first paragraph of a description as the summary, not the function's name."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if "description" in operation:
                operation["summary"] = " ".join(operation["description"].split("\n\n")[0].split())


def _document_problems(app: FastAPI) -> None:
    """Add the Problem schema and the authentication scheme to the OpenAPI document."""
    plain_document = app.openapi
    lock = threading.Lock()

    def document() -> dict[str, Any]:
        with lock:
            if app.openapi_schema is None:
                made = plain_document()
                components = made.setdefault("components", {})
                components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema(
                    ref_template="#/components/schemas/{model}"
                )
                components["securitySchemes"] = {
                    "key": {"type": "http", "scheme": "bearer", "description": "A key: rk_…"}
                }
                made["security"] = [{"key": []}, {}]
                _summarise(made)
            return app.openapi_schema or {}

    app.openapi = document  # type: ignore[method-assign]
