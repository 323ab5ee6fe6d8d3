"""The checked parameters of a prompt, and the token budget of its parts."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.formation.injected import FENCE_START
from ricordo.formation.passages import without_fenced
from ricordo.frozen import dataclass
from ricordo.limits import MAX_TOOL_PASSAGE_CHARS
from ricordo.model import checks
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt.fence import GUIDED_TOOLS, fenced, may_open_a_tag, one_line
from ricordo.text.tokens import TokenCounter, fit_tail_tokens, fit_tokens

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


MESSAGE_TOKENS: Final = 5
"""The overhead of a message: role and separators of chat templates."""

REQUEST_TOKENS: Final = 3
"""The overhead of a request."""

_SYSTEM_SHARE: Final = 0.5
_MEMORY_SHARE: Final = 0.35
"""Of what is left beside the message, the tools and the reply; memories get more where the
conversation is short. History gets the rest."""

_USER: Final = "user"
ASSISTANT: Final = "assistant"


def message_tokens(message: Mapping[str, str], count: TokenCounter) -> int:
    return count(message["content"]) + MESSAGE_TOKENS


def request_tokens(messages: Iterable[Mapping[str, str]], count: TokenCounter) -> int:
    return REQUEST_TOKENS + sum(message_tokens(message, count) for message in messages)


@dataclasses.dataclass(slots=True)
class TokenBudget:
    """Tokens to spend. Texts include the line breaks between them."""

    count: TokenCounter
    left: int
    spent: int = 0
    left_out: list[str] = dataclasses.field(default_factory=list)

    def price(self, text: str) -> int:
        """The cost of a text as a part of a larger one."""
        return self.count(f"{text}\n\n")

    def affords(self, text: str) -> bool:
        return self.price(text) <= self.left

    def pay(self, text: str) -> str:
        self.spend(self.price(text))
        return text

    def spend(self, tokens: int) -> None:
        self.left -= tokens
        self.spent += tokens

    def pay_for_head(self, name: str, text: str) -> str:
        """Pay for a text, or for as much of its beginning as is affordable."""
        if not text:
            return ""
        if self.affords(text):
            return self.pay(text)
        self.left_out.append(name)
        head = fit_tokens(text, self.left - self.count("\n\n"), self.count)
        return self.pay(head) if head and self.affords(head) else ""

    def pay_whole(self, name: str, text: str) -> str:
        """Pay for a text that is useless in part, or leave it out."""
        if text and self.affords(text):
            return self.pay(text)
        if text:
            self.left_out.append(name)
        return ""


@dataclass(frozen=True, slots=True)
class Budget:
    """The cost of the fixed parts of a request, and what is left."""

    count: TokenCounter
    request: PromptRequest
    message: int
    tools: int

    @classmethod
    def of(cls, request: PromptRequest, count: TokenCounter) -> "Budget":
        """The budget of a request. Raises InvalidValue."""
        count = functools.cache(count)
        message = count(request.message) + MESSAGE_TOKENS if request.message else 0
        tools = count(request.tool_schemas) if request.tool_schemas else 0
        budget = cls(count, request, message, tools)
        if budget.room < 0:
            needed = request.budget_tokens - budget.room
            raise InvalidValue(
                "budget_tokens",
                f"{request.budget_tokens} is too little: the message ({message}), the tools"
                f" ({tools}) and the reply ({request.reply_tokens}) need {needed}",
            )
        return budget

    @property
    def room(self) -> int:
        """What is left for system text, memories and history."""
        fixed = REQUEST_TOKENS + MESSAGE_TOKENS  # of the system message itself
        taken = self.message + self.tools + self.request.reply_tokens + fixed
        return self.request.budget_tokens - taken

    def for_system(self) -> TokenBudget:
        """For prompt files, the date and the guide."""
        return TokenBudget(self.count, int(self.room * _SYSTEM_SHARE))

    def for_memories(self, system: TokenBudget, history_tokens: int) -> TokenBudget:
        """For memories, quotes, changes and the narrative: a share, and what history leaves."""
        left = self.room - system.spent
        share = int(self.room * _MEMORY_SHARE)
        return TokenBudget(self.count, min(left, max(share, left - history_tokens)))

    def for_history(self, *spent: TokenBudget) -> TokenBudget:
        """Everything the other parts have not spent."""
        return TokenBudget(self.count, self.room - sum(part.spent for part in spent))


Message = dict[str, str]


def history_messages(
    turns: Sequence[Turn], notes: Mapping[int, str], message: str, token_budget: TokenBudget
) -> list[Message]:
    """The latest affordable turns, in order, each with its note.

    The message itself is left out where it is recorded already. A turn that is too long is cut to
    its end, unless it has fenced text: the cut would remove the fence. An assistant never speaks
    first: many models refuse that.
    """
    said = _messages(turns, notes)
    if said and said[-1] == {"role": _USER, "content": message}:
        said.pop()
    kept: list[Message] = []
    while said:
        content = said[-1]["content"]
        price = token_budget.count(content) + MESSAGE_TOKENS
        if price > token_budget.left:
            break
        token_budget.spend(price)
        kept.append(said.pop())
    left_out = len(said)
    if said and said[-1]["role"] == _USER and FENCE_START not in said[-1]["content"]:
        kept += _end_of(said[-1], token_budget)
    while kept and kept[-1]["role"] == ASSISTANT:  # what it answers has no room
        kept.pop()
        left_out += 1
    if left_out:
        token_budget.left_out.append(f"{left_out} turns")
    return kept[::-1]


def _messages(turns: Sequence[Turn], notes: Mapping[int, str]) -> list[Message]:
    """The turns as messages. What an assistant said before any user is data where it answers what
    is no longer in the window, and else left out: a greeting says nothing."""
    shown = []
    user_spoke = False
    for turn in turns:
        user_spoke = user_spoke or turn.role == _USER
        leads = turn.role == ASSISTANT and not user_spoke
        if leads and (turns[0].position == 1 or not turn.content):
            continue
        note = notes.get(turn.id)
        message = _data(turn, note) if leads else _message(turn, note)
        if message is not None:
            shown.append(message)
    return shown


def _end_of(message: Message, token_budget: TokenBudget) -> list[Message]:
    content = fit_tail_tokens(
        message["content"], token_budget.left - MESSAGE_TOKENS, token_budget.count
    )
    price = token_budget.count(content) + MESSAGE_TOKENS
    if not content or price > token_budget.left:
        return []
    token_budget.spend(price)
    return [{"role": message["role"], "content": content}]


def _message(turn: Turn, note: str | None) -> Message | None:
    """A turn as a message, with a note on it.

    Memories recalled into it are removed. Tool results and system prompts are data here, because
    the calls and setup they belong to are not part of this request.
    """
    if turn.role in (_USER, ASSISTANT):
        content = turn.content
        if may_open_a_tag(content):
            content = without_fenced(content)
        if content and note:
            content = f"{content}\n{note}"
        return {"role": turn.role, "content": content} if content else None
    return _data(turn, note)


def _data(turn: Turn, note: str | None) -> Message:
    passage = one_line(f"{turn.content[:MAX_TOOL_PASSAGE_CHARS]} {note or ''}")
    return {"role": _USER, "content": fenced([f"({one_line(turn.role)}) {passage}"])}
