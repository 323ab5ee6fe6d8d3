"""What a model is told about the shape of its answer, before it answers and when it was wrong."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from ricordo.limits import MAX_REPEATED_ANSWER_CHARS
from ricordo.llm.messages import Message

_MAX_PROBLEMS: Final = 3
_MAX_PROBLEM_CHARS: Final = 160

_ONLY_JSON: Final = (
    "Answer with one JSON object and nothing else: no explanation, no code fence."
    " It must follow this JSON schema:\n"
)


class Unusable(Exception):
    """An answer that cannot be used; ``what`` says why, in words for the model and for people."""

    def __init__(self, what: str, *, is_final: bool = False) -> None:
        """``is_final``: telling the model would not help."""
        self.what = what
        self.is_final = is_final
        super().__init__(what)


def compact(schema: Mapping[str, object]) -> str:
    """A schema as it is shown to a model."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def with_schema(messages: Sequence[Message], schema: Mapping[str, object]) -> list[Message]:
    """The conversation, with the wanted shape described in its system message."""
    wanted = _ONLY_JSON + compact(schema)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{wanted}"), *messages[1:]]
    return [Message("system", wanted), *messages]


def correction(
    wrong: str, problem: Unusable, schema: Mapping[str, object] | None
) -> tuple[Message, Message]:
    """The wrong answer and what was wrong with it, to go on with the conversation.

    The schema is repeated where the conversation does not show it yet: an endpoint that took it
    and paid no heed to it did not show it to the model either.
    """
    again = f"That answer cannot be used: {problem.what}. Answer again."
    if schema is not None:
        again = f"{again} {_ONLY_JSON}{compact(schema)}"
    # Never empty: some endpoints refuse such messages.
    repeated = wrong[:MAX_REPEATED_ANSWER_CHARS] if wrong.strip() else "(nothing)"
    return Message("assistant", repeated), Message("user", again)


def problems(error: ValidationError) -> str:
    """What is wrong with a value, in a line, without repeating any of it."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(step) for step in entry['loc']) or 'the object'}: {entry['msg']}"
        for entry in found[:_MAX_PROBLEMS]
    ]
    more = [f"and {len(found) - _MAX_PROBLEMS} more"] if len(found) > _MAX_PROBLEMS else []
    return "; ".join([line[:_MAX_PROBLEM_CHARS] for line in lines] + more)
