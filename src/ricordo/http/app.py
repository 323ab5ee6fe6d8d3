"""The application: every route, and what each request passes on its way to it."""

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator, MutableMapping
from typing import Any, Final

import anyio.to_thread
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

from ricordo.http.addresses import is_loopback
from ricordo.http.auth import Gate
from ricordo.http.files import TransferSlots
from ricordo.http.middleware import BodyLimit, ErrorMiddleware, HeadRequests, LoopbackGuard
from ricordo.http.problems import Problem, tell_problems
from ricordo.http.rate_limit import RateLimiter
from ricordo.http.responses import Uncached
from ricordo.http.routes import ROUTERS
from ricordo.http.routes.mcp import McpEndpoint, McpRoute
from ricordo.limits import MAX_IMPORTS_AT_ONCE
from ricordo.memory import Memory
from ricordo.observability.metrics import ServiceMetrics, watch_steps
from ricordo.observability.middleware import ObservingMiddleware, tracing_of
from ricordo.observability.traces import Tracing
from ricordo.proxy.service import ChatProxy
from ricordo.proxy.upstream import CallWatch
from ricordo.settings import Settings
from ricordo.version import __version__

_DESCRIPTION: Final = """\
Long-term memory for AI assistants and agents.

Every request is about one user. A key that is bound to a user, or to an agent of one, says who that
is; a service's key, or a caller on this machine where no keys are required, names the user in the
header `X-Ricordo-User`. What belongs to other users answers exactly like what does not exist.

Failures are told as problem details (RFC 9457). Writes can be repeated safely with an
`Idempotency-Key`. Lists come in pages: pass `next_cursor` as `cursor` to go on.
"""

# The framework's own would tell what errors say, and could be made to send it away by a variable of
# the environment. Traces are made in observing/, where they are wanted.
_NO_TELEMETRY: Final[Any] = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)


# Else a browser keeps them from the page, which then could not send If-Match, or wait as it should.
_SHOWN_TO_PAGES: Final = ("ETag", "Location", "Retry-After", "X-Request-ID", "Idempotent-Replayed")


def create_app(memory: Memory) -> FastAPI:
    """The service over an open store, which stays the caller's to close."""
    settings = memory.settings
    app = FastAPI(
        title="ricordo",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan,
        # Built already; a router that is included builds each of its routes once more.
        routes=[route for router in ROUTERS for route in router.routes],
        openapi_url=None,  # it takes half a second to make, and would be made on the event loop
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
    )
    app.state.memory = memory
    app.state.gate = Gate(
        memory, keys_are_required(settings), RateLimiter(settings.rate_limit_per_minute)
    )
    app.state.imports = TransferSlots("import", MAX_IMPORTS_AT_ONCE)
    # An export holds a connection until its last line is taken; the others are for everybody else.
    app.state.exports = TransferSlots("export", max(1, settings.pool_size // 2))
    app.state.metrics = ServiceMetrics(memory)
    app.state.tracing = tracing_of(settings)
    watch_steps(memory, app.state.metrics, app.state.tracing)
    app.state.proxy = ChatProxy(memory, settings, _call_watch(app.state.metrics, app.state.tracing))
    app.state.mcp = McpEndpoint(memory, app.state.gate)
    app.router.routes.append(McpRoute(app.state.mcp))
    tell_problems(app)
    _add_middleware(app, settings)
    _document_problems(app)
    return app


def keys_are_required(settings: Settings) -> bool:
    """Whether only callers with a key are let in."""
    if settings.require_keys is not None:
        return settings.require_keys
    return not is_loopback(settings.host)


def _call_watch(metrics: ServiceMetrics, tracing: Tracing) -> CallWatch:
    """Calls of a model are measured, and belong to the trace of the request."""

    @contextlib.contextmanager
    def span(headers: MutableMapping[str, str]) -> Iterator[None]:
        with tracing.span("ricordo.upstream"):
            tracing.inject_headers(headers)
            yield

    return CallWatch(span, metrics.upstream_finished)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """When the service stops, what was heard last is written before the store is closed."""
    threads: int = app.state.memory.settings.service_threads
    anyio.to_thread.current_default_thread_limiter().total_tokens = threads
    try:
        async with app.state.mcp.run():
            yield
    finally:
        await app.state.proxy.aclose()
        await run_in_threadpool(app.state.tracing.shutdown)


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """What each request passes; the one added last comes first."""
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
            expose_headers=_SHOWN_TO_PAGES,
        )
    if not app.state.gate.requires_keys:
        app.add_middleware(LoopbackGuard, hosts=[settings.host], origins=origins)
    app.add_middleware(Uncached)
    app.add_middleware(ObservingMiddleware, metrics=app.state.metrics, tracing=app.state.tracing)


def _summarise(document: dict[str, Any]) -> None:
    """Sum up each operation by the first line of its description, not by its function's name."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if "description" in operation:
                operation["summary"] = operation["description"].partition("\n")[0]


def _document_problems(app: FastAPI) -> None:
    """Put the shape of problems into the OpenAPI document, which refers to it everywhere."""
    plain_document = app.openapi
    lock = threading.Lock()

    def document() -> dict[str, Any]:
        with lock:
            return whole_document()

    def whole_document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = plain_document()
            schemas = made.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema(
                ref_template="#/components/schemas/{model}"
            )
            made["components"]["securitySchemes"] = {
                "key": {"type": "http", "scheme": "bearer", "description": "A key: rk_…"}
            }
            made["security"] = [{"key": []}, {}]
            _summarise(made)
        return app.openapi_schema or {}

    app.openapi = document  # type: ignore[method-assign]
