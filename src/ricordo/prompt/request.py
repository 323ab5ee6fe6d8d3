"""The checked parameters of a prompt."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.vocabulary import ContextMode

_REPLY_SHARE: Final = 8
_MAX_DEFAULT_REPLY: Final = 1_024


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A message to answer, and its token budget.

    ``tool_schemas`` is the text of the schemas that the caller sends along.
    """

    user_id: str
    message: str
    thread_id: str | None
    agent: str | None
    run_id: str | None
    modes: frozenset[ContextMode]
    threshold: float
    budget_tokens: int
    reply_tokens: int
    tool_schemas: str
    has_history: bool = True
    """Whether earlier turns and their summary are included."""
    has_persona: bool = True
    """Whether ``SOUL.md`` and ``RULES.md`` are included."""
    categories: frozenset[str] | None = None
    """The categories that the scope is restricted to, None for all."""

    @classmethod
    def parse(
        cls,
        *,
        user_id: str,
        message: object,
        thread_id: str | None,
        agent: str | None,
        run_id: str | None,
        modes: object,
        threshold: float,
        budget_tokens: object,
        reply_tokens: object,
        tools: object,
        history: object = True,
        persona: object = True,
        categories: frozenset[str] | None = None,
    ) -> Self:
        """A request from plain values. Raises InvalidValue."""
        low, high = limits.MIN_CONTEXT_TOKENS, limits.MAX_CONTEXT_TOKENS
        budget = checks.integer("budget_tokens", budget_tokens, low, high)
        if reply_tokens is None:
            reply = min(budget // _REPLY_SHARE, _MAX_DEFAULT_REPLY)
        else:
            reply = checks.integer("reply_tokens", reply_tokens, 0, budget)
        return cls(
            user_id=user_id,
            message=""
            if message == ""
            else checks.text("message", message, limits.MAX_MESSAGE_CHARS),
            thread_id=thread_id,
            agent=agent,
            run_id=run_id,
            modes=_modes(modes),
            threshold=threshold,
            budget_tokens=budget,
            reply_tokens=reply,
            tool_schemas=_schemas(tools),
            # Turns have no category, and any conversation could be named.
            has_history=checks.flag("history", history) and categories is None,
            has_persona=checks.flag("persona", persona),
            categories=categories,
        )

    def has(self, *modes: ContextMode) -> bool:
        return not self.modes.isdisjoint(modes)

    @property
    def shows_content(self) -> bool:
        """Whether the prompt may show memory contents."""
        return self.has(ContextMode.RECALL, ContextMode.SUMMARY)


def _modes(given: object) -> frozenset[ContextMode]:
    """One mode, several, or several in one text separated by commas or plus signs."""
    if isinstance(given, str):
        given = [part.strip() for part in given.replace("+", ",").split(",")]
    return frozenset(checks.choices("modes", given, ContextMode))


def _schemas(given: object) -> str:
    if given is None:
        return ""
    if isinstance(given, Mapping) or not isinstance(given, Iterable) or isinstance(given, str):
        raise InvalidValue("tools", "expected a list of schemas")
    listed: list[Any] = checks.json_list("tools", list(given), limits.MAX_TOOL_SCHEMAS_BYTES)
    return json.dumps(listed, ensure_ascii=False) if listed else ""
