"""A user's embedding settings. No response ever contains the key of a provider."""

from typing import Annotated, Any, Final

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http.auth import Acting
from ricordo.http.responses import answer
from ricordo.http.routing import lengthy, router_for
from ricordo.http.schemas import QueryParameters, RequestBody, given_by
from ricordo.model.embedding import (
    EmbeddingBackfill,
    EmbeddingChange,
    EmbeddingState,
    EmbeddingStatus,
)
from ricordo.providers.embedding_choice import EmbeddingTest

router = router_for("Settings", "/v1/settings/embeddings")

_PROVIDERS: Final = (
    "local, llamacpp, ollama, openai, mistral, gemini, custom_http, none or default."
)


def _confirm() -> Any:
    return Field(default=False, description="Do it. Otherwise the answer says what it would mean.")


class EndpointRequest(RequestBody):
    """What a provider needs to know."""

    model: str | None = Field(default=None, description="Default: the provider's usual one.")
    base_url: str | None = Field(
        default=None, description="Address, up to before /embeddings.", examples=[None]
    )
    api_key: str | None = Field(
        default=None, description="Stored encrypted, and never shown again.", examples=[None]
    )
    dimensions: int | None = Field(default=None, ge=1, le=limits.MAX_VECTOR_WIDTH)


class TestRequest(EndpointRequest):
    """What to try out; nothing for the present provider."""

    __test__ = False  # not for pytest

    provider: str | None = Field(default=None, description=_PROVIDERS, examples=["local"])


class ChoiceRequest(EndpointRequest):
    """Who is to make the vectors."""

    provider: str = Field(description=_PROVIDERS, examples=["local"])
    confirm: bool = _confirm()


class ConfirmedRequest(RequestBody):
    """Whether to do it."""

    confirm: bool = _confirm()


class ConfirmedInQuery(QueryParameters):
    """Whether to do it."""

    confirm: bool = _confirm()


class StatesRequest(RequestBody):
    """Of which memories."""

    ids: list[Annotated[int, Field(ge=1, le=limits.MAX_ID)]] = Field(
        max_length=limits.MAX_PAGE_ITEMS, description="The memories.", examples=[[7, 9]]
    )


class BackfillResponse(BaseModel):
    """How many vectors were made."""

    made: int


@router.get("", response_model=EmbeddingStatus)
def read_embeddings(user: Acting) -> Response:
    """Read where vectors are made, who decided that, and how far it has come."""
    return answer(user.embedding_status())


@router.post("/states", response_model=list[EmbeddingState])
def read_embedding_states(body: StatesRequest, user: Acting) -> Response:
    """Read how far the vectors of single memories have come, in the order asked for.

    What does not exist or is another user's is left out.
    """
    return answer(user.embedding_states(body.ids))


@router.put("", response_model=EmbeddingChange)
@lengthy
def set_embeddings(body: ChoiceRequest, user: Acting) -> Response:
    """Choose where the user's vectors are made, in place of the service's way.

    Vectors of another model are dropped, and a job makes them anew.
    """
    return answer(user.set_embeddings(**body.given()))


@router.delete("", response_model=EmbeddingChange)
def reset_embeddings(query: Annotated[ConfirmedInQuery, Query()], user: Acting) -> Response:
    """Go back to the service's way of making vectors."""
    return answer(user.reset_embeddings(**query.given()))


@router.post("/test", response_model=EmbeddingTest)
@lengthy
def test_embeddings(user: Acting, asked: TestRequest | None = None) -> Response:
    """Call a provider and say how wide and how fast it answers, or what is wrong.

    Nothing is stored.
    """
    return answer(user.test_embeddings(**given_by(asked)))


@router.post("/rebuild", response_model=EmbeddingChange)
def rebuild_embeddings(user: Acting, asked: ConfirmedRequest | None = None) -> Response:
    """Make all vectors anew with the present model."""
    return answer(user.rebuild_embeddings(**given_by(asked)))


@router.post("/backfill", response_model=EmbeddingBackfill)
def backfill_embeddings(user: Acting) -> Response:
    """Ask again for vectors that were given up or are of another model; a job makes them."""
    return answer(user.backfill_embeddings())


@router.post("/fill", response_model=BackfillResponse)
@lengthy
def fill_embeddings(user: Acting) -> Response:
    """Make the vectors that wait now, and answer when they are made, which may take long."""
    return answer({"made": user.fill_embeddings()})
