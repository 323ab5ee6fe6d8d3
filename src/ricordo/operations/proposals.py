"""Consent: proposals, memories that users share, and the profile."""

from collections.abc import Mapping
from typing import Annotated

from ricordo import limits
from ricordo.model.fields import Choice, Flag, Integer, Json, UserName
from ricordo.model.item import Added
from ricordo.model.profile import Profile, ProfileUpdate
from ricordo.model.proposal import BlockedSender, Link, Proposal
from ricordo.model.record import Page
from ricordo.model.vocabulary import GroupRole, ProposalState
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import Ids, MemoryId, PageCursor, PageLimit, Reason

consent = Catalogue("Consent and profile")
sharing = Catalogue("Sharing")

ProposalId = Annotated[
    int, Integer(1, limits.MAX_ID, about="The proposal.", example=3, metavar="ID")
]
_USER = UserName(about="The other user.", example="ben", completes="user")
_FIELDS = {
    "type": "object",
    "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "minProperties": 1,
    "maxProperties": limits.MAX_PROFILE_FIELDS,
}


@consent("GET /v1/proposals list_proposals", within_project=True, in_group=GroupRole.READ)
def proposals(
    *,
    state: Annotated[
        ProposalState | str,
        Choice(ProposalState, or_any=True, about="Which of them.", example="open", metavar="STATE"),
    ] = ProposalState.OPEN,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
) -> Page[Proposal]:
    """List proposals: what was said but waits for consent, and what others offer to share.

    ``state`` is open, approved, rejected, expired or any. What is offered by others has their
    name as its ``owner_id``, and is shown to the user alone: to no agent's key.

    Raises:
        InvalidValue, InvalidCursor.
    """


@consent("POST /v1/proposals/{id}/approve approve", within_project=True, in_group=GroupRole.WRITE)
def approve(id: ProposalId, *, reason: Reason = None) -> Added:
    """Approve a proposal: store it, or accept what another user offers.

    Raises:
        ProposalNotFound: this user has no such proposal.
        AlreadyDecided: it was approved or rejected before, its time has passed, something
            newer is known, or what was offered is no longer there.
        PermissionMissing: an agent asks for what another user offers.
    """


@consent("POST /v1/proposals/{id}/reject reject", within_project=True, in_group=GroupRole.WRITE)
def reject(id: ProposalId, *, reason: Reason = None) -> Proposal:
    """Reject a proposal: it is forgotten, and not proposed again for long; what
    another user offered cannot be offered again.

    Raises:
        ProposalNotFound: this user has no such proposal.
        AlreadyDecided: it was approved or rejected before, or its time has passed.
        PermissionMissing: an agent asks for what another user offers.
    """


@sharing("GET /v1/memories/{id}/links memory_links", within_categories=True)
def links(id: MemoryId) -> tuple[Link, ...]:
    """The users whom a memory of this user is shared with or only offered to, by name.

    Raises:
        MemoryNotFound, NotOwner.
    """


@sharing("POST /v1/memories/links list_links", within_categories=True)
def links_of(ids: Ids) -> tuple[Link, ...]:
    """The users whom some memories of this user are shared with or only offered to, in the order of
    the ids.

    What does not exist, has expired or is another user's is left out.

    Raises:
        InvalidValue: something that is no id, or too many.
    """


@sharing("PUT /v1/memories/{id}/links/{with_user:path} link_memory", within_categories=True)
def link(id: MemoryId, with_user: Annotated[str, _USER]) -> Link:
    """Offer a memory to another user, who sees it once they have accepted it.

    They find the offer among their proposals. It is accepted at once where the operator has
    approved that these two share, unless the other user blocks this one or turned it down.

    Raises:
        InvalidValue: with oneself, or too many links.
        OfferRefused: they turned it down or block this user, or too much waits for them.
        PermissionMissing: an agent asks, whose key does not have the permission to share.
        MemoryNotFound, NotOwner, IllegalTransition.
    """


@sharing("DELETE /v1/memories/{id}/links/{with_user:path} unlink_memory", within_categories=True)
def unlink(id: MemoryId, with_user: Annotated[str | None, _USER] = None) -> None:
    """Take a shared memory out of one user's sight, or withdraw the offer of it. A viewer does
    it for themselves, and then it cannot be offered to them again.

    Raises:
        MemoryNotFound: no such memory, link or offer.
        NotOwner, InvalidValue.
    """


@sharing("GET /v1/blocked-senders blocked_senders")
def blocked_senders() -> tuple[BlockedSender, ...]:
    """List the blocked users, who can offer this one nothing.

    Raises:
        PermissionMissing: an agent asks.
    """


@sharing("PUT /v1/blocked-senders/{sender:path} block_sender")
def block_sender(sender: Annotated[str, _USER]) -> BlockedSender:
    """Block a user: what they have offered and shared ends, and they can offer
    nothing new. Doing it again changes nothing.

    Raises:
        InvalidValue: oneself, or too many.
        PermissionMissing: an agent asks.
    """


@sharing("DELETE /v1/blocked-senders/{sender:path} unblock_sender")
def unblock_sender(sender: Annotated[str, _USER]) -> None:
    """Let another user offer memories again. What ended when they were blocked stays ended.

    Raises:
        InvalidValue: nobody can have that name.
        PermissionMissing: an agent asks.
    """


@consent("GET /v1/profile read_profile", within_project=True)
def user_profile() -> Profile:
    """The fields of the user's profile; edits of their ``USER.md`` are taken over first.

    Raises:
        InvalidValue: global memories have no profile.
    """


@consent("PATCH /v1/profile update_profile", within_project=True)
def update_user_profile(
    fields: Annotated[
        Mapping[str, str | None],
        Json(
            _FIELDS,
            about="Fields by name; null removes one.",
            example={"city": "Bekasi", "tone": None},
        ),
    ],
    *,
    explicit: Annotated[
        bool, Flag(about="The user said so themselves: nothing waits for consent or repetition.")
    ] = False,
    reason: Reason = None,
) -> ProfileUpdate:
    """Set fields of the user's profile, such as name, city or tone; None removes one.

    With ``explicit``, because the user said so themselves, all of it is stored. Otherwise a
    field that touches something sensitive becomes a proposal (:meth:`approve`), and a wish
    about tone or a goal waits until it is said again. Every field is checked before anything
    is written. ``USER.md`` follows where there is one, or where the user's mirror is on.

    Raises:
        InvalidValue: a field or value is not allowed, or there would be too many.
    """
