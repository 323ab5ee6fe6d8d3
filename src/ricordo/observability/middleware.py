"""Around every request: its id, a log line, metrics and a span."""

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final

from ricordo.errors import InvalidValue, needs_extra
from ricordo.formation.decisions import FIELDS
from ricordo.observability.logs import (
    ALREADY_LOGGED,
    CurrentRequest,
    current_request,
    new_request_id,
)
from ricordo.observability.metrics import METHODS, OTHER_METHOD, UNMATCHED, ServiceMetrics
from ricordo.observability.traces import RequestSpan, Tracing
from ricordo.providers.endpoint import split_url
from ricordo.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

REQUEST_ID_HEADER: Final = "x-request-id"
LOGGER: Final = "ricordo.requests"
_log = logging.getLogger(LOGGER)


class ObservingMiddleware:
    """The outermost layer of an ASGI application.

    A request lasts until the last byte of its response. Where the client leaves before that, the
    log line says ``incomplete`` and the metrics count it as ``disconnected``.
    """

    def __init__(self, app: App, metrics: ServiceMetrics, tracing: Tracing) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        request = CurrentRequest(new_request_id(headers.get(REQUEST_ID_HEADER)))
        token = current_request.set(request)
        try:
            with self._tracing.start_request(headers) as span:
                await self._answer(_Exchange(scope, receive, send, request, span))
        finally:
            current_request.reset(token)

    async def _answer(self, exchange: "_Exchange") -> None:
        self._metrics.request_started()
        error: BaseException | None = None
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        except BaseException as problem:
            error = problem
            raise
        finally:
            exchange.finish(self._metrics, error)


class _Exchange:
    """One request and what is known of its response."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, request: CurrentRequest, span: RequestSpan
    ) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self._request = request
        self._span = span
        self._started = time.perf_counter()
        self._ended: float | None = None
        self._status: int | None = None
        self._has_left = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" and self._ended is None:
            self._has_left = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            name = REQUEST_ID_HEADER.encode()
            others = [pair for pair in message.get("headers", ()) if pair[0].lower() != name]
            message = {**message, "headers": [*others, (name, self._request.id.encode())]}
        try:
            await self._send(message)
        except OSError:  # the client has disconnected
            self._has_left = True
            raise
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = time.perf_counter()

    def finish(self, metrics: ServiceMetrics, raised: BaseException | None) -> None:
        seconds = (self._ended or time.perf_counter()) - self._started
        is_over = self._ended is not None
        is_fault = isinstance(raised, Exception) and (is_over or not self._has_left)
        if is_fault and self._status is None:  # the server answers with 500
            is_over, self._status = True, 500
        method = str(self.scope["method"])
        if method not in METHODS:  # a client may send anything
            method = OTHER_METHOD
        path = getattr(self.scope.get("route"), "path", None)
        route = path if isinstance(path, str) else None
        metrics.request_finished(method, route, self._status if is_over else None, seconds)
        fields: dict[str, object] = {
            "method": method,
            "route": route or UNMATCHED,
            "status": self._status,
            "duration_ms": round(seconds * 1000, 3),
            "key_id": self._request.key_id,
            "incomplete": None if is_over else True,
        }
        has_failed = is_fault or (self._status or 0) >= 500
        self._log_line(fields, raised if is_fault else self._request.error, has_failed)
        self._end_span(fields, has_failed=has_failed or not is_over)

    def _log_line(
        self, fields: dict[str, object], error: BaseException | None, has_failed: bool
    ) -> None:
        """Errors of the service are logged with their traceback, others by type only."""
        if has_failed:
            trace = None if error is None else (type(error), error, error.__traceback__)
            _log.error("request", extra={FIELDS: fields}, exc_info=trace)
        else:
            kind = None if error is None else type(error).__name__
            _log.info("request", extra={FIELDS: {**fields, "error": kind}})
        if error is not None:
            with suppress(AttributeError):  # an exception with slots is logged by the server again
                setattr(error, ALREADY_LOGGED, True)

    def _end_span(self, fields: dict[str, object], *, has_failed: bool) -> None:
        attributes: dict[str, str | int] = {
            "http.request.method": str(fields["method"]),
            "http.route": str(fields["route"]),
        }
        if self._status is not None:
            attributes["http.response.status_code"] = self._status
        if self._request.key_id is not None:
            attributes["ricordo.key_id"] = self._request.key_id
        self._span.finish(
            f"{fields['method']} {fields['route']}", attributes, has_failed=has_failed
        )


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by lower-case name; of duplicates the last counts."""
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }


def tracing_of(settings: Settings) -> Tracing:
    """The tracing that ``traces_url`` asks for. Raises InvalidValue: it is not an address, or
    OpenTelemetry is not installed."""
    if settings.traces_url is None:
        return Tracing()
    try:
        split_url(settings.traces_url)
    except InvalidValue as problem:
        raise InvalidValue("setting traces_url", problem.problem) from None
    try:
        from ricordo.observability.otlp import OtlpTracing
    except ImportError:
        raise InvalidValue("setting traces_url", needs_extra("tracing", "otel")) from None
    return OtlpTracing(settings.traces_url)
