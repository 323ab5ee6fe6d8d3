"""When rounds come: once a day for everybody, each at their own time, whatever went wrong."""

import contextlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Conflict, Memory, limits
from ricordo.jobs.queue import JobQueue
from ricordo.memories.lifecycle import LIFECYCLE_JOB
from ricordo.model.activity import STORE_JOB_USER, NewJob
from ricordo.storage.jobs import put_job
from ricordo.storage.users import note_upkeep
from ricordo.testing import ManualClock
from ricordo.upkeep.schedule import (
    INSIGHTS_JOB,
    PLAN_JOB,
    ROUND_JOB,
    ensure_planned,
    last_slot,
    plan_rounds,
    slot_of,
)
from tests.formation.conftest import tables_with
from tests.upkeep.conftest import Tended, quietly, untended

pytestmark = pytest.mark.requirement("upkeep.plan")

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
ONLY_ROUNDS = frozenset({ROUND_JOB})
ONLY_PLANS = frozenset({PLAN_JOB})


def plan(tended: Tended) -> int:
    return plan_rounds(tended.memory.database, quietly)


def note_round(tended: Tended, user: str) -> None:
    with tended.memory.database.write(user) as writing:
        note_upkeep(writing, upkept_at=writing.now)


def run_rounds(tended: Tended) -> list[str]:
    """Take what is due and count it as done; whose rounds these were."""
    queue = tended.memory.runner.queue
    ran = []
    while job := queue.claim(ONLY_ROUNDS):
        note_round(tended, job.user_id)
        assert queue.finish(job)
        ran.append(job.user_id)
    return ran


def after_slot(tended: Tended, user: str = "ana", **later: float) -> None:
    """Let the next slot of a user have passed by this much."""
    tended.clock.set(last_slot(user, tended.clock()) + DAY + timedelta(**later))


def test_slots_are_the_same_in_every_process() -> None:
    assert slot_of("ana") == timedelta(seconds=28863, microseconds=715949)
    assert slot_of("ben") == timedelta(seconds=30353, microseconds=495880)


