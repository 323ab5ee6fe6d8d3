"""Signing in and out, and choosing the user whose memory is shown."""

from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.errors import InvalidValue, NotAuthenticated, PermissionMissing
from ricordo.http.auth import Gate
from ricordo.model import checks
from ricordo.model.vocabulary import GLOBAL_OWNER, Permission
from ricordo.observability.logs import note_key
from ricordo.observability.metrics import ServiceMetrics
from ricordo.storage.access import end_session
from ricordo.web.forms import Posted, checked_fields
from ricordo.web.page_request import Page, anonymous
from ricordo.web.rendering import PRIVATE
from ricordo.web.routing import SIGN_IN, page_router
from ricordo.web.sessions import PATH

FIRST_PAGE: Final = f"{PATH}/memories"
_SEE_OTHER: Final = 303

router: Final = APIRouter(include_in_schema=False)
_pages: Final = page_router()


@router.get("/")
@router.get(PATH)
@router.get(f"{PATH}/")
def go_in() -> Response:
    return RedirectResponse(FIRST_PAGE, _SEE_OTHER, PRIVATE)


@_pages.get("/sign-in")
def show_sign_in(request: Request, next: str | None = None) -> Response:
    gate: Gate = request.app.state.gate
    if not gate.requires_keys:
        return RedirectResponse(FIRST_PAGE, _SEE_OTHER, PRIVATE)
    return anonymous(request).render("sign_in.html", next=_safe_target(next), problem=None)


@_pages.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Failed attempts count towards the same rate limit as those of the API."""
    gate: Gate = request.app.state.gate
    page = anonymous(request)
    form = await checked_fields(request, page)
    wanted = _safe_target(form.get("next"))
    address = request.client.host if request.client else "?"
    try:
        key = await run_in_threadpool(page.store.authenticate, form.get("key"))
    except NotAuthenticated:
        metrics: ServiceMetrics = request.app.state.metrics
        metrics.authentication_failed()
        gate.limiter.count(f"refused {address}")
        problem = "This key is not valid: it is unknown, was revoked or has expired."
        return page.render("sign_in.html", status=401, next=wanted, problem=problem)
    note_key(key.id)
    gate.limiter.count(f"key {key.id}")
    return page.redirect(wanted, session=page.session.signed_in(key.id))


@_pages.post("/sign-out")
def sign_out(page: Page, form: Posted) -> Response:  # noqa: ARG001 - checked by being read
    """End the session, also for copies of its cookie."""
    end_session(page.store.database, page.session.id, page.cookies.ends_at(page.session))
    response = RedirectResponse(SIGN_IN, _SEE_OTHER, PRIVATE)
    page.cookies.drop(page.request, response)
    return response


@_pages.get("/who")
def show_users(page: Page, after: str = "", next: str | None = None) -> Response:
    _check_may_choose(page)
    return _user_form(page, next, after=after)


def _user_form(
    page: Page, wanted: str | None, *, after: str = "", problem: str | None = None
) -> Response:
    size = limits.PAGE_ROWS
    users: tuple[str, ...] = ()
    if page.may(Permission.READ_ALL):
        found = page.store.users(limit=size + 2, after=after)
        users = tuple(one for one in found if one != GLOBAL_OWNER)
    return page.render(
        "who.html",
        status=HTTPStatus.OK if problem is None else HTTPStatus.UNPROCESSABLE_ENTITY,
        users=users[:size],
        more_after=users[size - 1] if len(users) > size else None,
        next=_safe_target(wanted),
        problem=problem,
    )


@_pages.post("/who")
def choose_user(page: Page, form: Posted) -> Response:
    _check_may_choose(page)
    if "user" not in form:
        return _user_form(page, form.get("next"), problem="Enter a user.")
    if form["user"] == GLOBAL_OWNER and page.may(Permission.READ_ALL):
        return page.redirect(FIRST_PAGE, session=page.session.with_user(GLOBAL_OWNER))
    try:
        user = checks.user_id(form["user"])
    except InvalidValue as problem:
        detail = f"This is not a valid user: {problem.problem}."
        return _user_form(page, form.get("next"), problem=detail)
    return page.redirect(_safe_target(form.get("next")), session=page.session.with_user(user))


def _check_may_choose(page: Page) -> None:
    if not page.may_choose_user:
        raise PermissionMissing("this key is for one user's memory")


def _safe_target(wanted: str | None) -> str:
    """The redirect target after signing in: only our own pages, whatever the link says."""
    if wanted is None or not wanted.startswith(f"{PATH}/"):
        return FIRST_PAGE
    # Browsers treat a backslash like a slash, and an encoded dot like a dot.
    path = wanted.partition("?")[0].partition("#")[0]
    steps = path.lower().replace("%2e", ".").split("/")
    is_within = wanted.isprintable() and "\\" not in wanted and not {".", ".."} & set(steps)
    return wanted if is_within else FIRST_PAGE


router.routes.extend(_pages.routes)


missing_router = page_router()


@missing_router.get("/{path:path}")
def get_nothing(page: Page, path: str) -> Response:  # noqa: ARG001 - any path, any caller
    raise HTTPException(404)
