"""What is said to a language model, and what it costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ricordo.text.tokens import estimate_tokens

Role = Literal["system", "user", "assistant"]

_MESSAGE_COST: Final = 5  # the marks around a message and the name of its role
_ANSWER_START_COST: Final = 3


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one request that was sent.

    ``failed``: it brought nothing that could be used. Such a request counts as well, because the
    endpoint may have worked, and charged, for it.
    """

    prompt_tokens: int
    completion_tokens: int
    failed: bool


OnUsage = Callable[[Usage], None]
BeforeRequest = Callable[[int], None]
"""Told the most tokens that a request can take, before it is sent. What it raises ends the call."""


def no_limit(_tokens: int) -> None:
    """For calls that may take what they need."""


def estimated_tokens(messages: Sequence[Message]) -> int:
    """An upward estimate of what the messages cost as a prompt."""
    texts = sum(estimate_tokens(message.content) for message in messages)
    return texts + _MESSAGE_COST * len(messages) + _ANSWER_START_COST
