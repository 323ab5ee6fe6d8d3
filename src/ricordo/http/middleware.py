"""What becomes of a mistake of ours: a log entry, and an answer that gives nothing away."""

import sys
from collections.abc import Collection
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.http.problems import RequestTooLarge, problem, problem_of
from ricordo.limits import MAX_IMPORT_FILE_BYTES, MAX_PROXY_REQUEST_BYTES, MAX_REQUEST_BYTES
from ricordo.observability.logs import note_error


class ErrorMiddleware:
    """Answers with a problem where the application fails in a way that nobody foresaw."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def noting_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting_start)
        except Exception as error:
            # What it says may quote anything, so it is told to nobody; the log has where it was.
            note_error(error)
            if started:
                raise  # so that the connection breaks, and nobody takes a half answer for a whole
            detail = "something went wrong inside; the log has more under this request id"
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            response = problem(status, "Unexpected", detail)
            await response(scope, receive, send)


_MAXIMUM_OF: Final = {
    "/v1/import": MAX_IMPORT_FILE_BYTES,
    "/v1/admin/import": MAX_IMPORT_FILE_BYTES,
    "/v1/chat/completions": MAX_PROXY_REQUEST_BYTES,
    "/v1/messages": MAX_PROXY_REQUEST_BYTES,
}
_MOST_DIGITS: Final = 19  # of a number of bytes; Python refuses to read one of thousands


class BodyLimit:
    """Refuses requests that are too large: at once where they say so, else as soon as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        counted = _Counted(receive, send, _MAXIMUM_OF.get(scope["path"], MAX_REQUEST_BYTES))
        if _announced(scope) > counted.maximum:
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
    """Answers ``HEAD`` as it would ``GET``, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_start(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})  # so that no stream is made for nobody

        inner = {**scope, "method": "GET"}
        try:
            await self._app(inner, receive, send_start)
        finally:
            scope.update(inner, method="HEAD")  # which route it was, for whoever counts requests


class _Counted:
    """One request: hands on what comes in, and no answer but a refusal once it is too much.

    Whoever reads the body may take the error that stops it for something else, and say so.
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


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value) if len(value) < _MOST_DIGITS else sys.maxsize
    return 0


# Any page in a browser on the same machine can send requests to a loopback address. Those that
# come from a page say so (``Origin``, or ``Sec-Fetch-Site`` for what a page draws in, such as an
# image), and a name that was made to point here shows in ``Host``.

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_FOREIGN: Final = "pages of other sites may not call this service (setting cors_origins)"


class LoopbackGuard:
    """Lets in only requests that were meant for this machine and come from no foreign page."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], origins: Collection[str]) -> None:
        """``hosts`` are further names of this service, ``origins`` the pages that may call it."""
        self._app = app
        self._hosts = LOOPBACK_NAMES | set(hosts)
        self._origins = set(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                response = problem(HTTPStatus.FORBIDDEN, "ForeignPage", refusal)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if _name_in(f"//{host}") not in self._hosts:
            return "this service, which asks for no key, answers only to localhost"
        origin = headers.get("origin")
        if origin is None:
            return _FOREIGN if _is_drawn_in(headers) else None
        is_known = origin in self._origins or _place_in(origin) == host.lower()
        return None if is_known else _FOREIGN


def _is_drawn_in(headers: Headers) -> bool:
    """Whether a page of another site has this as a part of it; a link to here is no harm."""
    is_foreign = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return is_foreign and headers.get("sec-fetch-dest") != "document"


def _name_in(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _place_in(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
