"""Proposals: what is stored only if the user agrees, what others offer, and blocked senders."""

from http import HTTPStatus
from typing import Any, Final

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.errors import AlreadyDecided, InvalidValue, ProposalNotFound
from ricordo.http.problems import status_of
from ricordo.memories.sharing import decides
from ricordo.model.item import Added
from ricordo.model.vocabulary import ProposalState
from ricordo.user_memory.proposals import ANY_STATE
from ricordo.web.forms import Fields, Posted
from ricordo.web.rendering import PRIVATE, address
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting, Visitor

_PATH: Final = "/ui/proposals"
_OPEN: Final = ProposalState.OPEN.value

STATES: Final = {
    _OPEN: "Waiting",
    ProposalState.APPROVED.value: "Approved",
    ProposalState.REJECTED.value: "Rejected",
    ProposalState.EXPIRED.value: "Lapsed",
    ANY_STATE: "All",
}
"""The states to list, and their labels."""

SUBJECTS: Final = {
    "preferred_name": "what you are called",
    "pronouns": "your pronouns",
    "city": "where you live",
    "language": "the language you speak",
    "health": "your health",
    "faith": "your faith",
    "sexuality": "your sexuality",
    "politics": "your politics",
    "money": "your money",
    "identifiers": "something that identifies you, such as an address or a number",
    "tone": "how you like to be answered",
    "goals": "what you want to reach",
    "redirects_money": "where money goes from now on",
    "redirects_mail": "where messages go from now on",
    "redirects_credentials": "who gets passwords or keys from now on",
    "redirects_tools": "what the assistant runs or opens from now on",
    "unsure_voice": "words that may be somebody else's",
}
"""The fields of proposals, in plain words."""

_REJECTED: Final = "Rejected. It is forgotten, and will not be proposed again for a long time."
_BLOCKED: Final = "Blocked. What they offered and shared is gone, and nothing new comes from them."
_UNBLOCKED: Final = "Unblocked. They can offer you memories again."
_DECIDED: Final = "This was decided before, perhaps in another window. Nothing was changed now."
_GONE: Final = "There is no such proposal any more. Nothing was changed."

router = page_router()


@router.get("/choices")
def redirect_old_address(request: Request) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(_PATH + query, HTTPStatus.MOVED_PERMANENTLY, PRIVATE)


@router.get("/proposals")
def list_proposals(
    visit: Visiting, state: str = _OPEN, cursor: str | None = None, stored: int | None = None
) -> Response:
    """``stored`` is the memory that came of the decision in the notice."""
    listed = _listed(visit, state, cursor)
    if visit.is_partial:
        return visit.fragment("_proposals.html", **listed)
    has_notice = visit.session.notice is not None
    return _page(visit, listed, stored=stored if has_notice else None)


@router.post("/proposals/{id}/approve")
def approve(visit: Visiting, form: Posted, id: int) -> Response:
    try:
        added = visit.memory.approve(id, reason=form.get("reason"))
    except (AlreadyDecided, ProposalNotFound, InvalidValue) as problem:
        return _not_decided(visit, problem)
    return _to_next(visit, form, _approval_notice(added), added.id)


@router.post("/proposals/{id}/reject")
def reject(visit: Visiting, form: Posted, id: int) -> Response:
    try:
        visit.memory.reject(id, reason=form.get("reason"))
    except (AlreadyDecided, ProposalNotFound, InvalidValue) as problem:
        return _not_decided(visit, problem)
    return _to_next(visit, form, _REJECTED)


@router.post("/proposals/senders/block")
def block_sender(visit: Visiting, form: Posted) -> Response:
    try:
        visit.memory.block_sender(form.get("sender", ""))
    except InvalidValue as problem:
        return _not_decided(visit, problem)
    return visit.back_to(_PATH, notice=_BLOCKED)


@router.post("/proposals/senders/unblock")
def unblock_sender(visit: Visiting, form: Posted) -> Response:
    try:
        visit.memory.unblock_sender(form.get("sender", ""))
    except InvalidValue as problem:
        return _not_decided(visit, problem)
    return visit.back_to(_PATH, notice=_UNBLOCKED)


def _page(
    visit: Visitor,
    listed: dict[str, Any],
    *,
    status: int = 200,
    stored: int | None = None,
    problem: str | None = None,
) -> Response:
    # An agent's key does not see who is blocked.
    blocked = visit.memory.blocked_senders() if decides(visit.memory.scope) else ()
    return visit.page(
        "proposals.html",
        status=status,
        **listed,
        states=STATES,
        stored=stored,
        problem=problem,
        blocked=blocked,
    )


def _listed(visit: Visitor, state: str, cursor: str | None = None) -> dict[str, Any]:
    page = visit.memory.proposals(state=state, limit=limits.PAGE_ROWS, cursor=cursor or None)
    more = None
    if page.next_cursor is not None:
        more = address(_PATH, state=state, cursor=page.next_cursor)
    return {
        "state": state,
        "proposals": page.items,
        "more": more,
        "is_first": not cursor,
        "subjects": {  # fields that an operator defined are shown by name
            one.id: tuple(SUBJECTS.get(name, name.replace("_", " ")) for name in one.fields)
            for one in page.items
        },
    }


def _approval_notice(added: Added) -> str:
    if added.duplicate:
        return "Approved. It was known already, so nothing new was stored."
    if added.updated:
        return "Approved. The memory that was there is changed."
    return "Approved and stored."


def _to_next(visit: Visitor, form: Fields, notice: str, stored: int | None = None) -> Response:
    """Back to the list, at the proposal after the decided one."""
    following = form.get("next", "")
    is_number = following.isascii() and following.isdecimal()
    place = f"#proposal-{following}" if is_number else ""
    return visit.back_to(address(_PATH, stored=stored) + place, notice=notice)


def _not_decided(
    visit: Visitor, problem: AlreadyDecided | ProposalNotFound | InvalidValue
) -> Response:
    if isinstance(problem, ProposalNotFound):
        detail = _GONE
    else:
        detail = _DECIDED if isinstance(problem, AlreadyDecided) else f"The {problem}."
    return _page(visit, _listed(visit, _OPEN), status=int(status_of(problem)), problem=detail)
