"""Sharing memories with other users."""

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
from ricordo.http.states import tag_of
from ricordo.model.item import Item

router = router_for("Sharing", PREFIX)

Viewer = Annotated[
    str,
    Path(
        min_length=1,
        max_length=limits.MAX_REFERENCE_CHARS,
        description="The other user.",
        examples=["ben"],
    ),
]


@router.get("/{id}/links", response_model=list[str], responses=showing(["ben"]))
def memory_links(id: MemoryId, user: Acting) -> Response:
    """List the users whom a memory is shared with."""
    return answer(user.links(id))


@router.put(
    "/{id}/links/{viewer:path}",
    response_model=Item,
    responses=showing(examples.ITEM, tagged=True),
)
def link_memory(id: MemoryId, viewer: Viewer, user: Acting) -> Response:
    """Let another user see a memory. They see what it says, not where it came from."""
    item = user.link(id, viewer)
    return answer(item, etag=tag_of(item))


@router.delete("/{id}/links/{viewer:path}", status_code=204)
def unlink_memory(id: MemoryId, viewer: Viewer, user: Acting) -> Response:
    """Take a shared memory out of a user's sight.

    Its owner names any viewer; a viewer can name themselves.
    """
    user.unlink(id, viewer)
    return nothing()
