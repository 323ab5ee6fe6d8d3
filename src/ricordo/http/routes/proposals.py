"""Proposals, the user profile, and sharing between users."""

from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import Field

from ricordo import limits
from ricordo.http import examples
from ricordo.http.auth import Acting
from ricordo.http.responses import answer, nothing
from ricordo.http.routes.memories import PREFIX
from ricordo.http.routing import router_for, showing
from ricordo.http.schemas import MemoryId, PageRequest, ReasonRequest, RequestBody, given_by
from ricordo.model.item import Added
from ricordo.model.profile import Profile, ProfileUpdate
from ricordo.model.proposal import BlockedSender, Link, Proposal
from ricordo.model.record import Page
from ricordo.model.vocabulary import ProposalState

router = router_for("Consent and profile", "/v1")

ProposalId = Annotated[int, Path(ge=1, le=limits.MAX_ID, description="The proposal.", examples=[3])]


class ProposalsRequest(PageRequest):
    """Which proposals."""

    state: str = Field(
        default=ProposalState.OPEN.value,
        description=f"{', '.join(ProposalState)} or any.",
        examples=["open"],
    )


class ProfileRequest(RequestBody):
    """What the profile is to say."""

    fields: dict[str, str | None] = Field(
        min_length=1,
        max_length=limits.MAX_PROFILE_FIELDS,
        description="Fields by name; null removes one.",
        examples=[{"city": "Bekasi", "tone": None}],
    )
    explicit: bool = Field(
        default=False,
        description="The user said so themselves: nothing waits for consent or repetition.",
    )
    reason: str | None = Field(default=None, description="For the history.")


@router.get("/proposals", response_model=Page[Proposal])
def list_proposals(query: Annotated[ProposalsRequest, Query()], user: Acting) -> Response:
    """List what was said but is not stored yet, and what others offer to share.

    What is offered has an `owner_id`, and its number is that of the memory.
    """
    return answer(user.proposals(**query.given()))


@router.post("/proposals/{id}/approve", response_model=Added)
def approve(id: ProposalId, user: Acting, asked: ReasonRequest | None = None) -> Response:
    """Store what was proposed, or begin to see what another user offers."""
    return answer(user.approve(id, **given_by(asked)))


@router.post("/proposals/{id}/reject", response_model=Proposal)
def reject(id: ProposalId, user: Acting, asked: ReasonRequest | None = None) -> Response:
    """Turn down what was proposed: it is forgotten, and not proposed again for long.

    What another user offered cannot be offered again.
    """
    return answer(user.reject(id, **given_by(asked)))


@router.get("/profile", response_model=Profile)
def read_profile(user: Acting) -> Response:
    """Read the fields of the user's profile."""
    return answer(user.user_profile())


@router.patch("/profile", response_model=ProfileUpdate)
def update_profile(body: ProfileRequest, user: Acting) -> Response:
    """Set fields of the user's profile, and remove others. Fields that are not named stay.

    Unless it is `explicit`, a field that touches something sensitive becomes a proposal, and a wish
    about tone or a goal waits until it is said again.
    """
    return answer(user.update_user_profile(**body.given()))


sharing_router = router_for("Sharing", "/v1")

_LINKS = f"{PREFIX.removeprefix('/v1')}/{{id}}/links"
_BLOCKED = "/blocked-senders"

Viewer = Annotated[
    str,
    Path(
        min_length=1,
        max_length=limits.MAX_REFERENCE_CHARS,
        description="The other user.",
        examples=["ben"],
    ),
]


@sharing_router.get(_LINKS, response_model=list[Link], responses=showing([examples.LINK]))
def memory_links(id: MemoryId, user: Acting) -> Response:
    """List the users whom a memory is shared with (`accepted`) or only offered to (`offered`)."""
    return answer(user.links(id))


@sharing_router.put(
    f"{_LINKS}/{{viewer:path}}", response_model=Link, responses=showing(examples.LINK)
)
def link_memory(id: MemoryId, viewer: Viewer, user: Acting) -> Response:
    """Offer a memory to another user, who sees it once they have accepted it.

    They find it among their proposals. They see what it says, not where it came from. It is
    `accepted` at once where the operator has approved that these two share. A key of an agent needs
    the permission `share`.
    """
    return answer(user.link(id, viewer))


@sharing_router.delete(f"{_LINKS}/{{viewer:path}}", status_code=204)
def unlink_memory(id: MemoryId, viewer: Viewer, user: Acting) -> Response:
    """Take a shared memory out of a user's sight, or withdraw the offer of it.

    Its owner names any viewer; a viewer can name themselves, and is not offered it again.
    """
    user.unlink(id, viewer)
    return nothing()


@sharing_router.get(
    _BLOCKED, response_model=list[BlockedSender], responses=showing([examples.BLOCKED_SENDER])
)
def blocked_senders(user: Acting) -> Response:
    """List the users who can offer this one nothing."""
    return answer(user.blocked_senders())


@sharing_router.put(
    f"{_BLOCKED}/{{sender:path}}",
    response_model=BlockedSender,
    responses=showing(examples.BLOCKED_SENDER),
)
def block_sender(sender: Viewer, user: Acting) -> Response:
    """Want nothing of another user: what they have offered and shared ends, and nothing new comes.

    Not for the key of an agent.
    """
    return answer(user.block_sender(sender))


@sharing_router.delete(f"{_BLOCKED}/{{sender:path}}", status_code=204)
def unblock_sender(sender: Viewer, user: Acting) -> Response:
    """Let another user offer memories again. What ended when they were blocked stays ended."""
    user.unblock_sender(sender)
    return nothing()
