"""Fixtures of the tests about consolidation: a user whose memory is tidied when a test says so."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ricordo import Item, Memory, UserMemory
from ricordo.formation.comparing.judging import ModelJudge
from ricordo.model.consolidation import ConsolidationReport, PairDecision
from ricordo.model.job import Report
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from ricordo.upkeep.consolidating.consolidation import Consolidation
from ricordo.upkeep.policy import UpkeepPolicy


def quietly(_progress: str) -> None:
    """Nobody wants to know how far the work has come."""


class Tidied:
    """A user, and the consolidation of what is stored for them."""

    def __init__(self, memory: Memory, clock: ManualClock, user: str = "ana") -> None:
        self.memory = memory
        self.clock = clock
        self.user = user
        everybody = user == GLOBAL_OWNER
        self.me: UserMemory = memory.global_memories() if everybody else memory.user(user)

    def say(self, content: str, **more: Any) -> int:
        """Store something, an hour later than what was stored before."""
        self.clock.advance(hours=1)
        return self.me.add(content, **more).id

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
        formation = self.memory.formation
        return Consolidation(
            self.memory.database,
            self.memory.recall,
            replace(formation.policy, **thresholds),
            upkeep_policy(daily_pairs),
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


def upkeep_policy(daily_pairs: int) -> UpkeepPolicy:
    """As the settings are when nobody has touched them."""
    return UpkeepPolicy(
        is_automatic=True,
        forget_after=timedelta(days=60),
        forget_below=3,
        forget_explicit_below=2,
        daily_pairs=daily_pairs,
        draws_insights=True,
        event_life=timedelta(days=30),
    )


@pytest.fixture
def tidied(memory: Memory, clock: ManualClock) -> Tidied:
    """Without a language model, on both databases."""
    return Tidied(memory, clock)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def with_model(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    model_server: ModelServer,
) -> Callable[..., Tidied]:
    """Opens a store with the scripted model."""

    def open_one(**settings: Any) -> Tidied:
        chosen = {
            "model_provider": "custom_http",
            "model_name": "scripted",
            "model_base_url": model_server.base_url,
            **settings,
        }
        return Tidied(open_store(backend_url, **chosen), clock)

    return open_one
