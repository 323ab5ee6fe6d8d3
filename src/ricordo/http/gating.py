"""Routes that let nobody further than the gate who may not come in."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from ricordo.http.callers import Gate

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GatedRoute(APIRoute):
    """A route that finds out who calls before the body is received and read.

    The framework reads it first: strangers could send, and have parsed, as much as the service
    takes, and would be told what is wrong with it.
    """

    def get_route_handler(self) -> Handler:
        """What serves a request of this route."""
        handle = super().get_route_handler()

        async def gated(request: Request) -> Response:
            gate: Gate = request.app.state.gate
            await gate.caller_of(request)
            return await handle(request)

        return gated
