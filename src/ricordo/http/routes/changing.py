"""Changing where memories stand: from archiving to removing for good.

What changes one memory takes ``If-Match`` with the ETag that it had when it was read.
"""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation.agent_notes import check_needs_no_consent
from ricordo.http.answers import answer
from ricordo.http.asked import Asked, IfMatch, MemoryId, QueryAsked, ReasonAsked, given_by
from ricordo.http.callers import Acting
from ricordo.http.problems import documented
from ricordo.http.routes import examples
from ricordo.http.routes.drafts import DraftAsked
from ricordo.http.routes.memories import PREFIX, told
from ricordo.http.routing import router_for, showing
from ricordo.http.states import expected_by, tag_of
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added, Item

router = router_for("Changes of memories", PREFIX)

_CHANGED: Final = {
    **showing(examples.ITEM, tagged=True),
    **documented(HTTPStatus.PRECONDITION_FAILED),
}


class ForgetAsked(QueryAsked, ReasonAsked):
    """Why it is forgotten."""


class ForgetKeyAsked(ReasonAsked):
    """What to forget: whatever has this key, in one theme or in all."""

    key: str = Field(max_length=limits.MAX_KEY_CHARS, examples=["favourite drink"])
    theme: str | None = Field(default=None, description="Only in this theme.", examples=["drinks"])


class PinAsked(Asked):
    """Whether it is one to keep."""

    pinned: bool = Field(default=True, description="False takes the mark away.")


class MergeAsked(DraftAsked, ReasonAsked):
    """What becomes of several memories. What is not given is taken from them."""

    ids: list[Annotated[int, Field(ge=1, le=limits.MAX_ID)]] = Field(
        min_length=2, max_length=limits.MAX_MERGED_ITEMS, examples=[[7, 9]]
    )


class PurgeAsked(Asked):
    """What to remove for good."""

    before_time: bool = Field(
        default=False, description="Everything that was forgotten, not only what is due."
    )


class Purged(BaseModel):
    """How many memories were removed for good."""

    purged: int


@router.post("/{id}/archive", response_model=Item, responses=_CHANGED)
def archive_memory(
    id: MemoryId, user: Acting, asked: ReasonAsked | None = None, if_match: IfMatch = None
) -> Response:
    """Put a memory aside: kept, and out of reads unless asked for."""
    expected = expected_by(if_match)
    return _standing(user.archive(id, **given_by(asked), expected_updated_at=expected))


@router.post("/{id}/restore", response_model=Item, responses=_CHANGED)
def restore_memory(
    id: MemoryId, user: Acting, asked: ReasonAsked | None = None, if_match: IfMatch = None
) -> Response:
    """Bring back an archived or forgotten memory."""
    expected = expected_by(if_match)
    return _standing(user.restore(id, **given_by(asked), expected_updated_at=expected))


@router.post("/{id}/pin", response_model=Item, responses=_CHANGED)
def pin_memory(
    id: MemoryId, user: Acting, asked: PinAsked | None = None, if_match: IfMatch = None
) -> Response:
    """Mark a memory as one to keep, or take the mark away."""
    return _standing(user.pin(id, **given_by(asked), expected_updated_at=expected_by(if_match)))


@router.post("/{id}/verify", response_model=Item, responses=_CHANGED)
def verify_memory(id: MemoryId, user: Acting, if_match: IfMatch = None) -> Response:
    """Note that a memory was found to be still true."""
    return _standing(user.verify(id, expected_updated_at=expected_by(if_match)))


@router.post("/{id}/undo", response_model=Item, responses=_CHANGED)
def undo_change(
    id: MemoryId, user: Acting, asked: ReasonAsked | None = None, if_match: IfMatch = None
) -> Response:
    """Bring a superseded or merged memory back, or take back the last update of a keyed one.

    A replacement is undone by naming either side of it; the answer is the memory that came back.
    """
    expected = expected_by(if_match)
    return _standing(user.undo(id, **given_by(asked), expected_updated_at=expected))


@router.delete("/{id}", response_model=Item, responses=_CHANGED)
def forget_memory(
    id: MemoryId,
    asked: Annotated[ForgetAsked, Query()],
    user: Acting,
    if_match: IfMatch = None,
) -> Response:
    """Forget a memory.

    It is gone from every read at once, can be restored until `purge_at`, and is then removed for
    good.
    """
    expected = expected_by(if_match)
    (item,) = user.forget(id, reason=asked.reason, expected_updated_at=expected)
    return _standing(item)


@router.post("/forget", response_model=list[Item], responses=showing([examples.ITEM]))
def forget_key(asked: ForgetKeyAsked, user: Acting) -> Response:
    """Forget what has a key, in one theme or in all."""
    return answer(user.forget(key=asked.key, theme=asked.theme, reason=asked.reason))


@router.post(
    "/merge",
    status_code=HTTPStatus.CREATED,
    response_model=Added,
    responses={
        **showing(examples.ADDED, 201, placed=True),
        **showing(examples.KNOWN, 200, "What they become was there already.", model=Added),
    },
)
def merge_memories(asked: MergeAsked, user: Acting) -> Response:
    """Put one memory in the place of several, which are kept as history."""
    draft = {name: value for name, value in asked.given().items() if name not in ("ids", "reason")}
    if user.scope.is_of_an_agent:
        check_needs_no_consent(user.formation, "content", NewMemory.parse(draft))
    return told(user.merge(asked.ids, draft, reason=asked.reason))


@router.post("/purge", response_model=Purged, responses=showing({"purged": 3}))
def purge_memories(user: Acting, asked: PurgeAsked | None = None) -> Response:
    """Remove forgotten memories for good whose time has come. History keeps that they existed."""
    return answer({"purged": user.purge(**given_by(asked))})


def _standing(item: Item) -> Response:
    return answer(item, etag=tag_of(item))
