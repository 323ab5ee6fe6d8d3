"""Bodies: how large one may be that comes in, and answers to ``HEAD``, which have none."""

import sys
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.http.problems import RequestTooLarge, problem_of
from ricordo.limits import MAX_IMPORT_FILE_BYTES, MAX_PROXY_REQUEST_BYTES, MAX_REQUEST_BYTES

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
