"""ASGI middleware: unexpected errors, body limits, HEAD requests and protection on loopback."""

import sys
from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.http.problems import RequestTooLarge, problem, problem_of
from ricordo.limits import MAX_IMPORT_FILE_BYTES, MAX_PROXY_REQUEST_BYTES, MAX_REQUEST_BYTES
from ricordo.observability.logs import note_error

_MOST_DIGITS: Final = 19  # of Content-Length; Python refuses to parse thousands of digits
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_FOREIGN: Final = "pages of other sites may not call this service (setting cors_origins)"


class ErrorMiddleware:
    """Answers unexpected errors with a 500 problem that reveals nothing, and logs them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except Exception as error:
            # Its message may quote anything, so it is not sent; the log has the traceback.
            note_error(error)
            if started:
                raise  # break the connection, so that the partial response is not taken for whole
            detail = "something went wrong inside; the log has more under this request id"
            response = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Unexpected", detail)
            await response(scope, receive, send)


_PROXIED: Final = (
    *("/v1/chat/completions", "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens"),
    *("/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens"),
)
_MAXIMUM_OF: Final = {
    "/v1/import": MAX_IMPORT_FILE_BYTES,
    "/v1/admin/import": MAX_IMPORT_FILE_BYTES,
    **dict.fromkeys(_PROXIED, MAX_PROXY_REQUEST_BYTES),
}


class BodyLimit:
    """Refuses bodies that are too large: by Content-Length, else once they exceed the limit."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        counted = _Counted(receive, send, _MAXIMUM_OF.get(scope["path"], MAX_REQUEST_BYTES))
        if _content_length(scope) > counted.maximum:
            await counted.refusal()(scope, receive, send)
            return
        try:
            await self._app(scope, counted.receive, counted.send)
        except RequestTooLarge:
            if counted.has_answered:
                raise
        if counted.is_too_large and not counted.has_answered:
            await counted.refusal()(scope, receive, send)


class HeadRequests:
    """Answers ``HEAD`` like ``GET``, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_start(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})  # no need to produce the stream

        inner = {**scope, "method": "GET"}
        try:
            await self._app(inner, receive, send_start)
        finally:
            scope.update(inner, method="HEAD")  # keeps the route, for logs and metrics


class _Counted:
    """Counts the body of one request; above the limit it lets only the refusal pass.

    The application may misread the error that stops it and send a response of its own.
    """

    def __init__(self, receive: Receive, send: Send, maximum: int) -> None:
        self.maximum = maximum
        self.is_too_large = False
        self.has_answered = False
        self._receive = receive
        self._send = send
        self._received = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self._received > self.maximum:
            self.is_too_large = True
            raise self._error()
        return message

    async def send(self, message: Message) -> None:
        if self.is_too_large and not self.has_answered:
            return
        self.has_answered = True
        await self._send(message)

    def refusal(self) -> ASGIApp:
        return problem_of(self._error())

    def _error(self) -> RequestTooLarge:
        return RequestTooLarge(f"the body is too large; allowed: {self.maximum} bytes")


def _content_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value) if len(value) < _MOST_DIGITS else sys.maxsize
    return 0


class LoopbackGuard:
    """Lets in only requests that are meant for this machine and come from no foreign page.

    Any page in a browser on this machine can send requests to a loopback address. ``Origin`` and
    ``Sec-Fetch-Site`` show where they come from, ``Host`` shows DNS rebinding.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        """``hosts`` are further names of this service, ``origins`` the pages that may call it."""
        self._app = app
        self._hosts = LOOPBACK_NAMES | set(hosts)
        self._origins = set(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                response = problem(HTTPStatus.FORBIDDEN, "ForeignPage", refusal)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if _split(f"//{host}").hostname not in self._hosts:
            return "this service, which asks for no key, answers only to localhost"
        origin = headers.get("origin")
        if origin is None:
            # A page of another site may link to here, but not embed this.
            is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
            is_known = not is_foreign or headers.get("sec-fetch-dest") == "document"
        else:
            is_known = origin in self._origins or _split(origin).netloc.lower() == host.lower()
        return None if is_known else _FOREIGN


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")
