"""Answers of chat models: reading them, and asking for a better one."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from ricordo.errors import BadAnswer, ModelRefused, ModelUnavailable
from ricordo.frozen import dataclass
from ricordo.limits import (
    MAX_MODEL_ANSWER_CHARS,
    MAX_MODEL_RESPONSE_BYTES,
    MAX_REPEATED_ANSWER_CHARS,
)
from ricordo.providers.chat_model import Message
from ricordo.providers.endpoint import Endpoint, one_line, read_json, said
from ricordo.providers.event_stream import EventReader
from ricordo.providers.json_repair import has_thinking, read_object, without_thinking

_THINKING_FIELDS: Final = ("reasoning_content", "reasoning", "thinking")
_MAX_PROBLEMS: Final = 3
_MAX_PROBLEM_CHARS: Final = 160
_TOO_LONG: Final = f"the answer is longer than {MAX_MODEL_ANSWER_CHARS} characters"

_ONLY_JSON: Final = (
    "Answer with one JSON object and nothing else: no explanation, no code fence."
    " It must follow this JSON schema:\n"
)

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model wrote, and how it ended."""

    content: str
    finish_reason: str | None
    refusal: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    has_thought: bool = False
    """Whether the model thought before it answered; that takes tokens, too."""

    @property
    def is_cut_off(self) -> bool:
        """Whether it reached the token limit."""
        return self.finish_reason == "length"

    @property
    def is_withheld(self) -> bool:
        """Whether the model, or a filter after it, declined to answer."""
        return self.refusal is not None or self.finish_reason == "content_filter"


def read_answer(content: bytes) -> ModelAnswer:
    """The first choice of an answer with status 200. Raises BadAnswer: there is none in it."""
    body = read_json(content, BadAnswer)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise BadAnswer("the answer has no choices with a message; is base_url right?")
    text = _text(message.get("content"))
    if len(text) > MAX_MODEL_ANSWER_CHARS:
        raise BadAnswer(_TOO_LONG)
    return ModelAnswer(
        content=text,
        finish_reason=_word(choice.get("finish_reason")),
        refusal=_word(message.get("refusal")),
        prompt_tokens=_count(body, "prompt_tokens"),
        completion_tokens=_count(body, "completion_tokens"),
        has_thought=_has_thought(body, message),
    )


