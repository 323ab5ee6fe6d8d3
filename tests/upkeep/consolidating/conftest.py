"""Fixtures of the tests about consolidation: a user whose memory is tidied when a test says so."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ricordo import Item, Memory, UserMemory
from ricordo.formation.conflicts import ModelJudge
from ricordo.model.activity import Report
from ricordo.model.reports import ConsolidationReport, PairDecision
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.testing import ManualClock
from ricordo.upkeep.consolidation import Consolidation
from tests.support.endpoints import FaultyModel
from tests.support.unasked import stored
from tests.upkeep.conftest import quietly, upkeep_policy

Verdict = Callable[[str, str], str]
"""From the new and the old statement of a pair to a verdict."""

_PAIR = re.compile(r"^Pair (\d+)\nOLD \([^)]*\): (.*)\nNEW \([^)]*\): (.*)$", re.MULTILINE)


def pairs_in(messages: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """The number, the new and the old statement of each pair of a question."""
    text = messages[-1]["content"]
    return [(int(number), new, old) for number, old, new in _PAIR.findall(text)]


def judging(verdict: Verdict, reason: str = "because") -> Callable[[dict[str, Any]], Any]:
    """An answer to every question about pairs, for ``FaultyModel.answer_with``."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        return {
            "verdicts": [
                {"pair": number, "verdict": verdict(new, old), "reason": reason}
                for number, new, old in pairs_in(body["messages"])
            ]
        }

    return answer


class Tidied:
    """A user, and the consolidation of what is stored for them."""

    server: FaultyModel
    """The model that is asked, where there is one."""

    def __init__(self, memory: Memory, clock: ManualClock, user: str = "ana") -> None:
        self.memory = memory
        self.clock = clock
        self.user = user
        everybody = user == GLOBAL_OWNER
        self.me: UserMemory = memory.global_memories() if everybody else memory.user(user)

    def other(self, user: str) -> "Tidied":
        """Somebody else in the same store."""
        one = Tidied(self.memory, self.clock, user)
        if hasattr(self, "server"):
            one.server = self.server
        return one

    def say(self, content: str, **more: Any) -> int:
        """Store something, an hour later than what was stored before."""
        self.clock.advance(hours=1)
        return stored(self.me, content, **more).id

    def consolidate(
        self,
        report: Report = quietly,
        *,
        dry_run: bool = False,
        daily_pairs: int = 50,
        link_min: float | None = None,
        **thresholds: Any,
    ) -> ConsolidationReport:
        """Run it once, with the model of the store where it has one."""
        formation = self.memory.parts.formation
        return Consolidation(
            self.memory.database,
            self.memory.recall,
            replace(formation.policy, **thresholds),
            upkeep_policy(daily_pairs=daily_pairs),
            self.memory.settings.link_min if link_min is None else link_min,
            None if formation.model is None else ModelJudge(formation.model),
        ).run(self.user, report, dry_run=dry_run)

    def decide(self, **more: Any) -> PairDecision:
        """Run it once and expect a single pair."""
        (decision,) = self.consolidate(**more).decisions
        return decision

    @property
    def known(self) -> list[str]:
        """What is stored as true, the oldest first."""
        return [item.content for item in self.items]

    @property
    def items(self) -> list[Item]:
        """What is stored as true, the oldest first."""
        return list(self.me.list(sort="id", order="asc", limit=1000))

    @property
    def related(self) -> list[tuple[int, int]]:
        """The pairs that are linked."""
        found = {
            (min(item.id, other.id), max(item.id, other.id))
            for item in self.items
            for other in self.me.related(item.id)
        }
        return sorted(found)


@pytest.fixture
def open_tidied(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> Callable[..., Tidied]:
    return lambda **settings: Tidied(open_store(backend_url, **settings), clock)


@pytest.fixture
def tidied(memory: Memory, clock: ManualClock) -> Tidied:
    """Without a language model, on both databases."""
    return Tidied(memory, clock)


@pytest.fixture
def with_model(
    open_with_model: Callable[..., Memory], clock: ManualClock, model_server: FaultyModel
) -> Callable[..., Tidied]:
    """Opens a store with the scripted model."""

    def open_one(**settings: Any) -> Tidied:
        tidied = Tidied(open_with_model(**settings), clock)
        tidied.server = model_server
        return tidied

    return open_one


@pytest.fixture
def advised(with_model: Callable[..., Tidied]) -> Tidied:
    """With the scripted model."""
    return with_model()
