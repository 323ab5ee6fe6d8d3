"""What becomes of a mistake of ours: a log entry, and an answer that gives nothing away."""

from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.http.problems import problem
from ricordo.observing.current import note_error


class Catching:
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
