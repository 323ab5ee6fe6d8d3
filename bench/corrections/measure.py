"""What each path shows after a correction, and whether that is current."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from bench.corrections.conversations import NEW, Correction
from ricordo.formation.injected import FENCE_END, FENCE_START
from ricordo.limits import MAX_PAGE_ITEMS
from ricordo.memory import Memory
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.service import ChatProxy, ProxyCaller
from ricordo.testing import ManualClock, ModelServer
from ricordo.text.dates import ENGLISH_MONTHS
from ricordo.tools.calls import Tools
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

STALE, BOTH, CURRENT, NOTHING = "stale", "both", "current", "nothing"
CLASSES: Final = (STALE, BOTH, CURRENT, NOTHING)
FAILURES: Final = (STALE, BOTH)
_START: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_ONE_DAY: Final = timedelta(days=1)
_ASKING: Final = "question"
_NOTE: Final = " [no longer current since "
_NOW: Final = "; now: "
_DAY: Final = rf"\d{{1,2}} (?:{'|'.join(ENGLISH_MONTHS)}) \d{{4}}"
_DATED: Final = re.compile(rf"- {_DAY}[ ,]")
_NO_VALUE: Final = re.compile(rf"{_DAY}|#\d+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) ")

Stored = tuple[str, str]
"""The status and the content of a memory; a proposal waits."""


class Line(NamedTuple):
    """What a path shows in one piece. Of dated ones the latest holds, wherever it stands."""

    text: str
    is_dated: bool = False


Ask = Callable[[UserMemory, str], Iterable[Line]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The class and the lines of each path; and all memories, and how old and new are stored."""

    correction: Correction
    verdicts: Mapping[str, str]
    shown: Mapping[str, Sequence[Line]]
    memories: Sequence[Stored]
    states: str


def outcomes(corrections: Iterable[Correction]) -> Iterator[Outcome]:
    """Every correction with a user of its own, without a language model."""
    clock = ManualClock()
    settings: dict[str, Any] = {"model_provider": None, "upkeep": False, "synchronous": "NORMAL"}
    settings |= {"rerank_ms": 60_000, "embedding_deadline_seconds": 60}  # the same on any machine
    with ModelServer() as upstream, asyncio.Runner() as runner:
        upstream.answer_with(lambda _: "Let me see.")
        settings["upstream_url"] = upstream.base_url
        with open_memory(":memory:", run_jobs=False, clock=clock, **settings) as memory:
            bench = _Bench(memory, clock, upstream, runner)
            try:
                yield from map(bench.outcome, corrections)
            finally:
                runner.run(bench.proxy.aclose())


