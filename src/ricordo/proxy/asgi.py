"""Send an answer of the proxy from any ASGI application."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

from ricordo.proxy.service import ProxyAnswer
from ricordo.proxy.stream import AnswerStream
from ricordo.proxy.upstream import UpstreamFault

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Done = TypeVar("Done")


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, Done]) -> Done | None:
    """The result of ``work``; None where the client disconnects first.

    The request body must have been received before.
    """
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        for one in (leaving, doing):
            one.cancel()
        await asyncio.wait({doing, leaving})


async def send_answer(answer: ProxyAnswer, receive: Receive, send: Send) -> None:
    """Send an answer; a stream ends when the client disconnects, and is always closed.

    An incomplete answer is left incomplete, so that the server breaks the connection.
    """
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()
    ]
    start = {"type": "http.response.start", "status": answer.status, "headers": headers}
    body = answer.body
    if isinstance(body, bytes):
        headers.append((b"content-length", str(len(body)).encode()))
        await send(start)
        await send({"type": "http.response.body", "body": body})
        return
    try:
        await send(start)
        await unless_gone(receive, _pump(body, send))
    except (UpstreamFault, OSError):  # the upstream's or the client's connection broke
        return
    finally:
        await body.aclose()


async def _pump(body: AnswerStream, send: Send) -> None:
    async for chunk in body:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
