"""Routes of pages: what goes wrong is told as a page, too."""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from ricordo.errors import NotAuthenticated, RicordoError, told_outside
from ricordo.http.problems import TooManyRequests, status_of
from ricordo.observability.logs import note_error, request_id
from ricordo.observability.metrics import ServiceMetrics
from ricordo.web.rendering import PRIVATE, address
from ricordo.web.sessions import PATH
from ricordo.web.visitors import NoUserChosen, Visitor, stranger

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

SIGN_IN: Final = f"{PATH}/sign-in"
CHOOSE_USER: Final = f"{PATH}/who"
_NO_SUCH_PAGE: Final = "There is nothing at this address."
_UNFORESEEN: Final = "Something went wrong inside. The log has more under this request id."


class PageRoute(APIRoute):
    """A route that answers people."""

    def get_route_handler(self) -> Handler:
        """What serves a request of this route."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except NotAuthenticated as error:
                return _to_the_door(request, error)
            except RicordoError as error:
                return told(request, error)
            except (HTTPException, RequestValidationError):
                return failure(request, HTTPStatus.NOT_FOUND, _NO_SUCH_PAGE)
            except Exception as error:  # noqa: BLE001 - the last resort
                # What it says may quote anything, so it is told to nobody; the log has where it
                # was. As in http/middleware.py, but as a page.
                note_error(error)
                return failure(request, HTTPStatus.INTERNAL_SERVER_ERROR, _UNFORESEEN)

        return answered


def page_router() -> APIRouter:
    """A router for a page."""
    return APIRouter(prefix=PATH, route_class=PageRoute, include_in_schema=False)


def told(request: Request, error: RicordoError) -> Response:
    """One of our errors as a page."""
    note_error(error)
    store = _visitor(request).store
    metrics: ServiceMetrics = request.app.state.metrics
    detail = told_outside(error, store.database.backend.location)
    response = failure(request, status_of(error), detail)
    if isinstance(error, TooManyRequests):
        metrics.rate_limited()
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def failure(request: Request, status: HTTPStatus, detail: str) -> Response:
    """A page, or the part of one that htmx asks for, that says what went wrong."""
    visitor = _visitor(request)
    values = {"status": int(status), "phrase": status.phrase, "detail": detail}
    if visitor.is_partial:
        return visitor.fragment("_failure.html", status=int(status), problem=values)
    told_of = {**values, "request_id": request_id()}
    return visitor.page("failure.html", status=int(status), counting=False, problem=told_of)


def _visitor(request: Request) -> Visitor:
    known: Visitor | None = getattr(request.state, "visitor", None)
    return known or stranger(request)


def _to_the_door(request: Request, error: NotAuthenticated) -> Response:
    """Where to sign in or to choose a user, and from there back to where they wanted to go."""
    door = CHOOSE_USER if isinstance(error, NoUserChosen) else SIGN_IN
    where = address(door, next=_wanted(request))
    if request.headers.get("hx-request") == "true":
        return Response(status_code=HTTPStatus.OK, headers={**PRIVATE, "HX-Redirect": where})
    return RedirectResponse(where, HTTPStatus.SEE_OTHER, PRIVATE)


def _wanted(request: Request) -> str | None:
    """The page that was asked for; for a part of one, the page that it is a part of."""
    if request.headers.get("hx-request") == "true":
        try:
            shown = urlsplit(request.headers.get("hx-current-url", ""))
        except ValueError:
            return None
        path, query = shown.path, shown.query
    elif request.method == "GET":
        path, query = request.url.path, request.url.query
    else:
        return None
    return f"{path}?{query}" if query else path
