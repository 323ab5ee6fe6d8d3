"""Search, related memories, prompts and feedback."""

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http import examples
from ricordo.http.auth import Acting
from ricordo.http.responses import answer
from ricordo.http.routes.memories import PREFIX
from ricordo.http.routing import router_for, showing
from ricordo.http.schemas import (
    FiltersRequest,
    MemoryId,
    QueryParameters,
    RequestBody,
    Several,
    count_field,
    one_or_all,
)
from ricordo.model.context import Context, Feedback
from ricordo.model.search import (
    MemoryHit,
    QueryAnswer,
    Related,
    RelationGraph,
    Returns,
    SearchResults,
)
from ricordo.model.vocabulary import ContextMode, MemoryType
from ricordo.user_memory import UserMemory

router = router_for("Memories", PREFIX)


class _Search(FiltersRequest, BaseModel):
    query: str = Field(
        default="*",
        max_length=limits.MAX_QUERY_CHARS,
        description="What to look for; * is everything, newest first.",
        examples=["what does she drink"],
    )
    limit: int = count_field(limits.DEFAULT_RESULTS, limits.MAX_RESULTS, "How many hits at most.")
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


class SearchRequest(RequestBody, _Search):
    """What to look for."""


class SearchQueryRequest(QueryParameters, _Search):
    """What to look for, in a query string."""


class RelatedRequest(QueryParameters):
    """How many."""

    limit: int = count_field(limits.DEFAULT_RESULTS, limits.MAX_RESULTS)


_FOUND = showing(examples.FOUND)


@router.post("/search", response_model=SearchResults[MemoryHit], responses=_FOUND)
def search_memories(body: SearchRequest, user: Acting) -> Response:
    """Find memories by meaning and by words, the best first.

    What is asked is in the body, so that it stands in no log of addresses. An embedder that is slow
    or down does not fail a search: `degraded` says so.
    """
    return body.found_in(user)


@router.get("/search", response_model=SearchResults[MemoryHit], responses=_FOUND)
def search_memories_by_address(
    query: Annotated[SearchQueryRequest, Query()], user: Acting
) -> Response:
    """Find memories, for where a request can have no body.

    Mind that addresses end up in logs and browser histories; better use POST.
    """
    return query.found_in(user)


@router.get("/{id}/related", response_model=list[Related], responses=showing([examples.RELATED]))
def related_memories(
    id: MemoryId, query: Annotated[RelatedRequest, Query()], user: Acting
) -> Response:
    """List the memories that are about the same as one, the most similar first."""
    return answer(user.related(id, limit=query.limit))


graph_router = router_for("Memories", "/v1")


class GraphRequest(QueryParameters):
    """Of what, and how much."""

    theme: str | None = Field(
        default=None, description="The theme; all of them by default.", examples=["drinks"]
    )
    limit: int = Field(
        default=limits.DEFAULT_GRAPH_MEMORIES,
        ge=2,
        le=limits.MAX_GRAPH_MEMORIES,
        description="How many memories at most.",
    )


@graph_router.get("/graph", response_model=RelationGraph, responses=showing(examples.GRAPH))
def read_graph(query: Annotated[GraphRequest, Query()], user: Acting) -> Response:
    """Read the most connected memories and the relations among them.

    Of more than 1,000 memories the latest 1,000 are looked at, with what they were related to when
    they were noted.
    """
    return answer(user.relation_graph(**query.given()))


context_router = router_for("For agents and prompts", "/v1")

Id = Annotated[int, Field(ge=1, le=limits.MAX_ID)]


def _threshold(description: str) -> float | None:
    found: float | None = Field(default=None, ge=0, le=1, description=description)
    return found


def _agent() -> str | None:
    found: str | None = Field(
        default=None,
        max_length=limits.MAX_REFERENCE_CHARS,
        description="Who asks; it gets what it may read. A key of an agent says so itself.",
        examples=["planner"],
    )
    return found


class QueryFiltersRequest(RequestBody):
    """Which memories may answer; all that are given must hold."""

    user_id: str | None = Field(default=None, description="No other than the user themselves.")
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    category: Several = Field(default=None, min_length=1)
    pinned: bool | None = None
    importance_min: int | None = Field(default=None, ge=1, le=5)
    importance_max: int | None = Field(default=None, ge=1, le=5)
    updated_after: str | None = None
    updated_before: str | None = None
    tags: Several = Field(default=None, min_length=1)
    type: Several = Field(
        default=None, min_length=1, description=f"Any of: {', '.join(MemoryType)}."
    )


