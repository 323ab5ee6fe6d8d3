"""The OpenAI wire format for chat: answers read and distrusted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ricordo.endpoints.answers import read_json
from ricordo.errors import BadAnswer
from ricordo.limits import MAX_MODEL_ANSWER_CHARS


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote, and how it came to an end."""

    content: str
    finish_reason: str | None
    refusal: str | None
    prompt_tokens: int | None
    completion_tokens: int | None

    @property
    def is_cut_off(self) -> bool:
        """Whether it reached the most tokens that were allowed."""
        return self.finish_reason == "length"

    @property
    def is_withheld(self) -> bool:
        """Whether the model, or a filter after it, declined to answer."""
        return self.refusal is not None or self.finish_reason == "content_filter"


def read_answer(content: bytes) -> Answer:
    """The first choice of an answer with status 200.

    Raises:
        BadAnswer: there is none in it.
    """
    body = read_json(content, BadAnswer)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise BadAnswer("the answer has no choices with a message; is base_url right?")
    text = _text(message.get("content"))
    if len(text) > MAX_MODEL_ANSWER_CHARS:
        raise BadAnswer(f"the answer is longer than {MAX_MODEL_ANSWER_CHARS} characters")
    return Answer(
        content=text,
        finish_reason=_word(choice.get("finish_reason")),
        refusal=_word(message.get("refusal")),
        prompt_tokens=_count(body, "prompt_tokens"),
        completion_tokens=_count(body, "completion_tokens"),
    )


def error_status(content: bytes) -> int | None:
    """The status that a gateway hides in an answer with status 200; None when it does not."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or "choices" in body:
        return None
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code <= 599 else None


def _text(content: object) -> str:
    """A text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(part for part in parts if isinstance(part, str))


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(body: Mapping[str, Any], name: str) -> int | None:
    usage = body.get("usage")
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else None
