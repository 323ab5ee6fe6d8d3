"""Fixtures of the tests about upkeep: a store whose upkeep happens only when a test says so."""

import itertools
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import Job, Memory
from ricordo.model.activity import Report
from ricordo.model.reports import RoundReport
from ricordo.storage.tables import jobs
from ricordo.testing import ManualClock
from ricordo.upkeep.schedule import UpkeepPolicy
from ricordo.upkeep.service import forget_unused, run_round, trim
from tests.support.endpoints import FaultyModel


def quietly(_progress: str) -> None:
    """Nobody wants to know how far the work has come."""


class Stopped(Exception):
    """Raised by a report that ends the work."""


def stopping(after: int) -> Callable[[str], None]:
    """A report that ends the work when it is told for the so-manieth time."""
    told = itertools.count(1)

    def report(_done: str) -> None:
        if next(told) >= after:
            raise Stopped

    return report


def upkeep_policy(**changes: Any) -> UpkeepPolicy:
    """As the settings are when nobody has touched them."""
    usual = {
        "is_automatic": True,
        "forget_after": timedelta(days=60),
        "forget_below": 3,
        "forget_explicit_below": 2,
        "daily_pairs": 50,
        "draws_insights": True,
        "event_life": timedelta(days=30),
    }
    return UpkeepPolicy(**{**usual, **changes})


class Tended:
    """A store and its upkeep, done by hand."""

    def __init__(self, memory: Memory, clock: ManualClock) -> None:
        self.memory = memory
        self.clock = clock

    def forget(self, user: str = "ana", report: Report = quietly, **policy: Any) -> int:
        """Forget what a user does not use."""
        return forget_unused(self.memory.database, upkeep_policy(**policy), user, report)

    def trim(self, user: str = "ana", report: Report = quietly, **policy: Any) -> int:
        """Cut back what tells what happened."""
        return trim(self.memory.database, upkeep_policy(**policy), user, report)

    def round(
        self, user: str = "ana", report: Report = quietly, *, has_model: bool = False, **policy: Any
    ) -> RoundReport:
        """A whole round."""
        return run_round(
            self.memory.database,
            self.memory.recall,
            upkeep_policy(**policy),
            link_min=self.memory.settings.link_min,
            has_model=has_model,
            user_id=user,
            report=report,
        )

    def keep(self, days: int, **policy: Any) -> RoundReport:
        """A round a day for so many days; the last of them."""
        for _ in range(days):
            self.clock.advance(days=1)
            done = self.round(**policy)
        return done

    def jobs(self, kind: str | None = None, state: str | None = "queued") -> list[Job]:
        """The jobs of a kind."""
        return list(self.memory.jobs(kind=kind, state=state, limit=1000))

    def add_users(self, count: int) -> list[str]:
        """Let there be so many users."""
        names = [f"user-{number:03}" for number in range(count)]
        for name in names:
            self.memory.user(name).add("Prefers tea")
        return names


@pytest.fixture
def model_server() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        yield server


@pytest.fixture
def open_with_model(
    backend_url: str, open_store: Callable[..., Memory], model_server: FaultyModel
) -> Callable[..., Memory]:
    """Opens a store with the scripted model."""
    scripted = {
        "model_provider": "custom_http",
        "model_name": "scripted",
        "model_base_url": model_server.base_url,
    }
    return lambda **settings: open_store(backend_url, **{**scripted, **settings})


def untended(memory: Memory, clock: ManualClock) -> Tended:
    """A store that nobody has looked after, although an earlier opening may have planned to."""
    with memory.database.transaction() as connection:
        connection.execute(sa.delete(jobs))
    return Tended(memory, clock)


@pytest.fixture
def open_tended(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> Callable[..., Tended]:
    return lambda **settings: untended(open_store(backend_url, **settings), clock)


@pytest.fixture
def tended(open_tended: Callable[..., Tended]) -> Tended:
    """Without a language model, on both databases."""
    return open_tended()
