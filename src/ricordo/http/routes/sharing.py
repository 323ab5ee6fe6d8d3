"""Sharing memories with other users, and whom a user takes nothing from."""

from typing import Annotated

from fastapi import Path
from fastapi.responses import Response

from ricordo import limits
from ricordo.http.answers import answer, nothing
from ricordo.http.asked import MemoryId
from ricordo.http.callers import Acting
from ricordo.http.routes import examples
from ricordo.http.routes.memories import PREFIX
from ricordo.http.routing import router_for, showing
from ricordo.model.proposal import BlockedSender, Link

router = router_for("Sharing", "/v1")

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


@router.get(_LINKS, response_model=list[Link], responses=showing([examples.LINK]))
def memory_links(id: MemoryId, user: Acting) -> Response:
    """List the users whom a memory is shared with (`accepted`) or only offered to (`offered`)."""
    return answer(user.links(id))


@router.put(f"{_LINKS}/{{viewer:path}}", response_model=Link, responses=showing(examples.LINK))
def link_memory(id: MemoryId, viewer: Viewer, user: Acting) -> Response:
    """Offer a memory to another user, who sees it once they have accepted it.

    They find it among their proposals. They see what it says, not where it came from. It is
    `accepted` at once where the operator has approved that these two share. A key of an agent needs
    the permission `share`.
    """
    return answer(user.link(id, viewer))


@router.delete(f"{_LINKS}/{{viewer:path}}", status_code=204)
def unlink_memory(id: MemoryId, viewer: Viewer, user: Acting) -> Response:
    """Take a shared memory out of a user's sight, or withdraw the offer of it.

    Its owner names any viewer; a viewer can name themselves, and is not offered it again.
    """
    user.unlink(id, viewer)
    return nothing()


@router.get(
    _BLOCKED, response_model=list[BlockedSender], responses=showing([examples.BLOCKED_SENDER])
)
def blocked_senders(user: Acting) -> Response:
    """List the users who can offer this one nothing."""
    return answer(user.blocked_senders())


@router.put(
    f"{_BLOCKED}/{{sender:path}}",
    response_model=BlockedSender,
    responses=showing(examples.BLOCKED_SENDER),
)
def block_sender(sender: Viewer, user: Acting) -> Response:
    """Want nothing of another user: what they have offered and shared ends, and nothing new comes.

    Not for the key of an agent.
    """
    return answer(user.block_sender(sender))


@router.delete(f"{_BLOCKED}/{{sender:path}}", status_code=204)
def unblock_sender(sender: Viewer, user: Acting) -> Response:
    """Let another user offer memories again. What ended when they were blocked stays ended."""
    user.unblock_sender(sender)
    return nothing()
