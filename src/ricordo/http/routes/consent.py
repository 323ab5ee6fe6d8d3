"""What waits for the user's consent, also what others offer, and the profile in every prompt."""

from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import Asked, PageAsked, ReasonAsked, given_by
from ricordo.http.callers import Acting
from ricordo.http.routing import router_for
from ricordo.model.item import Added
from ricordo.model.profile import Profile, ProfileUpdate
from ricordo.model.proposal import Proposal
from ricordo.model.record import Page
from ricordo.model.vocabulary import ProposalState

router = router_for("Consent and profile", "/v1")

ProposalId = Annotated[int, Path(ge=1, le=limits.MAX_ID, description="The proposal.", examples=[3])]


class ProposalsAsked(PageAsked):
    """Which proposals."""

    state: str = Field(
        default=ProposalState.OPEN.value,
        description=f"{', '.join(ProposalState)} or any.",
        examples=["open"],
    )


class ProfileAsked(Asked):
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
def list_proposals(asked: Annotated[ProposalsAsked, Query()], user: Acting) -> Response:
    """List what was said but is not stored yet, and what others offer to share.

    What is offered has an `owner_id`, and its number is that of the memory.
    """
    return answer(user.proposals(**asked.given()))


@router.post("/proposals/{id}/approve", response_model=Added)
def approve(id: ProposalId, user: Acting, asked: ReasonAsked | None = None) -> Response:
    """Store what was proposed, or begin to see what another user offers."""
    return answer(user.approve(id, **given_by(asked)))


@router.post("/proposals/{id}/reject", response_model=Proposal)
def reject(id: ProposalId, user: Acting, asked: ReasonAsked | None = None) -> Response:
    """Turn down what was proposed: it is forgotten, and not proposed again for long.

    What another user offered cannot be offered again.
    """
    return answer(user.reject(id, **given_by(asked)))


@router.get("/profile", response_model=Profile)
def read_profile(user: Acting) -> Response:
    """Read the fields of the user's profile."""
    return answer(user.user_profile())


@router.patch("/profile", response_model=ProfileUpdate)
def update_profile(asked: ProfileAsked, user: Acting) -> Response:
    """Set fields of the user's profile, and remove others. Fields that are not named stay.

    Unless it is `explicit`, a field that touches something sensitive becomes a proposal, and a wish
    about tone or a goal waits until it is said again.
    """
    return answer(user.update_user_profile(**asked.given()))
