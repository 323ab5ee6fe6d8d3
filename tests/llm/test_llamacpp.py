"""One round against the real thing: a llama.cpp server with a real, if small, model."""

from collections.abc import Iterator
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from ricordo.providers.chat import ChatModel
from ricordo.providers.chat_model import Message, ModelChoice, Usage
from tests.support import llamacpp


class Drink(BaseModel):
    """What a small model cannot get wrong while the schema binds it."""

    drink: Literal["tea", "coffee", "water"]
    cups: int = Field(ge=1, le=9)
    at: list[Literal["morning", "noon", "evening"]] = Field(min_length=1, max_length=2)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llamacpp.server(chat_context=512) as url:
        yield url


@pytest.mark.slow
@pytest.mark.requirement("formation.local-model-smoke")
def test_a_real_model_answers_in_the_shape_that_was_asked_for(address: str) -> None:
    model = ChatModel(ModelChoice.parse("llamacpp", base_url=f"{address}/v1"), deadline_seconds=240)
    used: list[Usage] = []
    question = [Message("user", "Ana drinks two cups of tea in the morning.")]
    answer = model.ask(question, Drink, on_usage=used.append)
    model.close()
    assert isinstance(answer, Drink)
    assert model.structure == "json_schema"
    # Bound by the schema it needs no correction, and it counts its own tokens.
    (usage,) = used
    assert not usage.failed
    assert 0 < usage.prompt_tokens <= model.estimated_tokens(question) + 100
    assert usage.completion_tokens > 0
