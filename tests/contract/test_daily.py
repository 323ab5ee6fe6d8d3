"""What happened on each day, and how long recalls took, on both databases."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import Action, DayActivity, InvalidValue, Memory, UserMemory, limits
from ricordo.model.activity import BUCKETS, RECALLS, decisions_counter
from ricordo.storage.activity import tally
from ricordo.storage.tables import tallies
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite
from tests.support import processes

pytestmark = [
    pytest.mark.requirement("activity.daily"),
    pytest.mark.requirement("activity.latency"),
]

NOTHING = dict.fromkeys((action.value for action in Action), 0)


def days_of(found: tuple[DayActivity, ...]) -> list[str]:
    return [one.day for one in found]


def added(found: tuple[DayActivity, ...]) -> dict[str, int]:
    return {one.day: one.memories_added for one in found if one.memories_added}


def counted(memory: Memory) -> dict[str, int]:
    """The buckets of everybody, as they are stored."""
    memory.recall.accesses.flush()
    with memory.database.read_all() as view:
        rows = view.connection.execute(sa.select(tallies.c.name, tallies.c.count))
        return {name: count for name, count in rows if name in BUCKETS}


def test_every_day_is_there_oldest_first_today_last(memory: Memory, clock: ManualClock) -> None:
    clock.set(datetime(2028, 3, 1, 0, 0, tzinfo=UTC))
    ana = memory.user("ana")
    (today,) = ana.daily(days=1)
    assert (today.day, today.memories_added, today.decisions) == ("2028-03-01", 0, NOTHING)
    assert (today.recalls, today.recall_p50_ms, today.recall_p95_ms) == (0, None, None)
    assert days_of(ana.daily(days=3)) == ["2028-02-28", "2028-02-29", "2028-03-01"]
    assert len(ana.daily()) == limits.DEFAULT_DAILY_DAYS == 30
    for whole in (ana.daily(days=limits.MAX_DAILY_DAYS), memory.daily(days=366)):
        assert len(set(days_of(whole))) == 366
        assert days_of(whole) == sorted(days_of(whole))
    assert limits.MAX_DAILY_DAYS < limits.COUNTER_DAYS  # or early days would be told as empty


def test_memories_count_for_the_utc_day_they_were_made_on(
    memory: Memory, clock: ManualClock
) -> None:
    clock.set(datetime(2026, 1, 10, 12, 0, tzinfo=UTC))
    ana = memory.user("ana")
    moments = {
        "2025-12-31T23:59:59.999999+00:00": "2025-12-31",
        "2026-01-01T00:00:00+00:00": "2026-01-01",
        "2026-01-02T00:30:00+02:00": "2026-01-01",
        "2026-01-01T23:30:00-05:00": "2026-01-02",
        "2026-01-09T23:59:59.999999+00:00": "2026-01-09",
    }
    for number, moment in enumerate(moments):
        ana.add(f"Thing {number}", created_at=moment)
    ana.add("Now")
    memory.user("ben").add("Another's")
    expected = {"2025-12-31": 1, "2026-01-01": 2, "2026-01-02": 1, "2026-01-09": 1, "2026-01-10": 1}
    assert added(ana.daily()) == expected
    assert added(memory.daily()) == expected | {"2026-01-10": 2}
    assert added(ana.daily(days=10)) == {d: n for d, n in expected.items() if d > "2026"}
    assert added(ana.daily(days=1)) == {"2026-01-10": 1}


def test_what_became_of_a_memory_does_not_matter_until_it_is_purged(
    memory: Memory, ana: UserMemory, clock: ManualClock
) -> None:
    ids = [ana.add(text).id for text in ("Tea", "Coffee", "Milk", "Water")]
    ana.archive(ids[0])
    ana.add("Green tea", supersedes=ids[1])
    ana.forget(ids[2])
    assert added(ana.daily(days=2)) == {"2026-01-01": 5}
    ana.purge(before_time=True)
    assert added(ana.daily(days=2)) == {"2026-01-01": 4}
    clock.advance(days=1)
    assert added(ana.daily(days=2)) == {"2026-01-01": 4}
    memory.erase_user("ana")
    assert added(memory.daily()) == {}


def test_counters_are_told_by_the_day(memory: Memory, clock: ManualClock) -> None:
    first = {decisions_counter(Action.ADD): 3, decisions_counter(Action.REJECT): 1}
    first |= {"model_calls": 4, "model_prompt_tokens": 500, "model_completion_tokens": 70}
    first |= {"recall_ms_10": 8, "recall_ms_20": 2}
    for user in ("ana", "ben"):
        memory.user(user).add("Likes tea")
        with memory.database.write(user) as writing:
            tally(writing, first)
    clock.advance(days=2)
    with memory.database.write("ana") as writing:
        tally(writing, {"model_calls": 1, "recall_ms_more": 1})
    ana, everybody = memory.user("ana").daily(days=3), memory.daily(days=3)
    assert days_of(ana) == days_of(everybody) == ["2026-01-01", "2026-01-02", "2026-01-03"]
    for times, found in ((1, ana), (2, everybody)):
        then = found[0]
        assert then.decisions == NOTHING | {"add": 3 * times, "reject": times}
        assert (then.model_calls, then.recalls) == (4 * times, 10 * times)
        assert (then.prompt_tokens, then.completion_tokens) == (500 * times, 70 * times)
        assert (then.recall_p50_ms, then.recall_p95_ms) == (8.12, 17.5)
        assert (found[1].recalls, found[1].model_calls, found[1].decisions) == (0, 0, NOTHING)
        assert (found[2].model_calls, found[2].recall_p95_ms) == (1, 5_000)
    assert memory.user("ben").daily(days=1)[0].recalls == 0


@on_sqlite
def test_other_numbers_of_days_are_refused(memory: Memory) -> None:
    numbers: list[Any] = [0, -1, 367, 10**30, 1.5, "7", None, True]
    for days in numbers:
        for asked in (memory.user("ana").daily, memory.daily):
            with pytest.raises(InvalidValue, match="days"):
                asked(days=days)


def test_each_recall_that_a_user_asks_for_counts_once(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    ana.add("Drinks green tea", theme="drinks")
    ana.search("tea")
    ana.search("nothing of the kind")
    memory.user("ana", agent="planner", categories=["drinks"]).search("*")
    ana.query(None, "What does she drink?", related=1)
    ana.context("What does she drink?", modes=["recall", "summary"])
    assert memory.daily(days=1)[0].recalls == 0  # nothing is written for a recall itself
    assert sum(counted(memory).values()) == 5
    ana.context("What does she drink?", modes="tools")
    ana.context("", modes="recall")
    ana.list()
    ana.search_turns("tea")
    memory.user("nobody").search("tea")  # which makes nobody a user
    with pytest.raises(InvalidValue):
        ana.search("tea", limit=0)
    with pytest.raises(InvalidValue):
        ana.query(None, "tea", top_k=0)
    assert sum(counted(memory).values()) == 5
    for counters in (ana.counters(), memory.counters(days=1)):
        assert counters.counts[RECALLS] == 5
        assert set(counters.counts).isdisjoint(BUCKETS)
    clock.advance(days=1)
    ana.search("tea")
    memory.recall.accesses.flush()
    before, today = ana.daily(days=2)
    assert (before.recalls, today.recalls) == (5, 1)
    assert before.recall_p50_ms is not None
    assert before.recall_p95_ms is not None
    assert 0 <= before.recall_p50_ms <= before.recall_p95_ms
    assert memory.user("ben").daily(days=1)[0].recalls == 0
    assert memory.users() == ("ana",)


@pytest.mark.slow
@pytest.mark.requirement("recall.access-counts")
def test_counts_that_cannot_be_written_fail_no_recall(
    sqlite_url: str, open_store: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.recall.accesses.MAX_WAITING", 0)  # every recall tries to write
    memory = open_store(sqlite_url, busy_timeout_seconds=0.1)
    ana = memory.user("ana")
    tea = ana.add("Drinks tea").id
    holder = processes.start("hold_lock", sqlite_url)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    try:
        assert len(ana.search("tea")) == 1
        assert ana.query(None, "tea").bullets
        assert ana.context("Which tea?", modes="recall").memories
    finally:
        holder.kill()
        holder.communicate()
    assert sum(counted(memory).values()) == 3  # written when it can be
    assert ana.get(tea).access_count == 3