class AgentQueryRequest(RequestBody):
    """A question of an agent."""

    query: str = Field(max_length=limits.MAX_QUERY_CHARS, examples=["what is planned for May"])
    agent: str | None = _agent()
    categories: Several = Field(default=None, min_length=1, max_length=limits.MAX_FILTER_VALUES)
    filters: QueryFiltersRequest | None = None
    top_k: int = count_field(
        limits.DEFAULT_QUERY_RESULTS, limits.MAX_RESULTS, "How many memories at most."
    )
    returns: str = Field(
        default=Returns.BULLETS.value,
        description=f"Lines for a prompt, or whole memories: {', '.join(Returns)}.",
    )
    budget_tokens: int = count_field(
        limits.DEFAULT_BUDGET, limits.MAX_BUDGET, "How long the answer may be."
    )
    threshold: float | None = _threshold("Only what is at least this sure to be an answer.")
    related: int = Field(
        default=0,
        ge=0,
        le=limits.MAX_RELATED_BULLETS,
        description="How many bullets about the same to add.",
    )


class ContextRequest(RequestBody):
    """A prompt to be built."""

    message: str = Field(
        default="",
        max_length=limits.MAX_MESSAGE_CHARS,
        description="What the user says.",
        examples=["What shall we drink?"],
    )
    thread: str | None = Field(
        default=None,
        max_length=limits.MAX_REFERENCE_CHARS,
        description="The conversation, whose latest turns it then has.",
    )
    modes: list[str] = Field(
        default_factory=lambda: [ContextMode.TOOLS.value],
        min_length=1,
        description=f"What of memory it has: any of {', '.join(ContextMode)}.",
        examples=[[ContextMode.RECALL.value, ContextMode.SUMMARY.value]],
    )
    budget_tokens: int | None = Field(
        default=None,
        ge=limits.MIN_CONTEXT_TOKENS,
        le=limits.MAX_CONTEXT_TOKENS,
        description="How long the whole request may be.",
    )
    reply_tokens: int | None = Field(
        default=None, ge=0, description="How much of that is for the answer."
    )
    tools: list[dict[str, Any]] | None = Field(
        default=None, description="The schemas of tools that you send along; part of the budget."
    )
    threshold: float | None = _threshold("Show no memories that are less sure.")
    agent: str | None = _agent()
    history: bool = Field(
        default=True, description="False: you send the turns of the conversation yourself."
    )
    persona: bool = Field(
        default=True, description="False: without SOUL.md and RULES.md, you say who answers."
    )


class FeedbackRequest(RequestBody):
    """Which of the memories in a prompt were of use: name them, or give the answer."""

    recalled: list[Id] = Field(
        max_length=limits.MAX_RECALLED_MEMORIES,
        description="The memories that the prompt showed.",
        examples=[[7, 9]],
    )
    used: list[Id] | None = Field(
        default=None,
        max_length=limits.MAX_RECALLED_MEMORIES,
        description="Those of them that were of use.",
        examples=[[7]],
    )
    answer: str | None = Field(
        default=None,
        max_length=limits.MAX_ANSWER_CHARS,
        description="Instead of used: what the model answered.",
    )


@context_router.post("/query", response_model=QueryAnswer, responses=showing(examples.QUERY_ANSWER))
def query_memories(body: AgentQueryRequest, user: Acting) -> Response:
    """Answer an agent's question in a few lines that never exceed a budget of tokens.

    The agent's allowlist is checked before anything is read.
    """
    given = body.given()
    filters = given.pop("filters", None) or {}
    wanted = {name: one_or_all(value) for name, value in filters.items()}
    return answer(user.query(given.pop("agent", None), given.pop("query"), filters=wanted, **given))


@context_router.post("/context", response_model=Context, responses=showing(examples.CONTEXT))
def build_context(body: ContextRequest, user: Acting) -> Response:
    """Build a request to a model that knows this user: system text, earlier turns, the message.

    A store that fails is no error here: the prompt says that memory is unavailable.
    """
    return answer(user.context(**body.given()))


@context_router.post("/feedback", response_model=Feedback, responses=showing(examples.FEEDBACK))
def give_feedback(body: FeedbackRequest, user: Acting) -> Response:
    """Say which of the memories that a prompt showed an answer used."""
    return answer(user.feedback(**body.given()))
