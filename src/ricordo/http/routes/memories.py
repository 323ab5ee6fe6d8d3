"""Memories: adding, reading, listing and changing them; themes and the change feed."""

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.formation.agent_notes import check_needs_no_consent
from ricordo.http import examples
from ricordo.http.auth import Acting
from ricordo.http.problems import documented
from ricordo.http.responses import answer, expected_by, tag_of, unchanged
from ricordo.http.routing import NOT_CHANGED, router_for, showing
from ricordo.http.schemas import (
    DraftRequest,
    FiltersRequest,
    IfMatch,
    IfNoneMatch,
    MemoryId,
    PageRequest,
    QueryParameters,
    ReasonRequest,
    RequestBody,
    count_field,
    given_by,
)
from ricordo.model.draft import NewMemory
from ricordo.model.filters import SortColumn
from ricordo.model.item import Added, Change, Changes, Item, Lineage, Theme
from ricordo.model.proposal import Proposed
from ricordo.model.record import Page
from ricordo.model.vocabulary import ContextPolicy
from ricordo.tools.answers import added_by_agent

PREFIX = "/v1/memories"
router = router_for("Memories", PREFIX)

_PROPOSED = "It is sensitive, and an agent said it: it waits for the user's consent."


class NewMemoryRequest(DraftRequest, ReasonRequest):
    """A memory to be kept; only its content is needed."""

    supersedes: int | None = Field(
        default=None, ge=1, le=limits.MAX_ID, description="The memory whose place it takes."
    )


class ManyMemoriesRequest(ReasonRequest):
    """Many memories at once."""

    memories: list[DraftRequest] = Field(max_length=limits.MAX_BULK_ITEMS)


class ListRequest(PageRequest, FiltersRequest):
    """Which memories to list, and in which order."""

    sort: str = Field(
        default=SortColumn.CREATED_AT.value,
        description=f"What to sort by: {', '.join(SortColumn)}.",
    )
    order: str = Field(default="desc", description="asc or desc.")

    def arguments(self) -> dict[str, Any]:
        """The arguments of the library's ``list``."""
        paging = {
            "sort": self.sort,
            "order": self.order,
            "limit": self.limit,
            "cursor": self.cursor,
        }
        return paging | self.filters()


class GetRequest(QueryParameters):
    """How to read one memory."""

    include_deleted: bool = Field(default=False, description="Also what was forgotten.")


class ManyRequest(RequestBody):
    """Which memories to read."""

    ids: list[Annotated[int, Field(ge=1, le=limits.MAX_ID)]] = Field(
        max_length=limits.MAX_PAGE_ITEMS, description="The memories.", examples=[[7, 9]]
    )
    include_deleted: bool = Field(default=False, description="Also what was forgotten.")


class HistoryRequest(QueryParameters):
    """How much of the history."""

    limit: int = count_field(limits.DEFAULT_CHANGES, limits.MAX_CHANGES)


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    response_model=Added,
    responses={
        **showing(examples.ADDED, 201, placed=True),
        **showing(examples.KNOWN, 200, "It was there already, or was updated.", model=Added),
        **showing(examples.PROPOSED, 202, _PROPOSED, model=Proposed),
    },
)
def add_memory(body: NewMemoryRequest, user: Acting) -> Response:
    """Keep a memory.

    The same text in the same theme is one memory. What has the same `key` is updated. With
    `supersedes`, the memory of that id is closed and kept as history. What an agent's key adds
    that is sensitive is proposed to the user instead (202), and a secret is refused.
    """
    if not user.scope.is_of_an_agent:
        return _added(user.add(**body.given()))
    kept = added_by_agent(user, **body.given())
    return _added(kept) if isinstance(kept, Added) else answer(kept, HTTPStatus.ACCEPTED)


@router.post("/batch", response_model=list[Added], responses=showing([examples.ADDED]))
def add_memories(body: ManyMemoriesRequest, user: Acting) -> Response:
    """Keep many memories.

    The answer says what became of each, in order. All are checked before anything is written.
    """
    drafts = [draft.given() for draft in body.memories]
    if user.scope.is_of_an_agent:
        for place, draft in enumerate(drafts):
            made = NewMemory.parse(draft)
            check_needs_no_consent(user.formation, f"memories[{place}]", made)
    return answer(user.add_many(drafts, reason=body.reason))


@router.get("", response_model=Page[Item], responses=showing(examples.PAGE))
def list_memories(query: Annotated[ListRequest, Query()], user: Acting) -> Response:
    """List memories, newest first unless sorted otherwise.

    Parameters that take several values are repeated: `theme=work&theme=travel`.
    """
    return answer(user.list(**query.arguments()))


