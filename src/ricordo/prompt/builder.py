"""Assembles a prompt from its parts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Final

from ricordo.formation.injected import FENCE_START
from ricordo.limits import MAX_GUIDE_BYTES
from ricordo.model.context import Context, TokenSplit
from ricordo.model.item import Item
from ricordo.model.search import TurnHit
from ricordo.model.thread import Window
from ricordo.model.vocabulary import ContextMode
from ricordo.prompt import selection
from ricordo.prompt.budget import (
    ASSISTANT,
    MESSAGE_TOKENS,
    REQUEST_TOKENS,
    Budget,
    Message,
    PromptRequest,
    TokenBudget,
    history_messages,
    request_tokens,
)
from ricordo.prompt.delta import Fits
from ricordo.prompt.fence import DATA_NOTE, UNAVAILABLE, block, fenced, suggestion_to_ask
from ricordo.prompt.selection import Choice, Selection
from ricordo.text.tokens import fit_tokens

_DROPPED_LAST: Final = {
    "bridge": "what came before",
    "narrative": "summary",
    "user": "USER.md",
    "soul": "SOUL.md",
    "rules": "RULES.md",
}


@dataclass(slots=True)
class PromptDraft:
    """The parts of a prompt, each within its budget."""

    soul: str = ""
    rules: str = ""
    user: str = ""
    now: str = ""
    guide: str = ""
    note: str = ""
    unsure: str = ""
    delta: tuple[str, ...] = ()
    delta_section: str = ""
    narrative: str = ""
    memories: list[Selection] = field(default_factory=list)
    quotes: list[TurnHit] = field(default_factory=list)
    bridge: str = ""
    history: list[Message] = field(default_factory=list)

    def memory_sections(self, zone: tzinfo) -> list[str]:
        # The user's own memories, other users', and global ones, separately.
        by_heading: dict[str, list[str]] = {heading: [] for heading in selection.HEADINGS}
        for one in sorted(self.memories, key=lambda one: (one.item.valid_from, one.item.id)):
            by_heading[selection.heading_of(one)].append(selection.line_of(one, zone))
        quotes = sorted(self.quotes, key=lambda hit: (hit.at, hit.id))
        return [
            self.delta_section,
            self.narrative,
            *(fenced_list(heading, listed) for heading, listed in by_heading.items()),
            fenced_list(selection.QUOTED, (selection.line_of(hit, zone) for hit in quotes)),
        ]

    def system(self, zone: tzinfo) -> str:
        said = [message["content"] for message in self.history]
        about_data = [*self.memory_sections(zone), self.user, self.bridge, *said]
        note = self.note if any(FENCE_START in part for part in about_data) else ""
        before = [self.soul, self.rules, self.user, self.now, self.guide, note, self.unsure]
        return joined([*before, *self.memory_sections(zone), self.bridge])


def fenced_list(heading: str, data: Iterable[str]) -> str:
    """Lines of data in a fence under a heading; empty for none."""
    inside = fenced(data)
    return f"{heading}\n{inside}" if inside else ""


def joined(parts: Iterable[str]) -> str:
    """The non-empty parts, separated by empty lines."""
    return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class PromptMaterial:
    """What was found for a request. ``notes`` say what is no longer current of turns of the
    window, by id; ``unavailable`` why the store could not be read."""

    soul: str = ""
    rules: str = ""
    user: str = ""
    now: str = ""
    guide: str = ""
    narrative: str = ""
    window: Window | None = None
    notes: Mapping[int, str] = field(default_factory=dict)
    choice: Choice = field(default_factory=Choice)
    problems: tuple[str, ...] = ()
    unavailable: str | None = None


# The order: persona, rules, the user, date and time, and then memory: the guide, changes, the
# narrative, recalled memories, the bridge. The most important parts are paid first; what has no
# room is listed in ``left_out``.


ReadChanges = Callable[[Fits], tuple[str, ...]]
"""Returns the changes for the conversation that fit."""


class Builder:
    def __init__(self, request: PromptRequest, budget: Budget, zone: tzinfo) -> None:
        self._request = request
        self._budget = budget
        self._zone = zone
        self._count = budget.count

    def build(
        self, material: PromptMaterial, read_changes: ReadChanges
    ) -> tuple[Context, list[Item]]:
        """The prompt, and the memories that it shows.

        ``read_changes`` is called once, when the room for changes is known.
        """
        draft = PromptDraft()
        system = self._budget.for_system()
        self._spend_on_system(draft, material, system)
        memory = self._budget.for_memories(system, self._history_tokens(material.window))
        self._add_changes(draft, read_changes, memory)
        self._spend_on_memories(draft, material, memory)
        history = self._budget.for_history(system, memory)
        self._spend_on_history(draft, material, history)
        messages, dropped = self._within_budget(draft)
        left_out = (*system.left_out, *memory.left_out, *history.left_out, *dropped)
        context = self._context(draft, material, messages, left_out)
        return context, [one.item for one in draft.memories]

    # -- the parts

    def _spend_on_system(
        self, draft: PromptDraft, material: PromptMaterial, token_budget: TokenBudget
    ) -> None:
        if self._request.has(ContextMode.TOOLS):
            shown = UNAVAILABLE if material.unavailable is not None else material.guide
            draft.guide = token_budget.pay_whole("guide", shown)
        if self._request.shows_content or material.user or material.window:
            draft.note = token_budget.pay_whole("note on data", DATA_NOTE)
        if self._suggests_query(material):
            suggestion = suggestion_to_ask(self._request.tools)
            draft.unsure = token_budget.pay_whole("suggestion to ask", suggestion)
        draft.now = token_budget.pay_whole("date", material.now)
        draft.rules = token_budget.pay_for_head("RULES.md", material.rules)
        draft.soul = token_budget.pay_for_head("SOUL.md", material.soul)
        draft.user = self._fenced_head(
            "USER.md", selection.ABOUT_USER, block(material.user), token_budget
        )

    def _add_changes(
        self, draft: PromptDraft, read_changes: ReadChanges, token_budget: TokenBudget
    ) -> None:
        """Changes come before the other memory sections, because they are shown only once."""

        def fits(bullets: Sequence[str]) -> bool:
            section = self._delta_section(bullets)
            guide = joined([draft.guide, section])
            if not self._request.shows_content and len(guide.encode()) > MAX_GUIDE_BYTES:
                return False
            # They must not be cut later, so they have to fit beside what is never dropped.
            never_dropped = joined([draft.now, draft.guide, draft.note, draft.unsure, section])
            fits_beside = self._count(never_dropped) <= self._budget.room
            return token_budget.affords(section) and fits_beside

        draft.delta = read_changes(fits)
        if draft.delta:
            draft.delta_section = token_budget.pay(self._delta_section(draft.delta))

    def _delta_section(self, bullets: Sequence[str]) -> str:
        listed = [f"- {bullet}" for bullet in bullets]
        plain = "\n".join([selection.CHANGED, *listed]) if listed else ""
        return fenced_list(selection.CHANGED, listed) if self._request.shows_content else plain

    def _spend_on_memories(
        self, draft: PromptDraft, material: PromptMaterial, token_budget: TokenBudget
    ) -> None:
        choice = material.choice
        for one in _affordable(choice.by_confidence(), self._zone, token_budget):
            if isinstance(one, Selection):
                draft.memories.append(one)
            else:
                draft.quotes.append(one)
        missing = len(choice.memories) - len(draft.memories)
        if missing:
            token_budget.left_out.append(f"{missing} memories")
        draft.narrative = self._fenced_head(
            "summary", selection.NARRATIVE, block(material.narrative), token_budget
        )

    def _spend_on_history(
        self, draft: PromptDraft, material: PromptMaterial, token_budget: TokenBudget
    ) -> None:
        window = material.window
        if window is None:
            return
        sections = [(selection.TODAY, window.today), (selection.BRIDGE, window.bridge)]
        parts = [
            self._fenced_head("what came before", heading, block(text), token_budget)
            for heading, text in sections
            if text
        ]
        draft.bridge = joined(parts)
        draft.history = history_messages(
            window.turns, material.notes, self._request.message, token_budget
        )

    def _history_tokens(self, window: Window | None) -> int:
        """What the conversation takes if it is shown whole."""
        if window is None:
            return 0
        before = sum(self._count(text) for text in (window.today, window.bridge) if text)
        return before + sum(self._count(one.content) + MESSAGE_TOKENS for one in window.turns)

    def _fenced_head(self, name: str, heading: str, text: str, token_budget: TokenBudget) -> str:
        """A text under a heading, in a fence, or as much of its beginning as fits."""
        if not text:
            return ""
        whole = fenced_list(heading, [text])
        if token_budget.affords(whole):
            return token_budget.pay(whole)
        token_budget.left_out.append(name)
        around = token_budget.price(fenced_list(heading, ["-"]))
        head = fit_tokens(text, token_budget.left - around, self._count)
        section = fenced_list(heading, [head]) if head else ""
        return token_budget.pay(section) if section and token_budget.affords(section) else ""

    # -- the whole

    def _within_budget(self, draft: PromptDraft) -> tuple[list[Message], list[str]]:
        """The messages, shrunk where the whole costs more than its parts, and what was dropped for
        that."""
        dropped: Counter[str] = Counter()
        droppable = self._drop_parts(draft)
        beside = self._budget.tools + self._request.reply_tokens
        while True:
            messages = self._messages(draft, draft.system(self._zone))
            if request_tokens(messages, self._count) + beside <= self._request.budget_tokens:
                return messages, _counted(dropped)
            gone = next(droppable, None)
            if gone is None:
                break
            dropped[gone] += 1
        # Nothing fenced is left, except changes, and these fit.
        whole = fit_tokens(draft.system(self._zone), self._budget.room, self._count)
        return self._messages(draft, whole), [*_counted(dropped), "guide"]

    def _drop_parts(self, draft: PromptDraft) -> Iterator[str]:
        """Drop one thing after another, the least needed first, and name it."""
        while draft.history:
            # An answer goes before its question: an assistant never speaks first.
            has_answer = [one["role"] for one in draft.history[1:2]] == [ASSISTANT]
            draft.history.pop(1 if has_answer else 0)
            yield "turns"
        while draft.quotes:
            draft.quotes.pop()
            yield "quotes"
        while draft.memories:
            draft.memories.pop()
            yield "memories"
        for part, name in _DROPPED_LAST.items():
            if getattr(draft, part):
                setattr(draft, part, "")
                yield name

    def _messages(self, draft: PromptDraft, system: str) -> list[Message]:
        message = self._request.message
        last = [{"role": "user", "content": message}] if message else []
        return [{"role": "system", "content": system}, *draft.history, *last]

    def _context(
        self,
        draft: PromptDraft,
        material: PromptMaterial,
        messages: list[Message],
        left_out: tuple[str, ...],
    ) -> Context:
        choice = material.choice
        return Context(
            system=messages[0]["content"],
            messages=tuple(messages),
            memories=tuple(selection.recalled_memory(one) for one in draft.memories),
            quotes=tuple(selection.recalled_turn(hit) for hit in draft.quotes),
            delta=draft.delta,
            confidence=choice.confidence,
            suggests_query=self._suggests_query(material),
            tokens=self._split(draft, messages),
            left_out=left_out,
            problems=material.problems,
        )

    def _split(self, draft: PromptDraft, messages: Sequence[Message]) -> TokenSplit:
        system = self._count(messages[0]["content"]) + MESSAGE_TOKENS + REQUEST_TOKENS
        memories = self._count(joined(draft.memory_sections(self._zone)))
        bridge = self._count(draft.bridge)
        said = sum(self._count(one["content"]) + MESSAGE_TOKENS for one in draft.history)
        # The parts of the system text may cost more apart than together.
        memories = min(memories, system)
        bridge = min(bridge, system - memories)
        return TokenSplit(
            budget=self._request.budget_tokens,
            system=system - memories - bridge,
            memories=memories,
            history=said + bridge,
            message=self._budget.message,
            tools=self._budget.tools,
            reply=self._request.reply_tokens,
        )

    def _suggests_query(self, material: PromptMaterial) -> bool:
        confidence = material.choice.confidence
        return confidence is not None and confidence < self._request.threshold


def _affordable(
    wanted: Iterable[Selection | TurnHit], zone: tzinfo, token_budget: TokenBudget
) -> Iterator[Selection | TurnHit]:
    """Those whose lines are affordable, the most relevant first; each heading and its fence are
    paid with the first line under it."""
    paid: set[str] = set()
    for one in wanted:
        under, line = selection.heading_of(one), selection.line_of(one, zone)
        around = [] if under in paid else [fenced_list(under, ["-"])]
        if token_budget.affords("\n".join([*around, line])):
            for part in (*around, line):
                token_budget.pay(part)
            paid.add(under)
            yield one


def _counted(dropped: Mapping[str, int]) -> list[str]:
    whole = _DROPPED_LAST.values()
    return [name if name in whole else f"{count} more {name}" for name, count in dropped.items()]
