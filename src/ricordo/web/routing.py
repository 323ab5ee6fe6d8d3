"""Routes of the web page; errors become pages, too."""

import contextlib
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from ricordo.errors import NotAuthenticated, RicordoError, told_outside
from ricordo.http.problems import TooManyRequests, status_of
from ricordo.observability.logs import note_error, request_id
from ricordo.observability.metrics import ServiceMetrics
from ricordo.web.page_request import NoUserChosen, PageRequest, anonymous, redirection
from ricordo.web.rendering import address
from ricordo.web.sessions import PATH

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

SIGN_IN: Final = f"{PATH}/sign-in"
CHOOSE_USER: Final = f"{PATH}/who"
_NO_SUCH_PAGE: Final = "There is no page at this address."
_UNEXPECTED: Final = "An internal error. The log has the details under this request id."


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
                return failure(request, HTTPStatus.INTERNAL_SERVER_ERROR, _UNEXPECTED)

        return handle_as_page


def page_router() -> APIRouter:
    return APIRouter(prefix=PATH, route_class=PageRoute, include_in_schema=False)


def _error_page(request: Request, error: RicordoError) -> Response:
    note_error(error)
    location = _page_of(request).store.database.backend.location
    response = failure(request, status_of(error), told_outside(error, location))
    if isinstance(error, TooManyRequests):
        metrics: ServiceMetrics = request.app.state.metrics
        metrics.rate_limited()
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def failure(request: Request, status: HTTPStatus, detail: str) -> Response:
    """An error page, or the fragment of one for htmx."""
    page = _page_of(request)
    values: dict[str, Any] = {"status": int(status), "phrase": status.phrase, "detail": detail}
    if page.is_partial:
        return page.fragment("_failure.html", status=int(status), problem=values)
    values["request_id"] = request_id()
    return page.render("failure.html", status=int(status), counting=False, problem=values)


def _page_of(request: Request) -> PageRequest:
    known: PageRequest | None = getattr(request.state, "page", None)
    return known or anonymous(request)


def _redirect_to_login(request: Request, error: NotAuthenticated) -> Response:
    """Redirect to sign-in or to the choice of a user, and afterwards back to the requested page, or
    to the page that contains the requested fragment."""
    by_htmx = request.headers.get("hx-request") == "true"
    wanted = None
    if by_htmx:
        with contextlib.suppress(ValueError):
            shown = urlsplit(request.headers.get("hx-current-url", ""))
            wanted = f"{shown.path}?{shown.query}" if shown.query else shown.path
    elif request.method == "GET":
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    login = CHOOSE_USER if isinstance(error, NoUserChosen) else SIGN_IN
    return redirection(address(login, next=wanted), by_htmx=by_htmx)
