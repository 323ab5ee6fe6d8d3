"""Proposals: what is stored only if the user agrees, what others offer, and blocked senders."""

from http import HTTPStatus
from typing import Any, Final

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.errors import AlreadyDecided, InvalidValue, ProposalNotFound
from ricordo.http.problems import status_of
from ricordo.memories.sharing import decides
from ricordo.model.fields import ANY
from ricordo.model.vocabulary import ProposalState
from ricordo.web.forms import Fields, Posted
from ricordo.web.memory import stored_by
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.rendering import PRIVATE, address, next_page
from ricordo.web.routing import page_router
from ricordo.web.sessions import Reverse

_PATH: Final = "/ui/proposals"
_OPEN: Final = ProposalState.OPEN.value

STATES: Final = {
    _OPEN: "Open",
    ProposalState.APPROVED.value: "Approved",
    ProposalState.REJECTED.value: "Rejected",
    ProposalState.EXPIRED.value: "Expired",
    ANY: "All",
}
"""The states to list, and their labels."""

SUBJECTS: Final = {
    "preferred_name": "name",
    "pronouns": "pronouns",
    "city": "home",
    "language": "language",
    "health": "health",
    "faith": "faith",
    "sexuality": "sexuality",
    "politics": "politics",
    "money": "money",
    "identifiers": "something that identifies, such as an address or a number",
    "tone": "style of answers",
    "goals": "goals",
    "redirects_money": "where money goes from now on",
    "redirects_mail": "where messages go from now on",
    "redirects_credentials": "who gets passwords or keys from now on",
    "redirects_tools": "what the assistant runs or opens from now on",
    "unsure_voice": "words that may be somebody else's",
}
"""The fields of proposals, in plain words."""

_REJECTED: Final = "Rejected. It is forgotten, and will not be proposed again for a long time."
_BLOCKED: Final = "Blocked. What they offered and shared is gone, and nothing new comes from them."
_UNBLOCKED: Final = "Unblocked. They can offer memories again."
_DECIDED: Final = "This is decided already, perhaps in another window. Nothing was changed."
_GONE: Final = "This proposal no longer exists. Nothing was changed."

router = page_router()


@router.get("/choices")
def redirect_old_address(request: Request) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(_PATH + query, HTTPStatus.MOVED_PERMANENTLY, PRIVATE)


@router.get("/proposals")
def list_proposals(
    page: Page, state: str = _OPEN, cursor: str | None = None, stored: int | None = None
) -> Response:
    """``stored`` is the memory of the approved proposal that the notice is about."""
    listed = _listed(page, state, cursor)
    if page.is_partial:
        return page.fragment("_proposals.html", **listed)
    has_notice = page.session.notice is not None
    return _show(page, listed, stored=stored if has_notice else None)


@router.post("/proposals/{id}/approve")
def approve(page: Page, form: Posted, id: int) -> Response:
    try:
        added = page.memory.approve(id, reason=form.get("reason"))
    except (AlreadyDecided, ProposalNotFound, InvalidValue) as problem:
        return _not_decided(page, problem)
    notice, reverse = "Approved and stored.", None
    if not added.duplicate:
        reverse = stored_by(page, added.id)
    if added.duplicate:
        notice = "Approved. It was known already, so nothing new was stored."
    elif added.updated:
        notice = "Approved. The existing memory was changed."
    return _to_next(page, form, notice, added.id, reverse)


@router.post("/proposals/{id}/reject")
def reject(page: Page, form: Posted, id: int) -> Response:
    try:
        page.memory.reject(id, reason=form.get("reason"))
    except (AlreadyDecided, ProposalNotFound, InvalidValue) as problem:
        return _not_decided(page, problem)
    return _to_next(page, form, _REJECTED)


@router.post("/proposals/senders/block")
def block_sender(page: Page, form: Posted) -> Response:
    try:
        page.memory.block_sender(form.get("sender", ""))
    except InvalidValue as problem:
        return _not_decided(page, problem)
    return page.redirect(_PATH, notice=_BLOCKED)


@router.post("/proposals/senders/unblock")
def unblock_sender(page: Page, form: Posted) -> Response:
    try:
        page.memory.unblock_sender(form.get("sender", ""))
    except InvalidValue as problem:
        return _not_decided(page, problem)
    again = Reverse(f"{_PATH}/senders/block", {"sender": form.get("sender", "")})
    return page.redirect(_PATH, notice=_UNBLOCKED, reverse=again)


def _show(
    page: PageRequest,
    listed: dict[str, Any],
    *,
    status: int = 200,
    stored: int | None = None,
    problem: str | None = None,
) -> Response:
    # An agent's key does not see who is blocked.
    blocked = page.memory.blocked_senders() if decides(page.memory.scope) else ()
    return page.render(
        "proposals.html",
        status=status,
        **listed,
        states=STATES,
        stored=stored,
        problem=problem,
        blocked=blocked,
    )


def _listed(page: PageRequest, state: str, cursor: str | None = None) -> dict[str, Any]:
    found = page.memory.proposals(state=state, limit=limits.PAGE_ROWS, cursor=cursor or None)
    return {
        "state": state,
        "proposals": found.items,
        "more": next_page(_PATH, found.next_cursor, state=state),
        "is_first": not cursor,
        "subjects": {  # fields that an operator defined are shown by name
            one.id: tuple(SUBJECTS.get(name, name.replace("_", " ")) for name in one.fields)
            for one in found.items
        },
    }


def _to_next(
    page: PageRequest,
    form: Fields,
    notice: str,
    stored: int | None = None,
    reverse: Reverse | None = None,
) -> Response:
    """Back to the list, at the proposal after the decided one."""
    following = form.get("next", "")
    is_number = following.isascii() and following.isdecimal()
    place = f"#proposal-{following}" if is_number else ""
    return page.redirect(address(_PATH, stored=stored) + place, notice=notice, reverse=reverse)


def _not_decided(
    page: PageRequest, problem: AlreadyDecided | ProposalNotFound | InvalidValue
) -> Response:
    if isinstance(problem, ProposalNotFound):
        detail = _GONE
    else:
        detail = _DECIDED if isinstance(problem, AlreadyDecided) else f"The {problem}."
    return _show(page, _listed(page, _OPEN), status=int(status_of(problem)), problem=detail)