class _Bench:
    def __init__(
        self, memory: Memory, clock: ManualClock, upstream: ModelServer, runner: asyncio.Runner
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._upstream = upstream
        self._runner = runner
        self.proxy = ChatProxy(memory, memory.settings)
        self._paths: Mapping[str, Ask] = {
            "search": _searched,
            "search_turns": _searched_turns,
            "context": _context,
            "proxy": self._proxied,
            "memory_search": _calling("memory_search", "results", "content"),
            "memory_query": _calling("memory_query", "bullets", "text"),
        }

    def outcome(self, correction: Correction) -> Outcome:
        user = self._memory.user(f"user-{correction.number}")
        self._clock.set(_START)
        for step in correction.steps:
            self._pass(user, step.after)
            user.observe(list(step.messages), thread=step.thread)
        self._pass(user, _ONE_DAY)
        items = list(user.list(limit=MAX_PAGE_ITEMS, status="any"))
        memories = [(item.status.value, item.content) for item in items]
        memories += [("waits", one.content) for one in user.proposals() if one.content is not None]
        judge = Judge(correction, [item.content for item in items if item.message_id == NEW])
        shown = {path: list(ask(user, correction.question)) for path, ask in self._paths.items()}
        verdicts = {path: judge.verdict(lines) for path, lines in shown.items()}
        return Outcome(correction, verdicts, shown, memories, judge.states(memories))

    def _pass(self, user: UserMemory, time: timedelta) -> None:
        """What is due runs as it would in the background; of upkeep, what compares memories."""
        self._clock.advance(seconds=time.total_seconds())
        self._memory.run_jobs()
        if time >= _ONE_DAY:
            user.consolidate()

    def _proxied(self, user: UserMemory, question: str) -> list[Line]:
        """What the proxy adds to the prompt of the model."""
        asked = {"model": "m", "messages": [{"role": "user", "content": question}]}
        self._runner.run(self._chat(user.scope.user_id, json.dumps(asked).encode()))
        sent = self._upstream.requests[-1].body["messages"]
        return [line for one in sent[:-1] for line in prompt_lines(one["content"])]

    async def _chat(self, user_id: str, body: bytes) -> None:
        request = await self.proxy.read(OPENAI, body)
        headers = {"X-Ricordo-Thread": _ASKING}
        await self.proxy.answer(request, query="", headers=headers, caller=ProxyCaller(user_id))
        await self.proxy.drain()


def _searched(user: UserMemory, question: str) -> Iterator[Line]:
    return (Line(hit.content_snippet) for hit in user.search(question))


def _searched_turns(user: UserMemory, question: str) -> Iterator[Line]:
    for hit in user.search_turns(question):
        notes = [one.note(UTC) for one in hit.superseded]
        yield Line(" ".join([f"{hit.role}: {hit.content_snippet}", *notes]))


def _context(user: UserMemory, question: str) -> list[Line]:
    return prompt_lines(user.context(question, thread=_ASKING, modes="recall").system)


def _calling(tool: str, listed: str, text: str) -> Ask:
    def ask(user: UserMemory, question: str) -> list[Line]:
        answer = Tools(user, "standard", "query").call(tool, {"query": question})
        return [Line(one[text]) for one in json.loads(answer)[listed]]

    return ask


def prompt_lines(system: str) -> list[Line]:
    """The lines of data in a prompt; those without a date by sentence."""
    found: list[Line] = []
    is_data = False
    for text in system.splitlines():
        if text in (FENCE_START, FENCE_END):
            is_data = text == FENCE_START
        elif is_data and _DATED.match(text):
            found.append(Line(text, is_dated=True))
        elif is_data:
            found += [Line(sentence) for sentence in _SENTENCE_END.split(text)]
    return found


class Judge:
    """Tells old from new by the values, and by what was ``formed`` from the correcting message."""

    def __init__(self, correction: Correction, formed: Iterable[str]) -> None:
        self._correction = correction
        self._of_correction = (correction.correcting, *formed)

    def verdict(self, lines: Sequence[Line]) -> str:
        """The class of what is shown, in this order."""
        old = [place for place, line in enumerate(lines) if self._is_old(line.text)]
        new = [place for place, line in enumerate(lines) if self._is_new(line.text)]
        is_taken_back = self._correction.new is None
        if not old:
            return CURRENT if new or is_taken_back else NOTHING
        first_old, first_new = (
            min((place for place in places if not lines[place].is_dated), default=len(lines))
            for places in (old, new)
        )
        if not new or first_old < first_new:
            return STALE
        return CURRENT if is_taken_back else BOTH

    def states(self, memories: Iterable[Stored]) -> str:
        """How the old and the new statement are stored."""
        found: dict[str, set[str]] = {"old": set(), "new": set()}
        for status, text in memories:
            if self._is_new(text):
                found["new"].add(status)
            elif self._is_old(text):
                found["old"].add(status)
        named = {side: " and ".join(sorted(states)) for side, states in found.items()}
        return ", ".join(f"{side} {states or 'not stored'}" for side, states in named.items())

    def _is_new(self, text: str) -> bool:
        said, _, note = text.partition(_NOTE)
        return self._says_new(said) or self._says_new(note.partition(_NOW)[2])

    def _says_new(self, text: str) -> bool:
        """Whether it has the new value, or is what says that the old one is over."""
        one, words = self._correction, _NO_VALUE.sub("", text)
        if one.has(one.new, words):
            return True
        if not any(said in text for said in self._of_correction):
            return False
        return one.says_over(words) if one.has(one.old, words) else one.new is None

    def _is_old(self, text: str) -> bool:
        """Whether it has the old value and is neither marked nor says what is new."""
        said, _, note = text.partition(_NOTE)
        has = self._correction.has
        old = self._correction.old
        return has(old, _NO_VALUE.sub("", said)) and not has(old, note) and not self._is_new(text)
