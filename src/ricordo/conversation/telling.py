"""Telling a stretch of a conversation in short: with a model where there is one, else without."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from ricordo import limits
from ricordo.conversation.extracting import condensed, extended_bridge, extract_summary
from ricordo.conversation.policy import ConversationPolicy
from ricordo.errors import BadAnswer, BudgetExhausted, ModelRefused, ModelUnavailable, in_log
from ricordo.formation import prompts
from ricordo.metering import MeteredModel
from ricordo.model.thread import EXTRACT, Turn
from ricordo.providers.chat_model import Message
from ricordo.text.analyser import Analyser

_ANSWER_TOKENS: Final = 2_400
_NOTHING_BEFORE: Final = "(nothing)"

_log = logging.getLogger(__name__)


class StretchInShort(BaseModel, defer_build=True):
    """What a model makes of a stretch. Its limits are told, not checked: what is longer is cut."""

    summary: str
    bridge: str


@dataclass(frozen=True, slots=True)
class Told:
    """A stretch in short, and the conversation up to its end."""

    summary: str
    bridge: str
    made_by: str


class Teller:
    """Makes summaries and bridges."""

    def __init__(
        self, analyser: Analyser, policy: ConversationPolicy, model: MeteredModel | None
    ) -> None:
        self._analyser = analyser
        self._policy = policy
        self._model = model

    def tell(
        self, user_id: str, former: str | None, turns: Sequence[Turn], *, is_patient: bool
    ) -> Told:
        """A stretch in short. No transaction may be open.

        Where the model gives nothing usable, and trying again would not help, it is told without.
        ``is_patient`` says that somebody will try again where the model is merely down.

        Raises:
            ModelUnavailable: the model is down, and this is patient.
        """
        if self._model is not None:
            try:
                told = self._asked(self._model, user_id, former, turns)
            except (BadAnswer, BudgetExhausted, ModelRefused) as problem:
                _log.warning("a conversation is told without the model: %s", in_log(problem))
            except ModelUnavailable as problem:
                if is_patient:
                    raise
                _log.warning("a conversation is told without the model: %s", in_log(problem))
            else:
                if told is not None:
                    return told
        return self.extract(former, turns)

    def extract(self, former: str | None, turns: Sequence[Turn]) -> Told:
        """A stretch in short without a model: always possible, and always the same."""
        summary = extract_summary(turns, self._analyser, self._policy.zone)
        return Told(summary, extended_bridge(former, summary, self._analyser), EXTRACT)

    def _asked(
        self, model: MeteredModel, user_id: str, former: str | None, turns: Sequence[Turn]
    ) -> Told | None:
        """What the model tells; None where there is nothing that it may be shown, or is left."""
        from ricordo.conversation.repeatable import repeatable  # these take long to load
        from ricordo.formation.hygiene import render

        transcript = render(turns, first_new_position=turns[0].position).text
        if not transcript:
            return None
        prompt = prompts.render(
            prompts.COMPACT,
            summary=limits.MAX_COMPACTION_CHARS,
            bridge=limits.MAX_BRIDGE_CHARS,
            before=former or _NOTHING_BEFORE,
            transcript=transcript,
        )
        asked = [Message("user", prompt)]
        made = model.ask(user_id, asked, StretchInShort, max_tokens=_ANSWER_TOKENS)
        summary = repeatable(made.summary)
        bridge = repeatable(made.bridge)
        if not summary or not bridge:
            return None
        return Told(
            condensed(summary, limits.MAX_COMPACTION_CHARS, self._analyser),
            condensed(bridge, limits.MAX_BRIDGE_CHARS, self._analyser),
            model.name,
        )
