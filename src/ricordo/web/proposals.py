"""People's choices: what was said but is stored only if they agree, what others offer them, and
whom they take nothing from.
"""

from typing import Any, Final

from starlette.responses import Response

from ricordo import limits
from ricordo.errors import AlreadyDecided, InvalidValue, ProposalNotFound
from ricordo.http.problems import status_of
from ricordo.memories.sharing import decides
from ricordo.model.item import Added
from ricordo.model.proposal import BlockedSender, Proposal
from ricordo.model.vocabulary import ProposalState
from ricordo.user_memory.proposals import ANY_STATE
from ricordo.web.forms import Fields, Posted
from ricordo.web.rendering import address
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting, Visitor

_PATH: Final = "/ui/choices"
_OPEN: Final = ProposalState.OPEN.value

STATES: Final = {
    _OPEN: "Waiting",
    ProposalState.APPROVED.value: "Approved",
    ProposalState.REJECTED.value: "Rejected",
    ProposalState.EXPIRED.value: "Lapsed",
    ANY_STATE: "All",
}
"""Which choices can be listed, and what the page calls them."""

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
"""What the fields of proposals are about, in plain words."""

_REJECTED: Final = "Rejected. It is forgotten, and will not be proposed again for a long time."
_BLOCKED: Final = "Blocked. What they offered and shared is gone, and nothing new comes from them."
_UNBLOCKED: Final = "Unblocked. They can offer you memories again."
_DECIDED: Final = "This was decided before, perhaps in another window. Nothing was changed now."
_GONE: Final = "There is no such choice any more. Nothing was changed."

router = page_router()


@router.get("/choices")
def list_choices(
    visit: Visiting, state: str = _OPEN, cursor: str | None = None, stored: int | None = None
) -> Response:
    """What waits for a decision, or what was decided. ``stored`` is the memory that came of the
    decision which the notice on this page tells of."""
    listed = _listed(visit, state, cursor)
    if visit.is_partial:
        return visit.fragment("_choices.html", **listed)
    is_told = visit.session.notice is not None
    return visit.page(
        "choices.html",
        **listed,
        states=STATES,
        stored=stored if is_told else None,
        problem=None,
        blocked=_blocked(visit),
    )


@router.post("/choices/{id}/approve")
def approve(visit: Visiting, form: Posted, id: int) -> Response:
    """Store what was proposed."""
    try:
        added = visit.memory.approve(id, reason=form.get("reason"))
    except (AlreadyDecided, ProposalNotFound, InvalidValue) as problem:
        return _not_decided(visit, problem)
    return _onward(visit, form, _told(added), added.id)


@router.post("/choices/{id}/reject")
def reject(visit: Visiting, form: Posted, id: int) -> Response:
    """Forget what was proposed."""
    try:
        visit.memory.reject(id, reason=form.get("reason"))
    except (AlreadyDecided, ProposalNotFound, InvalidValue) as problem:
        return _not_decided(visit, problem)
    return _onward(visit, form, _REJECTED)


@router.post("/choices/senders/block")
def block_sender(visit: Visiting, form: Posted) -> Response:
    """Want nothing of another user."""
    try:
        visit.memory.block_sender(form.get("sender", ""))
    except InvalidValue as problem:
        return _not_decided(visit, problem)
    return visit.back_to(_PATH, notice=_BLOCKED)


@router.post("/choices/senders/unblock")
def unblock_sender(visit: Visiting, form: Posted) -> Response:
    """Let another user offer memories again."""
    try:
        visit.memory.unblock_sender(form.get("sender", ""))
    except InvalidValue as problem:
        return _not_decided(visit, problem)
    return visit.back_to(_PATH, notice=_UNBLOCKED)


def _blocked(visit: Visitor) -> tuple[BlockedSender, ...]:
    """Whom the user takes nothing from; for an agent's key nobody is named."""
    return visit.memory.blocked_senders() if decides(visit.memory.scope) else ()


def _listed(visit: Visitor, state: str, cursor: str | None = None) -> dict[str, Any]:
    """A page of the proposals, and the address of the next."""
    page = visit.memory.proposals(state=state, limit=limits.PAGE_ROWS, cursor=cursor or None)
    more = None
    if page.next_cursor is not None:
        more = address(_PATH, state=state, cursor=page.next_cursor)
    return {
        "state": state,
        "proposals": page.items,
        "more": more,
        "is_first": not cursor,
        "subjects": {one.id: _subjects(one) for one in page.items},
    }


def _subjects(proposal: Proposal) -> tuple[str, ...]:
    """What a proposal is about; a field that an operator has named is told as it is."""
    return tuple(SUBJECTS.get(name, name.replace("_", " ")) for name in proposal.fields)


def _told(added: Added) -> str:
    """What became of what was approved, without a word of it."""
    if added.duplicate:
        return "Approved. It was known already, so nothing new was stored."
    if added.updated:
        return "Approved. The memory that was there is changed."
    return "Approved and stored."


def _onward(visit: Visitor, form: Fields, notice: str, stored: int | None = None) -> Response:
    """Back to the list, at the choice that came after the one that was decided."""
    following = form.get("next", "")
    is_number = following.isascii() and following.isdecimal()
    place = f"#choice-{following}" if is_number else ""
    return visit.back_to(address(_PATH, stored=stored) + place, notice=notice)


def _not_decided(
    visit: Visitor, problem: AlreadyDecided | ProposalNotFound | InvalidValue
) -> Response:
    """The list with what went wrong."""
    if isinstance(problem, ProposalNotFound):
        told = _GONE
    else:
        told = _DECIDED if isinstance(problem, AlreadyDecided) else f"The {problem}."
    return visit.page(
        "choices.html",
        status=int(status_of(problem)),
        **_listed(visit, _OPEN),
        states=STATES,
        stored=None,
        problem=told,
        blocked=_blocked(visit),
    )
