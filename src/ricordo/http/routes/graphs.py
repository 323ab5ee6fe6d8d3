"""How memories hang together."""

from typing import Annotated

from fastapi import Query
from fastapi.responses import Response
from pydantic import Field

from ricordo import limits
from ricordo.http.answers import answer
from ricordo.http.asked import QueryAsked
from ricordo.http.callers import Acting
from ricordo.http.routes import examples
from ricordo.http.routing import router_for, showing
from ricordo.model.search import RelationGraph

router = router_for("Memories", "/v1")


class GraphAsked(QueryAsked):
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


@router.get("/graph", response_model=RelationGraph, responses=showing(examples.GRAPH))
def read_graph(asked: Annotated[GraphAsked, Query()], user: Acting) -> Response:
    """Read the most connected memories and the relations among them.

    Of more than 1,000 memories the latest 1,000 are looked at, with what they were related to when
    they were noted.
    """
    return answer(user.relation_graph(**asked.given()))