@pytest.mark.parametrize("pattern", ["user-{}", "{}", "ana+{}@example.org"])
def test_slots_are_spread_over_the_day(pattern: str) -> None:
    hours = Counter(slot_of(pattern.format(number)) // HOUR for number in range(200))
    assert max(hours.values()) <= 25
    assert len(hours) == 24


@given(
    st.text(min_size=1),
    st.datetimes(datetime(2000, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.integers(-12, 14),
)
def test_the_last_slot_is_the_latest_that_has_passed(
    user_id: str, now: datetime, offset: int
) -> None:
    slot = last_slot(user_id, now.astimezone(timezone(timedelta(hours=offset))))
    assert slot <= now < slot + DAY
    midnight = slot.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    assert slot - midnight == slot_of(user_id)


def test_planning_begins_when_a_store_is_opened(tended: Tended) -> None:
    woken: list[bool] = []
    tended.memory.database.on_job_queued = lambda: woken.append(True)
    ensure_planned(tended.memory.database)
    (job,) = tended.jobs(PLAN_JOB)
    assert (job.user_id, job.unique_key, job.run_at) == ("", "", tended.clock())
    assert len(woken) == 1
    tended.clock.advance(minutes=5)
    ensure_planned(tended.memory.database)
    assert tended.jobs(PLAN_JOB) == [job]
    assert len(woken) == 1


def test_a_store_that_cannot_be_written_is_opened_all_the_same(
    sqlite_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    memory = open_store(sqlite_url, upkeep=False, busy_timeout_seconds=0.1)
    untended(memory, clock)
    with contextlib.closing(sqlite3.connect(sqlite_url, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        ensure_planned(memory.database)
        holder.execute("ROLLBACK")
    assert memory.jobs() == ()
    ensure_planned(memory.database)
    assert [job.kind for job in memory.jobs()] == [PLAN_JOB]


def test_the_next_plan_comes_an_hour_later_and_never_at_once(tended: Tended) -> None:
    assert plan(tended) == 0
    (job,) = tended.jobs(PLAN_JOB)
    assert job.run_at == tended.clock() + HOUR
    tended.clock.advance(minutes=10)
    plan(tended)
    assert [job.run_at for job in tended.jobs(PLAN_JOB)] == [job.run_at]


def test_a_new_user_is_looked_after_from_their_next_slot_on(tended: Tended) -> None:
    tended.memory.user("ana").add("Prefers tea")
    assert plan(tended) == 0
    after_slot(tended, microseconds=-1)
    assert plan(tended) == 0
    tended.clock.advance(seconds=0.000001)
    assert plan(tended) == 1
    (job,) = tended.jobs(ROUND_JOB)
    assert (job.user_id, job.unique_key, dict(job.payload)) == ("ana", "", {})
    assert job.run_at == tended.clock()


@pytest.mark.both_databases
def test_a_round_is_queued_once_and_not_while_it_runs_or_after_it(tended: Tended) -> None:
    tended.memory.user("ana").add("Prefers tea")
    after_slot(tended, minutes=5)
    assert plan(tended) == 1
    assert plan(tended) == 0
    queue = tended.memory.runner.queue
    running = queue.claim(ONLY_ROUNDS)
    assert running is not None
    assert plan(tended) == 0
    assert tended.jobs(ROUND_JOB) == []
    note_round(tended, "ana")
    queue.finish(running)
    assert plan(tended) == 0
    after_slot(tended)
    assert plan(tended) == 1


@pytest.mark.parametrize("ending", ["cancelled", "dead"])
def test_a_round_that_was_given_up_is_made_up_for_by_the_next_days(
    tended: Tended, ending: str
) -> None:
    tended.memory.user("ana").add("Prefers tea")
    after_slot(tended, minutes=5)
    assert plan(tended) == 1
    (job,) = tended.jobs(ROUND_JOB)
    if ending == "cancelled":
        tended.memory.cancel_job(job.id)
    else:
        while claimed := tended.memory.runner.queue.claim(ONLY_ROUNDS):
            tended.memory.runner.queue.fail(claimed, "the disk is full")
            waiting = tended.jobs(ROUND_JOB)
            if waiting:
                tended.clock.set(waiting[0].run_at)
    assert [job.state for job in tended.jobs(ROUND_JOB, state=None)] == [ending]
    for _ in range(5):
        tended.clock.advance(hours=1)
        assert plan(tended) == 0
    after_slot(tended, minutes=5)
    assert plan(tended) == 1


def test_what_was_missed_is_spread_over_an_hour(tended: Tended) -> None:
    names = tended.add_users(60)
    tended.clock.advance(days=5)
    now = tended.clock()
    assert plan(tended) == 60
    planned = {job.user_id: job.run_at for job in tended.jobs(ROUND_JOB)}
    assert set(planned) == set(names)
    late = [run_at for name, run_at in planned.items() if now - last_slot(name, now) > HOUR]
    assert len(late) > 50
    assert all(now <= run_at < now + HOUR for run_at in late)
    assert len({(run_at - now) // timedelta(minutes=10) for run_at in late}) == 6
    just_due = set(planned.values()) - set(late)
    assert just_due <= {now}


@pytest.mark.requirement("upkeep.bounded")
def test_planning_goes_page_by_page_and_what_is_stopped_is_taken_up_by_the_next(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tended.add_users(20)
    tended.memory.global_memories().add("The office is closed on Sundays")
    tended.clock.advance(days=2)
    monkeypatch.setattr(limits, "USERS_PER_PLAN_STEP", 6)

    def stop(_progress: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_rounds(tended.memory.database, stop)
    assert len(tended.jobs(ROUND_JOB)) == 6
    assert tended.jobs(PLAN_JOB) == []  # the job itself is tried again
    told: list[str] = []
    assert plan_rounds(tended.memory.database, told.append) == 15
    assert len(told) >= 3
    assert len(tended.jobs(PLAN_JOB)) == 1
    assert sorted(job.user_id for job in tended.jobs(ROUND_JOB)) == ["*", *names]


def test_nothing_is_planned_for_somebody_who_was_erased(tended: Tended) -> None:
    tended.add_users(3)
    tended.clock.advance(days=2)
    tended.memory.erase_user("user-001")
    assert plan(tended) == 2
    tended.memory.erase_user("user-000")
    assert [job.user_id for job in tended.jobs(ROUND_JOB)] == ["user-002"]
    assert tables_with(tended.memory, "user-000") == tables_with(tended.memory, "user-001") == []


def test_somebody_who_is_being_written_for_comes_with_the_next_plan(
    postgres_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    """They could be being erased: planning neither waits for them nor leaves a job behind."""
    tended = untended(open_store(postgres_url, upkeep=False), clock)
    tended.add_users(3)
    clock.advance(days=2)
    with tended.memory.database.write("user-001"):
        assert plan(tended) == 2
    assert plan(tended) == 1


def test_everybody_has_one_round_a_day_over_many_days(tended: Tended) -> None:
    names = tended.add_users(4)
    closed = {*range(40, 80), *range(90, 150, 3)}
    start = tended.clock()
    rounds: dict[str, list[datetime]] = defaultdict(list)
    open_hours = []
    for hour in range(160):
        tended.clock.set(start + hour * HOUR)
        if hour in closed:
            continue
        open_hours.append(tended.clock())
        plan(tended)
        for name in run_rounds(tended):
            rounds[name].append(tended.clock())
    for name in names:
        days = Counter(last_slot(name, moment) for moment in rounds[name])
        assert set(days.values()) == {1}  # never twice between two slots
        slots = {last_slot(name, moment) for moment in open_hours}
        for slot in slots:
            hours_open = [moment for moment in open_hours if slot <= moment < slot + DAY]
            # Two looks at the clock: one that plans, and one an hour later that finds it due.
            if slot > start and len(hours_open) > 1:
                assert days[slot] == 1


def test_a_clock_that_was_ahead_does_not_stop_upkeep(tended: Tended) -> None:
    tended.memory.user("ana").add("Prefers tea")
    now = tended.clock()
    tended.clock.advance(days=365)
    ensure_planned(tended.memory.database)
    tended.round()
    tended.clock.set(now + timedelta(days=1))
    ensure_planned(tended.memory.database)
    (plan,) = tended.jobs(PLAN_JOB)
    assert plan.run_at <= tended.clock()
    assert plan_rounds(tended.memory.database, quietly) == 1


@pytest.mark.requirement("jobs.lease")
def test_a_lease_of_a_clock_that_was_ahead_is_none(tended: Tended) -> None:
    queue = JobQueue(tended.memory.database, timedelta(seconds=60))
    with tended.memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="chore", user_id="ana", run_at=writing.now, unique_key="", payload={})
        )
    now = tended.clock()
    tended.clock.advance(days=365)
    assert queue.claim(frozenset({"chore"})) is not None
    tended.clock.set(now)
    taken = queue.claim(frozenset({"chore"}))
    assert taken is not None
    assert queue.finish(taken)


@pytest.mark.requirement("jobs.lifecycle")
def test_a_cancelled_job_that_would_end_memories_is_queued_again_by_a_round(tended: Tended) -> None:
    me = tended.memory.user("ana")
    ends = me.add("Is in Porto", expires_at=tended.clock() + timedelta(days=7)).id
    (job,) = tended.jobs(LIFECYCLE_JOB)
    tended.memory.cancel_job(job.id)
    tended.clock.advance(days=1)
    tended.round()
    tended.clock.advance(days=7)
    tended.memory.run_jobs()
    assert [change.event for change in me.history(ends)] == ["ADD", "TTL"]


@pytest.mark.requirement("jobs.cancel")
@pytest.mark.parametrize("kind", ["reindex", "scrub"])
def test_what_nothing_would_queue_again_cannot_be_cancelled(tended: Tended, kind: str) -> None:
    database = tended.memory.database
    job = NewJob(
        kind=kind, user_id=STORE_JOB_USER, run_at=tended.clock(), unique_key="", payload={}
    )
    with database.transaction() as connection:
        put_job(database.backend, connection, job, tended.clock())
    (queued,) = tended.jobs(kind)
    with pytest.raises(Conflict, match="nothing would queue it again"):
        tended.memory.cancel_job(queued.id)


def test_a_process_without_upkeep_leaves_rounds_to_others(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    keeper = open_store(backend_url, upkeep=True)
    other = open_store(backend_url, upkeep=False)
    keeper.user("ana").add("Saw a heron", importance=1)
    clock.advance(days=61)
    keeper.run_jobs()
    clock.advance(hours=2)
    assert [job.state for job in keeper.jobs(kind=ROUND_JOB)] == ["queued"]
    other.run_jobs()
    assert len(keeper.user("ana").list()) == 1
    assert [job.state for job in keeper.jobs(kind=ROUND_JOB)] == ["queued"]
    keeper.run_jobs()
    assert len(keeper.user("ana").list()) == 0


@pytest.mark.requirement("upkeep.insights")
@pytest.mark.parametrize("switched_off", ["insights", "formation"])
def test_no_insights_where_they_or_formation_are_off(
    sqlite_url: str, open_store: Callable[..., Memory], switched_off: str
) -> None:
    memory = open_store(sqlite_url, **{switched_off: False})
    assert not memory.parts.upkeep.policy.draws_insights
    assert INSIGHTS_JOB in memory.runner.kinds
