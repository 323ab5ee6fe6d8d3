"""What is in a model's answer: a value of the wanted shape, or text."""

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ricordo.llm.corrections import Unusable, problems
from ricordo.llm.repair import read_object, without_thinking
from ricordo.llm.wire import Answer

T = TypeVar("T", bound=BaseModel)


def read_value(answer: Answer, shape: type[T]) -> T:
    """The first object in the answer that has the shape.

    Raises:
        Unusable: there is none.
    """
    _check_given(answer)

    def validated(found: dict[str, object]) -> T:
        return shape.model_validate_json(json.dumps(found))

    try:
        # What was cut off is not closed: half a sentence may well have the right shape.
        return read_object(answer.content, validated, close_open_ends=not answer.is_cut_off)
    except ValueError as error:
        if answer.is_cut_off:
            raise _cut_off(answer) from None
        what = problems(error) if isinstance(error, ValidationError) else str(error)
        raise Unusable(what) from None


def read_text(answer: Answer) -> str:
    """The text of the answer.

    Raises:
        Unusable: there is none, or not all of it.
    """
    _check_given(answer)
    if answer.is_cut_off:
        raise _cut_off(answer)
    text = without_thinking(answer.content).strip()
    if not text:
        raise Unusable("it was empty")
    return text


def _check_given(answer: Answer) -> None:
    if answer.is_withheld:
        raise Unusable("the model declined to answer", is_final=True)
    if not answer.content.strip():
        raise _cut_off(answer) if answer.is_cut_off else Unusable("it was empty")


def _cut_off(answer: Answer) -> Unusable:
    spent = answer.completion_tokens
    after = "" if spent is None else f" after {spent} tokens"
    return Unusable(f"it was cut off{after} because it was too long; be much shorter")
