"""Memories: adding, reading and listing them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import Field

from ricordo import limits
from ricordo.formation.agent_notes import check_needs_no_consent
from ricordo.http.answers import answer, unchanged
from ricordo.http.asked import Asked, IfNoneMatch, MemoryId, PageAsked, QueryAsked, ReasonAsked
from ricordo.http.callers import Acting
from ricordo.http.routes import examples
from ricordo.http.routes.drafts import DraftAsked
from ricordo.http.routes.filters import FiltersAsked
from ricordo.http.routing import NOT_CHANGED, router_for, showing
from ricordo.http.states import tag_of
from ricordo.model.draft import NewMemory
from ricordo.model.filters import SortColumn
from ricordo.model.item import Added, Change, Item, Lineage
from ricordo.model.proposal import Proposed
from ricordo.model.record import Page
from ricordo.tools.writes import added_by_agent

PREFIX = "/v1/memories"
router = router_for("Memories", PREFIX)

_PROPOSED = "It is sensitive, and an agent said it: it waits for the user's consent."
_ALREADY_THERE = "It was there already, or was updated."


class NewMemoryAsked(DraftAsked, ReasonAsked):
    """A memory to be kept; only its content is needed."""

    supersedes: int | None = Field(
        default=None, ge=1, le=limits.MAX_ID, description="The memory whose place it takes."
    )


class ManyMemoriesAsked(ReasonAsked):
    """Many memories at once."""

    memories: list[DraftAsked] = Field(max_length=limits.MAX_BULK_ITEMS)


class ListAsked(PageAsked, FiltersAsked):
    """Which memories to list, and in which order."""

    sort: str = Field(
        default=SortColumn.CREATED_AT.value,
        description=f"What to sort by: {', '.join(SortColumn)}.",
    )
    order: str = Field(default="desc", description="asc or desc.")


class GetAsked(QueryAsked):
    """How to read one memory."""

    include_deleted: bool = Field(default=False, description="Also what was forgotten.")


class ManyAsked(Asked):
    """Which memories to read."""

    ids: list[Annotated[int, Field(ge=1, le=limits.MAX_ID)]] = Field(
        max_length=limits.MAX_PAGE_ITEMS, description="The memories.", examples=[[7, 9]]
    )
    include_deleted: bool = Field(default=False, description="Also what was forgotten.")


class HistoryAsked(QueryAsked):
    """How much of the history."""

    limit: int = Field(
        default=limits.DEFAULT_CHANGES,
        ge=1,
        le=limits.MAX_CHANGES,
        description="How many entries at most.",
    )


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    response_model=Added,
    responses={
        **showing(examples.ADDED, 201, placed=True),
        **showing(examples.KNOWN, 200, _ALREADY_THERE, model=Added),
        **showing(examples.PROPOSED, 202, _PROPOSED, model=Proposed),
    },
)
def add_memory(asked: NewMemoryAsked, user: Acting) -> Response:
    """Keep a memory.

    The same text in the same theme is one memory. What has the same `key` is updated. With
    `supersedes`, the memory of that id is closed and kept as history. What an agent's key adds
    that is sensitive is proposed to the user instead (202), and a secret is refused.
    """
    if not user.scope.is_of_an_agent:
        return told(user.add(**asked.given()))
    kept = added_by_agent(user, **asked.given())
    return told(kept) if isinstance(kept, Added) else answer(kept, HTTPStatus.ACCEPTED)


@router.post("/batch", response_model=list[Added], responses=showing([examples.ADDED]))
def add_memories(asked: ManyMemoriesAsked, user: Acting) -> Response:
    """Keep many memories.

    The answer says what became of each, in order. All are checked before anything is written.
    """
    drafts = [draft.given() for draft in asked.memories]
    if user.scope.is_of_an_agent:
        for place, draft in enumerate(drafts):
            made = NewMemory.parse(draft)
            check_needs_no_consent(user.formation, f"memories[{place}]", made)
    return answer(user.add_many(drafts, reason=asked.reason))


@router.get("", response_model=Page[Item], responses=showing(examples.PAGE))
def list_memories(asked: Annotated[ListAsked, Query()], user: Acting) -> Response:
    """List memories, newest first unless sorted otherwise.

    Parameters that take several values are repeated: `theme=work&theme=travel`.
    """
    return answer(
        user.list(
            sort=asked.sort,
            order=asked.order,
            limit=asked.limit,
            cursor=asked.cursor,
            **asked.filters(),
        )
    )


@router.post("/get", response_model=list[Item], responses=showing([examples.ITEM]))
def get_memories(asked: ManyAsked, user: Acting) -> Response:
    """Read several memories, in the order asked for.

    What does not exist, has expired or is another user's is left out.
    """
    return answer(user.get_many(asked.ids, include_deleted=asked.include_deleted))


@router.get(
    "/{id}",
    response_model=Item,
    responses={**showing(examples.ITEM, tagged=True), **NOT_CHANGED},
)
def get_memory(
    id: MemoryId,
    asked: Annotated[GetAsked, Query()],
    user: Acting,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Read one memory."""
    item = user.get(id, include_deleted=asked.include_deleted)
    etag = tag_of(item)
    return unchanged(etag, if_none_match) or answer(item, etag=etag)


@router.get("/{id}/history", response_model=list[Change], responses=showing([examples.CHANGE]))
def memory_history(id: MemoryId, asked: Annotated[HistoryAsked, Query()], user: Acting) -> Response:
    """Tell what happened to a memory, oldest first; also to one that was purged."""
    return answer(user.history(id, limit=asked.limit))


@router.get("/{id}/lineage", response_model=Lineage, responses=showing(examples.LINEAGE))
def memory_lineage(id: MemoryId, user: Acting) -> Response:
    """Tell what took the place of a memory, whose place it took, and what `undo` would take back.

    Also of one that was forgotten or has expired. Of what another user shares nothing is told.
    """
    return answer(user.lineage(id))


def told(added: Added) -> Response:
    """What became of a memory: 201 and where it is, or 200 where none was made."""
    if not added.is_new:
        return answer(added)
    return answer(added, HTTPStatus.CREATED, headers={"Location": f"{PREFIX}/{added.id}"})
