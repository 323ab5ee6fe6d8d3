"""Consolidation over days and weeks: what waits has its turn, what was said again is not lost."""

from collections.abc import Callable

import pytest

from ricordo import Memory, ModelUnavailable
from ricordo.model.consolidation import CONSOLIDATION_PAIRS, PairAction
from ricordo.model.vocabulary import Source
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from ricordo.upkeep.consolidating.consolidation import DAY_IS_FULL
from ricordo.upkeep.kinds import CONSOLIDATE_JOB
from tests.upkeep.consolidating.conftest import Tidied
from tests.upkeep.consolidating.judge_script import judging
from tests.upkeep.consolidating.test_pairs import doubtful, doubtful_texts, state


def looked_at(tidied: Tidied) -> int:
    return tidied.me.counters().counts.get(CONSOLIDATION_PAIRS, 0)


def at_once(tidied: Tidied, texts: list[str]) -> None:
    tidied.me.add_many([{"content": text} for text in texts])


def next_day(tidied: Tidied) -> bool:
    """A day's round and all that it queues; whether a consolidation was among it."""
    tidied.clock.advance(days=1)
    queued = tidied.me.upkeep().queued
    tidied.memory.run_jobs()
    return CONSOLIDATE_JOB in queued


@pytest.mark.requirement("upkeep.pairs")
def test_pairs_that_wait_are_worked_off_although_nothing_changes(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    tidied = Tidied(open_store(backend_url, consolidation_daily_pairs=5), clock)
    at_once(tidied, doubtful_texts(40))
    before = tidied.items
    for day in range(1, 9):
        assert next_day(tidied)
        assert looked_at(tidied) == 5 * day
        assert (state(tidied).pairs_wait_since is None) is (day == 8)
    assert tidied.items == before
    for _ in range(20):
        assert not next_day(tidied)
    assert looked_at(tidied) == 40


@pytest.mark.requirement("upkeep.pairs")
def test_merged_pairs_are_worked_off_too_and_then_it_rests(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    tidied = Tidied(open_store(backend_url, consolidation_daily_pairs=5), clock)
    at_once(
        tidied,
        [f"oak{n} elm{n} ash{n}{more}" for n in range(20) for more in ("", f" fir{n}")],
    )
    days = [next_day(tidied) for _ in range(8)]
    assert len(tidied.known) == 20
    # The last survivor was changed by what replaced another, which is looked at once more.
    assert days == [True] * 5 + [False] * 3
    assert state(tidied).pairs_wait_since is None


@pytest.mark.requirement("upkeep.pairs")
def test_a_long_queue_does_not_begin_anew_before_its_end(tidied: Tidied) -> None:
    at_once(tidied, doubtful_texts(40))
    for left in range(38, -1, -2):
        report = tidied.consolidate(daily_pairs=2)
        assert (report.pairs, report.waiting) == (2, left)
        assert report.waits == (DAY_IS_FULL if left else None)
        tidied.clock.advance(days=1)
    assert tidied.consolidate(daily_pairs=2).pairs == 0


@pytest.mark.requirement("upkeep.pairs")
def test_a_queue_longer_than_notes_are_kept_comes_to_its_end(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    tidied = Tidied(open_store(backend_url, consolidation_daily_pairs=2), clock)
    at_once(tidied, doubtful_texts(40))
    days = [next_day(tidied) for _ in range(24)]
    assert days == [True] * 20 + [False] * 4
    assert looked_at(tidied) == 40


@pytest.mark.requirement("upkeep.pairs")
def test_what_the_model_could_not_say_for_days_is_asked_when_it_is_back(
    with_model: Callable[..., Tidied], model_server: ModelServer
) -> None:
    tidied = with_model()
    doubtful(tidied, 3)
    for _ in range(6):
        model_server.fail_next(100, status=503)
        with pytest.raises(ModelUnavailable):
            tidied.consolidate()
        tidied.clock.advance(days=1)
    assert state(tidied).consolidated_at is None
    model_server.answer_rightly()
    model_server.answer_with(judging(lambda _new, _old: "same"))
    assert tidied.consolidate().merged == 3
    assert state(tidied).pairs_wait_since is None


@pytest.mark.requirement("upkeep.pairs")
def test_an_answer_that_made_no_sense_is_asked_for_again_later(
    with_model: Callable[..., Tidied], model_server: ModelServer
) -> None:
    tidied = with_model()
    doubtful(tidied, 3)
    model_server.answer_nonsense(times=3)
    assert tidied.consolidate().waiting == 3
    tidied.clock.advance(days=6)
    model_server.answer_with(judging(lambda _new, _old: "same"))
    assert tidied.consolidate().merged == 3


@pytest.mark.requirement("upkeep.pool")
def test_what_changed_since_the_last_time_is_looked_at_however_long_ago(tidied: Tidied) -> None:
    tidied.say("User owns a boat")
    tidied.consolidate()
    old = tidied.say("User lives in Bekasi.")
    tidied.say("User lives in Jakarta.")
    tidied.clock.advance(days=9)  # the store was closed
    assert tidied.decide().replaced == old


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.requirement("upkeep.forget")
@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("User has a cat named Momo.", "User has a cat."),
        ("User likes green tea.", "User really likes green tea."),
    ],
)
def test_what_was_said_again_is_not_forgotten_for_having_been_merged(
    backend_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    first: str,
    again: str,
) -> None:
    tidied = Tidied(open_store(backend_url), clock)
    kept = tidied.say(first, source=Source.CONVERSATION)
    tidied.say("User plays chess on Sundays", source=Source.CONVERSATION)
    for _ in range(59):
        next_day(tidied)
    said_again = tidied.say(again, source=Source.CONVERSATION)
    decided = tidied.decide()
    assert (decided.action, decided.kept, decided.replaced) == (PairAction.MERGE, kept, said_again)
    for _ in range(59):
        next_day(tidied)
        assert first in tidied.known
    assert tidied.known == [first]
    next_day(tidied)
    next_day(tidied)
    assert tidied.known == []  # a full new period, and no more