def _has_thought(body: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether the thinking is in the answer, beside it, or only counted."""
    if any(_text(message.get(name)).strip() for name in _THINKING_FIELDS):
        return True
    usage = body.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    if isinstance(details, dict) and _count({"usage": details}, "reasoning_tokens"):
        return True
    return has_thinking(_text(message.get("content")))


def _text(content: object) -> str:
    """A text, or the text parts of a list."""
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


def streamed_text(content_type: str, parts: Iterable[bytes], endpoint: Endpoint) -> Iterator[str]:
    """The text of a streamed answer, piece by piece; of another answer, in one piece.

    Raises:
        ModelUnavailable: an error came in the middle of the answer.
        ModelRefused: the model declines.
        BadAnswer: what came is no answer, or too long a one.
    """
    length = 0
    try:
        if "text/event-stream" in content_type:
            pieces = _pieces(parts, endpoint)
        else:
            pieces = iter([read_answer(b"".join(parts)).content])
        for piece in pieces:
            length += len(piece)
            if length > MAX_MODEL_ANSWER_CHARS:
                raise BadAnswer(_TOO_LONG)
            yield piece
        if not length:
            raise BadAnswer("the answer is empty")
    except BadAnswer as problem:
        raise BadAnswer(f"{endpoint.place}: {problem}") from None


def _pieces(parts: Iterable[bytes], endpoint: Endpoint) -> Iterator[str]:
    for event in _events(parts):
        match event:
            case {"error": error} if error:
                problem = said(json.dumps(event).encode(), endpoint.api_key)
                raise ModelUnavailable(f"{endpoint.place} broke off: {problem}")
            case {"choices": [{"delta": {"refusal": str(refusal)}}, *_]} if refusal:
                raise ModelRefused(f"the model declines: {one_line(refusal, None)}")
            case {"choices": [{"delta": {"content": str(piece)}}, *_]} if piece:
                yield piece


def _events(parts: Iterable[bytes]) -> Iterator[Any]:
    reader = EventReader(MAX_MODEL_RESPONSE_BYTES)
    for found in itertools.chain((reader.feed(part) for part in parts), [reader.finish()]):
        for data in found:
            if data.strip() == b"[DONE]":
                return
            try:
                yield json.loads(data)
            except (ValueError, RecursionError):
                raise BadAnswer("a piece of the answer is not JSON") from None


class Unusable(Exception):
    """An answer that cannot be used; ``what`` says why, for the model and for people."""

    def __init__(self, what: str, *, is_final: bool = False, is_cut_off: bool = False) -> None:
        """``is_final``: a correction would not help."""
        self.what = what
        self.is_final = is_final
        self.is_cut_off = is_cut_off
        super().__init__(what)


def compact(schema: Mapping[str, object]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def with_schema(messages: Sequence[Message], schema: Mapping[str, object]) -> list[Message]:
    wanted = _ONLY_JSON + compact(schema)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{wanted}"), *messages[1:]]
    return [Message("system", wanted), *messages]


def correction(
    wrong: str, problem: Unusable, schema: Mapping[str, object] | None
) -> tuple[Message, Message]:
    """The wrong answer and what was wrong with it, to continue the conversation.

    The schema is repeated where the conversation does not show it: an endpoint that ignored the
    schema did not show it to the model either.
    """
    again = f"That answer cannot be used: {problem.what}. Answer again."
    if schema is not None:
        again = f"{again} {_ONLY_JSON}{compact(schema)}"
    # Never empty: some endpoints refuse such messages.
    repeated = wrong[:MAX_REPEATED_ANSWER_CHARS] if wrong.strip() else "(nothing)"
    return Message("assistant", repeated), Message("user", again)


def problems(error: ValidationError) -> str:
    """Validation errors on one line, without the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in entry['loc']) or 'the object'}: {entry['msg']}"
        for entry in found[:_MAX_PROBLEMS]
    ]
    more = [f"and {len(found) - _MAX_PROBLEMS} more"] if len(found) > _MAX_PROBLEMS else []
    return "; ".join([line[:_MAX_PROBLEM_CHARS] for line in lines] + more)


def read_value(answer: ModelAnswer, shape: type[T]) -> T:
    """The first object in the answer that has the shape. Raises Unusable: there is none."""
    _check_given(answer)

    def validated(found: dict[str, object]) -> T:
        return shape.model_validate_json(json.dumps(found))

    try:
        # A truncated answer is not closed: half a sentence may well have the right shape.
        return read_object(answer.content, validated, close_open_ends=not answer.is_cut_off)
    except ValueError as error:
        if answer.is_cut_off:
            raise _cut_off(answer) from None
        what = problems(error) if isinstance(error, ValidationError) else str(error)
        raise Unusable(what) from None


def read_text(answer: ModelAnswer) -> str:
    """The text of the answer. Raises Unusable: there is none, or it is truncated."""
    _check_given(answer)
    if answer.is_cut_off:
        raise _cut_off(answer)
    text = without_thinking(answer.content).strip()
    if not text:
        raise Unusable("it was empty")
    return text


def _check_given(answer: ModelAnswer) -> None:
    if answer.is_withheld:
        raise Unusable("the model declined to answer", is_final=True)
    if not answer.content.strip():
        raise _cut_off(answer) if answer.is_cut_off else Unusable("it was empty")


def _cut_off(answer: ModelAnswer) -> Unusable:
    spent = answer.completion_tokens
    after = "" if spent is None else f" after {spent} tokens"
    what = f"it was cut off{after} because it was too long; be much shorter"
    return Unusable(what, is_cut_off=True)
