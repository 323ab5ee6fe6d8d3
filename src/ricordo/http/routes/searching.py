"""Finding memories. Its routes stand before those of single memories, whose ids are any word."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import Asked, MemoryId, QueryAsked
from ricordo.http.callers import Acting
from ricordo.http.routes import examples
from ricordo.http.routes.filters import FiltersAsked
from ricordo.http.routes.memories import PREFIX
from ricordo.http.routing import router_for, showing
from ricordo.model.search import MemoryHit, Related, SearchResults
from ricordo.user_memory import UserMemory

router = router_for("Memories", PREFIX)


class _Search(FiltersAsked, BaseModel):
    query: str = Field(
        default="*",
        max_length=limits.MAX_QUERY_CHARS,
        description="What to look for; * is everything, newest first.",
        examples=["what does she drink"],
    )
    limit: int = Field(
        default=limits.DEFAULT_RESULTS,
        ge=1,
        le=limits.MAX_RESULTS,
        description="How many hits at most.",
    )
    recency_days: float | None = Field(
        default=None,
        ge=0,
        le=limits.MAX_RECENCY_DAYS,
        description="Only what was noted in the last so many days.",
    )
    threshold: float | None = Field(
        default=None, ge=0, le=1, description="Only hits at least this sure to be an answer."
    )
    explain: bool = Field(default=False, description="Show every part of every score.")

    def found_in(self, user: UserMemory) -> Response:
        """The answer to it."""
        return answer(
            user.search(
                self.query,
                limit=self.limit,
                recency_days=self.recency_days,
                threshold=self.threshold,
                explain=self.explain,
                **self.filters(),
            )
        )


class SearchAsked(Asked, _Search):
    """What to look for."""


class SearchQueryAsked(QueryAsked, _Search):
    """What to look for, in a query string."""


class RelatedAsked(QueryAsked):
    """How many."""

    limit: int = Field(
        default=limits.DEFAULT_RESULTS,
        ge=1,
        le=limits.MAX_RESULTS,
        description="How many entries at most.",
    )


_FOUND = showing(examples.FOUND)


@router.post("/search", response_model=SearchResults[MemoryHit], responses=_FOUND)
def search_memories(asked: SearchAsked, user: Acting) -> Response:
    """Find memories by meaning and by words, the best first.

    What is asked is in the body, so that it stands in no log of addresses. An embedder that is slow
    or down does not fail a search: `degraded` says so.
    """
    return asked.found_in(user)


@router.get("/search", response_model=SearchResults[MemoryHit], responses=_FOUND)
def search_memories_by_address(
    asked: Annotated[SearchQueryAsked, Query()], user: Acting
) -> Response:
    """Find memories, for where a request can have no body.

    Mind that addresses end up in logs and browser histories; better use POST.
    """
    return asked.found_in(user)


@router.get("/{id}/related", response_model=list[Related], responses=showing([examples.RELATED]))
def related_memories(
    id: MemoryId, asked: Annotated[RelatedAsked, Query()], user: Acting
) -> Response:
    """List the memories that are about the same as one, the most similar first."""
    return answer(user.related(id, limit=asked.limit))
