"""Routes of the web page; errors become pages, too."""

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
    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_as_page(request: Request) -> Response:
            try:
                return await handle(request)
            except NotAuthenticated as error:
                return _redirect_to_login(request, error)
            except RicordoError as error:
                return _error_page(request, error)
            except (HTTPException, RequestValidationError):
                return failure(request, HTTPStatus.NOT_FOUND, _NO_SUCH_PAGE)
            except Exception as error:  # noqa: BLE001 - the last resort
                # Its message may quote anything, so it is not shown; the log has the traceback.
                note_error(error)
                return failure(request, HTTPStatus.INTERNAL_SERVER_ERROR, _UNFORESEEN)

        return handle_as_page


def page_router() -> APIRouter:
    return APIRouter(prefix=PATH, route_class=PageRoute, include_in_schema=False)


def _error_page(request: Request, error: RicordoError) -> Response:
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
    """An error page, or the fragment of one for htmx."""
    visitor = _visitor(request)
    values: dict[str, Any] = {"status": int(status), "phrase": status.phrase, "detail": detail}
    if visitor.is_partial:
        return visitor.fragment("_failure.html", status=int(status), problem=values)
    values["request_id"] = request_id()
    return visitor.page("failure.html", status=int(status), counting=False, problem=values)


def _visitor(request: Request) -> Visitor:
    known: Visitor | None = getattr(request.state, "visitor", None)
    return known or stranger(request)


def _redirect_to_login(request: Request, error: NotAuthenticated) -> Response:
    """Redirect to sign-in or to the choice of a user, and back afterwards."""
    door = CHOOSE_USER if isinstance(error, NoUserChosen) else SIGN_IN
    where = address(door, next=_wanted(request))
    if request.headers.get("hx-request") == "true":
        return Response(status_code=HTTPStatus.OK, headers={**PRIVATE, "HX-Redirect": where})
    return RedirectResponse(where, HTTPStatus.SEE_OTHER, PRIVATE)


def _wanted(request: Request) -> str | None:
    """The requested page; for a fragment, the page that contains it."""
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
