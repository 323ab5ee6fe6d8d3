"""The checked parameters of a prompt."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.fence import GUIDED_TOOLS

_REPLY_SHARE: Final = 8
_MAX_DEFAULT_REPLY: Final = 1_024


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A message to answer, and its token budget.

    ``tool_schemas`` is the text of the schemas that the caller sends along, ``tools`` the names of
    the tools that the model has.
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
    tools: tuple[str, ...]
    has_history: bool = True
    """Whether earlier turns and their summary are included."""
    has_persona: bool = True
    """Whether ``SOUL.md`` and ``RULES.md`` are included."""
    has_user_file: bool = True
    """Whether ``USER.md`` is included."""
    categories: frozenset[str] | None = None
    """The categories that the scope is restricted to, None for all."""
    project: str | None = None
    """The project that the scope is kept to, None for all."""

    @classmethod
    def of(
        cls,
        *,
        modes: Iterable[ContextMode],
        budget_tokens: int,
        reply_tokens: int | None,
        tools: object,
        history: bool,
        persona: bool,
        user_file: bool,
        categories: frozenset[str] | None,
        **given: Any,
    ) -> Self:
        """A request from checked values and unchecked schemas. Raises InvalidValue."""
        if reply_tokens is None:
            reply = min(budget_tokens // _REPLY_SHARE, _MAX_DEFAULT_REPLY)
        else:
            reply = checks.integer("reply_tokens", reply_tokens, 0, budget_tokens)
        wanted, schemas = frozenset(modes), _schemas(tools)
        is_guided = schemas is None and ContextMode.TOOLS in wanted
        return cls(
            modes=wanted,
            budget_tokens=budget_tokens,
            reply_tokens=reply,
            tool_schemas=json.dumps(schemas, ensure_ascii=False) if schemas else "",
            # Who asks for the guide and does not say which tools there are has those of the guide.
            tools=GUIDED_TOOLS if is_guided else tool_names(schemas or ()),
            # Turns have no category, and any conversation could be named.
            has_history=history and categories is None,
            has_persona=persona,
            has_user_file=user_file,
            categories=categories,
            **given,
        )

    def has(self, *modes: ContextMode) -> bool:
        return not self.modes.isdisjoint(modes)

    @property
    def shows_content(self) -> bool:
        """Whether the prompt may show memory contents."""
        return self.has(ContextMode.RECALL, ContextMode.SUMMARY)


def tool_names(schemas: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names in schemas as OpenAI, Anthropic and MCP write them."""
    described = (one.get("function", one) for one in schemas)
    names = (one.get("name") for one in described if isinstance(one, Mapping))
    return tuple(name for name in names if isinstance(name, str))


def _schemas(given: object) -> list[dict[str, Any]] | None:
    if given is None:
        return None
    if isinstance(given, Mapping) or not isinstance(given, Iterable) or isinstance(given, str):
        raise InvalidValue("tools", "expected a list of schemas")
    listed: list[Any] = checks.json_list("tools", list(given), limits.MAX_TOOL_SCHEMAS_BYTES)
    if not all(isinstance(one, dict) for one in listed):
        raise InvalidValue("tools", "expected a list of schemas")
    return listed
