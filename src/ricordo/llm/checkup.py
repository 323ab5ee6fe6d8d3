"""Trying a language model out, and saying in one line what is wrong."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field

from ricordo.errors import LanguageModelError
from ricordo.llm.chat import ChatModel
from ricordo.llm.messages import Message, Usage
from ricordo.model.record import Record

_MAX_TOKENS: Final = 64
_QUESTION: Final = (
    Message("system", "Read the sentence and give what is asked for."),
    Message("user", "The train to the coast leaves at nine. When does it leave?"),
)


class _Departure(BaseModel, defer_build=True):
    hour: int = Field(description="the hour as a number")
    destination: str = Field(description="where it goes, in a word or two")


@dataclass(frozen=True, slots=True)
class ModelReport(Record):
    """What came of it. ``problem`` is None when all is well; tokens are those of all requests."""

    ok: bool
    provider: str
    model: str
    structured_output: str | None
    latency_ms: float | None
    prompt_tokens: int
    completion_tokens: int
    problem: str | None


def test_model(
    model: ChatModel,
    *,
    deadline_seconds: float | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> ModelReport:
    """Ask for a small answer in a given shape. What it says does not matter, only its shape."""
    spent: list[Usage] = []
    problem = None
    begun = monotonic()
    try:
        model.ask(
            _QUESTION,
            _Departure,
            max_tokens=_MAX_TOKENS,
            on_usage=spent.append,
            deadline_seconds=deadline_seconds,
        )
    except LanguageModelError as error:
        problem = " ".join(str(error).split())
    latency_ms = (monotonic() - begun) * 1_000
    is_well = problem is None
    return ModelReport(
        ok=is_well,
        provider=model.provider,
        model=model.model,
        structured_output=model.structure.value if is_well else None,
        latency_ms=latency_ms if is_well else None,
        prompt_tokens=sum(usage.prompt_tokens for usage in spent),
        completion_tokens=sum(usage.completion_tokens for usage in spent),
        problem=problem,
    )
