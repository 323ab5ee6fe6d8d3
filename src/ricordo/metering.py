"""A language model with a token budget per user and day.

Tokens are reserved before a call and settled after it, so that the limit also holds across
processes; what a killed process had reserved stays counted.
"""

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TypeVar

from pydantic import BaseModel

from ricordo.errors import BudgetExhausted
from ricordo.frozen import dataclass, replace
from ricordo.model.activity import (
    COMPLETION_TOKENS,
    FAILED_MODEL_CALLS,
    MODEL_CALLS,
    PROMPT_TOKENS,
    TOKENS,
)
from ricordo.providers.chat import ChatModel
from ricordo.providers.chat_model import Message, Usage
from ricordo.storage.activity import day_of, tally, tally_of
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.text.secrets import without_secrets

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Reservation:
    tokens: int
    day: str


class MeteredModel:
    def __init__(
        self, database: Database, model: ChatModel, daily_tokens: int, read_chars: int
    ) -> None:
        """``read_chars``: how many characters of a conversation it is asked about at once."""
        self.database = database
        self.read_chars = read_chars
        self._model = model
        self._daily_tokens = daily_tokens

    @property
    def name(self) -> str:
        """Provider and model, as records show them."""
        return f"{self._model.provider}:{self._model.model}"

    @property
    def plain(self) -> ChatModel:
        """The model without metering, for a health check."""
        return self._model

    def close(self) -> None:
        self._model.close()

    def ask(self, user_id: str, messages: Sequence[Message], answer: type[Answer]) -> Answer:
        """A structured answer. No transaction may be open. Raises BudgetExhausted: the day's tokens
        do not suffice for the call, or for trying it again; LanguageModelError: the model could not
        answer."""
        with contextlib.closing(_Meter(self, user_id)) as meter:
            return self._model.ask(
                _without_secrets(messages),
                answer,
                on_usage=meter.after_request,
                before_request=meter.before_request,
            )

    def reply(self, user_id: str, messages: Sequence[Message]) -> str:
        """An answer in plain text. No transaction may be open. Raises BudgetExhausted: the day's
        tokens do not suffice for the call, or for trying it again; LanguageModelError: the model
        could not answer."""
        with contextlib.closing(_Meter(self, user_id)) as meter:
            return self._model.reply(
                _without_secrets(messages),
                on_usage=meter.after_request,
                before_request=meter.before_request,
            )

    @retried
    def reserve(
        self, user_id: str, tokens: int, instead_of: Reservation | None = None
    ) -> Reservation:
        """Reserve tokens, in place of those for a request never sent. Raises BudgetExhausted: the
        day's tokens do not suffice."""
        with self.database.write(user_id) as writing:
            released = _still_counted(writing, instead_of)
            spent = tally_of(writing.connection, user_id, writing.now, TOKENS) - released
            if spent + tokens > self._daily_tokens:
                raise BudgetExhausted(spent, tokens, self._daily_tokens, next_day(writing.now))
            tally(writing, {TOKENS: tokens - released})
            return Reservation(tokens, day_of(writing.now))

    @retried
    def release(self, user_id: str, reserved: Reservation) -> None:
        """Release the tokens of a request that was never sent."""
        with self.database.write(user_id) as writing:
            tally(writing, {TOKENS: -_still_counted(writing, reserved)})

    @retried
    def settle(self, user_id: str, reserved: Reservation, usage: Usage) -> None:
        """Replace reserved tokens by the actual usage.

        Over midnight the estimate stays with the day of the request.
        """
        spent = usage.prompt_tokens + usage.completion_tokens
        with self.database.write(user_id) as writing:
            is_same_day = reserved.day == day_of(writing.now)
            tally(
                writing,
                {
                    TOKENS: spent - _still_counted(writing, reserved) if is_same_day else 0,
                    MODEL_CALLS: 1,
                    FAILED_MODEL_CALLS: int(usage.failed),
                    PROMPT_TOKENS: usage.prompt_tokens,
                    COMPLETION_TOKENS: usage.completion_tokens,
                },
            )


def _without_secrets(messages: Sequence[Message]) -> list[Message]:
    return [replace(one, content=without_secrets(one.content)) for one in messages]


def _still_counted(writing: WriteTransaction, reserved: Reservation | None) -> int:
    """How much of a reservation is in today's count; none after the user was erased."""
    if reserved is None or reserved.day != day_of(writing.now):
        return 0
    return min(reserved.tokens, tally_of(writing.connection, writing.user_id, writing.now, TOKENS))


class _Meter:
    def __init__(self, owner: MeteredModel, user_id: str) -> None:
        self._owner = owner
        self._user_id = user_id
        self._reservation: Reservation | None = None

    def before_request(self, tokens: int) -> None:
        self._reservation = self._owner.reserve(self._user_id, tokens, self._reservation)

    def after_request(self, usage: Usage) -> None:
        assert self._reservation is not None  # every request is announced
        self._owner.settle(self._user_id, self._reservation, usage)
        self._reservation = None

    def close(self) -> None:
        if self._reservation is not None:
            self._owner.release(self._user_id, self._reservation)
            self._reservation = None


def next_day(now: datetime) -> datetime:
    """Midnight of the next day, in UTC."""
    tomorrow = now.astimezone(UTC).date() + timedelta(days=1)
    return datetime.combine(tomorrow, time(), UTC)