@router.post("/get", response_model=list[Item], responses=showing([examples.ITEM]))
def get_memories(body: ManyRequest, user: Acting) -> Response:
    """Read several memories, in the order asked for.

    What does not exist, has expired or is another user's is left out.
    """
    return answer(user.get_many(body.ids, include_deleted=body.include_deleted))


@router.get(
    "/{id}", response_model=Item, responses={**showing(examples.ITEM, tagged=True), **NOT_CHANGED}
)
def get_memory(
    id: MemoryId,
    query: Annotated[GetRequest, Query()],
    user: Acting,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Read one memory."""
    item = user.get(id, include_deleted=query.include_deleted)
    etag = tag_of(item)
    return unchanged(etag, if_none_match) or answer(item, etag=etag)


@router.get("/{id}/history", response_model=list[Change], responses=showing([examples.CHANGE]))
def memory_history(
    id: MemoryId, query: Annotated[HistoryRequest, Query()], user: Acting
) -> Response:
    """Tell what happened to a memory, oldest first; also to one that was purged."""
    return answer(user.history(id, limit=query.limit))


@router.get("/{id}/lineage", response_model=Lineage, responses=showing(examples.LINEAGE))
def memory_lineage(id: MemoryId, user: Acting) -> Response:
    """Tell what took the place of a memory, whose place it took, and what `undo` would take back.

    Also of one that was forgotten or has expired. Of what another user shares nothing is told.
    """
    return answer(user.lineage(id))


def _added(added: Added) -> Response:
    """201 with the Location of a new memory, or 200 where none was created."""
    if not added.is_new:
        return answer(added)
    return answer(added, HTTPStatus.CREATED, headers={"Location": f"{PREFIX}/{added.id}"})


changes_router = router_for("Changes of memories", PREFIX)

_CHANGED: Final = {
    **showing(examples.ITEM, tagged=True),
    **documented(HTTPStatus.PRECONDITION_FAILED),
}


class ForgetRequest(QueryParameters, ReasonRequest):
    """Why it is forgotten."""


class ForgetKeyRequest(ReasonRequest):
    """What to forget: whatever has this key, in one theme or in all."""

    key: str = Field(max_length=limits.MAX_KEY_CHARS, examples=["favourite drink"])
    theme: str | None = Field(default=None, description="Only in this theme.", examples=["drinks"])


class PinRequest(RequestBody):
    """Whether it is one to keep."""

    pinned: bool = Field(default=True, description="False takes the mark away.")


class MergeRequest(DraftRequest, ReasonRequest):
    """What becomes of several memories. What is not given is taken from them."""

    ids: list[Annotated[int, Field(ge=1, le=limits.MAX_ID)]] = Field(
        min_length=2, max_length=limits.MAX_MERGED_ITEMS, examples=[[7, 9]]
    )


class PurgeRequest(RequestBody):
    """What to remove for good."""

    before_time: bool = Field(
        default=False, description="Everything that was forgotten, not only what is due."
    )


class PurgeResponse(BaseModel):
    """How many memories were removed for good."""

    purged: int


@changes_router.post("/{id}/archive", response_model=Item, responses=_CHANGED)
def archive_memory(
    id: MemoryId, user: Acting, asked: ReasonRequest | None = None, if_match: IfMatch = None
) -> Response:
    """Put a memory aside: kept, and out of reads unless asked for."""
    expected = expected_by(if_match)
    return _with_etag(user.archive(id, **given_by(asked), expected_updated_at=expected))


@changes_router.post("/{id}/restore", response_model=Item, responses=_CHANGED)
def restore_memory(
    id: MemoryId, user: Acting, asked: ReasonRequest | None = None, if_match: IfMatch = None
) -> Response:
    """Bring back an archived or forgotten memory."""
    expected = expected_by(if_match)
    return _with_etag(user.restore(id, **given_by(asked), expected_updated_at=expected))


@changes_router.post("/{id}/pin", response_model=Item, responses=_CHANGED)
def pin_memory(
    id: MemoryId, user: Acting, asked: PinRequest | None = None, if_match: IfMatch = None
) -> Response:
    """Mark a memory as one to keep, or take the mark away."""
    return _with_etag(user.pin(id, **given_by(asked), expected_updated_at=expected_by(if_match)))


@changes_router.post("/{id}/verify", response_model=Item, responses=_CHANGED)
def verify_memory(id: MemoryId, user: Acting, if_match: IfMatch = None) -> Response:
    """Note that a memory was found to be still true."""
    return _with_etag(user.verify(id, expected_updated_at=expected_by(if_match)))


@changes_router.post("/{id}/undo", response_model=Item, responses=_CHANGED)
def undo_change(
    id: MemoryId, user: Acting, asked: ReasonRequest | None = None, if_match: IfMatch = None
) -> Response:
    """Bring a superseded or merged memory back, or take back the last update of a keyed one.

    A replacement is undone by naming either side of it; the answer is the memory that came back.
    """
    expected = expected_by(if_match)
    return _with_etag(user.undo(id, **given_by(asked), expected_updated_at=expected))


@changes_router.delete("/{id}", response_model=Item, responses=_CHANGED)
def forget_memory(
    id: MemoryId, query: Annotated[ForgetRequest, Query()], user: Acting, if_match: IfMatch = None
) -> Response:
    """Forget a memory.

    It is gone from every read at once, can be restored until `purge_at`, and is then removed for
    good.
    """
    expected = expected_by(if_match)
    (item,) = user.forget(id, reason=query.reason, expected_updated_at=expected)
    return _with_etag(item)


@changes_router.post("/forget", response_model=list[Item], responses=showing([examples.ITEM]))
def forget_key(body: ForgetKeyRequest, user: Acting) -> Response:
    """Forget what has a key, in one theme or in all."""
    return answer(user.forget(key=body.key, theme=body.theme, reason=body.reason))


@changes_router.post(
    "/merge",
    status_code=HTTPStatus.CREATED,
    response_model=Added,
    responses={
        **showing(examples.ADDED, 201, placed=True),
        **showing(examples.KNOWN, 200, "What they become was there already.", model=Added),
    },
)
def merge_memories(body: MergeRequest, user: Acting) -> Response:
    """Put one memory in the place of several, which are kept as history."""
    draft = {name: value for name, value in body.given().items() if name not in ("ids", "reason")}
    if user.scope.is_of_an_agent:
        check_needs_no_consent(user.formation, "content", NewMemory.parse(draft))
    return _added(user.merge(body.ids, draft, reason=body.reason))


@changes_router.post("/purge", response_model=PurgeResponse, responses=showing({"purged": 3}))
def purge_memories(user: Acting, asked: PurgeRequest | None = None) -> Response:
    """Remove forgotten memories for good whose time has come. History keeps that they existed."""
    return answer({"purged": user.purge(**given_by(asked))})


def _with_etag(item: Item) -> Response:
    return answer(item, etag=tag_of(item))


themes_router = router_for("Themes and changes", "/v1")

ThemeName = Annotated[
    str, Path(min_length=1, description="The theme, in any spelling.", examples=["drinks"])
]


class ThemeRequest(RequestBody):
    """What to change of a theme; what is not given stays."""

    display_name: str | None = Field(
        default=None,
        max_length=limits.MAX_THEME_CHARS,
        description="What it is called.",
        examples=["Food and drink"],
    )
    description: str | None = Field(
        default=None,
        max_length=limits.MAX_THEME_DESCRIPTION_CHARS,
        description="What belongs under it.",
    )
    context: str | None = Field(
        default=None,
        description=f"What prompts show of it: {', '.join(ContextPolicy)}.",
        examples=[ContextPolicy.ALL.value],
    )
    rag_length: int | None = Field(
        default=None,
        ge=1,
        le=limits.MAX_RAG_LENGTH,
        description="How many of its memories prompts show.",
    )


class ChangesRequest(QueryParameters):
    """Which stretch of the change feed."""

    since: int = Field(
        default=0, ge=0, le=limits.MAX_ID, description="The last revision that you know of."
    )
    limit: int = count_field(
        limits.DEFAULT_CHANGES, limits.MAX_CHANGES, "How many changes at most."
    )


class Revision(BaseModel):
    """Where a user's change feed stands."""

    revision: int


@themes_router.get("/themes", response_model=list[Theme], responses=showing([examples.THEME]))
def list_themes(user: Acting) -> Response:
    """List the headings with the number of active memories under each, most used first."""
    return answer(user.themes())


@themes_router.patch("/themes/{theme}", response_model=Theme, responses=showing(examples.THEME))
def describe_theme(theme: ThemeName, body: ThemeRequest, user: Acting) -> Response:
    """Change a theme's name, description and context policy."""
    return answer(user.describe_theme(theme, **body.given()))


@themes_router.get("/changes", response_model=Changes, responses=showing(examples.CHANGES))
def list_changes(query: Annotated[ChangesRequest, Query()], user: Acting) -> Response:
    """Tell what happened to memories after a revision, oldest first.

    Ask again with `since` set to the revision of the last change; `more` says that there is more.
    """
    return answer(user.changes(query.since, limit=query.limit))


@themes_router.get("/revision", response_model=Revision, responses=showing({"revision": 12}))
def get_revision(user: Acting) -> Response:
    """Tell where the change feed stands: it grows by one with each change of a memory."""
    return answer({"revision": user.revision()})
