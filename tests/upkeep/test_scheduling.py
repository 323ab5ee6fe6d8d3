"""When rounds come: once a day for everybody, each at their own time."""

import contextlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, limits
from ricordo.storage.upkeep import note_upkeep
from ricordo.testing.clock import ManualClock
from ricordo.upkeep.kinds import PLAN_JOB, ROUND_JOB
from ricordo.upkeep.scheduling import ensure_planned, last_slot, plan_rounds, slot_of
from tests.upkeep.conftest import Tended, quietly, untended

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
ONLY_ROUNDS = frozenset({ROUND_JOB})
ONLY_PLANS = frozenset({PLAN_JOB})


def plan(tended: Tended) -> int:
    return plan_rounds(tended.memory.database, quietly)


def add_users(tended: Tended, count: int) -> list[str]:
    names = [f"user-{number:03}" for number in range(count)]
    for name in names:
        tended.memory.user(name).add("Prefers tea")
    return names


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


# -- slots ---------------------------------------------------------------------------------


@pytest.mark.requirement("upkeep.plan")
@given(st.text(st.characters(codec=None), min_size=1))
def test_everybody_has_a_time_of_day(user_id: str) -> None:
    slot = slot_of(user_id)
    assert timedelta(0) <= slot < DAY
    assert slot_of(user_id) == slot


@pytest.mark.requirement("upkeep.plan")
def test_slots_are_the_same_in_every_process() -> None:
    assert slot_of("ana") == timedelta(seconds=28863, microseconds=715949)
    assert slot_of("ben") == timedelta(seconds=30353, microseconds=495880)


@pytest.mark.requirement("upkeep.plan")
@pytest.mark.parametrize("pattern", ["user-{}", "{}", "ana+{}@example.org"])
def test_slots_are_spread_over_the_day(pattern: str) -> None:
    hours = Counter(slot_of(pattern.format(number)) // HOUR for number in range(200))
    assert max(hours.values()) <= 25
    assert len(hours) == 24


@pytest.mark.requirement("upkeep.plan")
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


# -- planning ------------------------------------------------------------------------------


@pytest.mark.requirement("upkeep.plan")
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


@pytest.mark.requirement("upkeep.plan")
def test_a_plan_that_is_being_made_is_not_made_twice(tended: Tended) -> None:
    ensure_planned(tended.memory.database)
    queue = tended.memory.runner.queue
    running = queue.claim(ONLY_PLANS)
    assert running is not None
    ensure_planned(tended.memory.database)
    assert tended.jobs(PLAN_JOB) == []
    queue.finish(running)
    ensure_planned(tended.memory.database)
    assert len(tended.jobs(PLAN_JOB)) == 1


@pytest.mark.requirement("upkeep.plan")
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


@pytest.mark.requirement("upkeep.plan")
def test_the_next_plan_comes_an_hour_later_and_never_at_once(tended: Tended) -> None:
    assert plan(tended) == 0
    (job,) = tended.jobs(PLAN_JOB)
    assert job.run_at == tended.clock() + HOUR
    tended.clock.advance(minutes=10)
    plan(tended)
    assert [job.run_at for job in tended.jobs(PLAN_JOB)] == [job.run_at]


@pytest.mark.requirement("upkeep.plan")
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


@pytest.mark.requirement("upkeep.plan")
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


@pytest.mark.requirement("upkeep.plan")
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


@pytest.mark.requirement("upkeep.plan")
def test_what_was_missed_is_spread_over_an_hour(tended: Tended) -> None:
    names = add_users(tended, 60)
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


@pytest.mark.requirement("upkeep.plan")
def test_global_memories_are_looked_after_too(tended: Tended) -> None:
    tended.memory.global_memories().add("The office is closed on Sundays")
    after_slot(tended, "*")
    assert plan(tended) == 1
    assert [job.user_id for job in tended.jobs(ROUND_JOB)] == ["*"]


@pytest.mark.requirement("upkeep.bounded")
def test_planning_goes_through_the_users_page_by_page(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = add_users(tended, 20)
    tended.clock.advance(days=2)
    monkeypatch.setattr(limits, "USERS_PER_PLAN_STEP", 6)
    told: list[str] = []
    assert plan_rounds(tended.memory.database, told.append) == 20
    assert told == [f"{count} rounds queued" for count in (6, 12, 18, 20)]
    assert sorted(job.user_id for job in tended.jobs(ROUND_JOB)) == names


@pytest.mark.requirement("upkeep.bounded")
def test_a_plan_that_is_stopped_is_taken_up_by_the_next(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_users(tended, 20)
    tended.clock.advance(days=2)
    monkeypatch.setattr(limits, "USERS_PER_PLAN_STEP", 6)

    def stop(_progress: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_rounds(tended.memory.database, stop)
    assert len(tended.jobs(ROUND_JOB)) == 6
    assert tended.jobs(PLAN_JOB) == []  # the job itself is tried again
    assert plan(tended) == 14
    assert len(tended.jobs(PLAN_JOB)) == 1
    assert len(tended.jobs(ROUND_JOB)) == 20


@pytest.mark.requirement("upkeep.plan")
def test_nothing_is_planned_for_somebody_who_was_erased(tended: Tended) -> None:
    add_users(tended, 3)
    tended.clock.advance(days=2)
    tended.memory.erase_user("user-001")
    assert plan(tended) == 2
    tended.memory.erase_user("user-000")
    assert [job.user_id for job in tended.jobs(ROUND_JOB)] == ["user-002"]
    assert tended.tables_with("user-000") == tended.tables_with("user-001") == []


@pytest.mark.requirement("upkeep.plan")
def test_somebody_who_is_being_written_for_comes_with_the_next_plan(
    postgres_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    """They could be being erased: planning neither waits for them nor leaves a job behind."""
    tended = untended(open_store(postgres_url, upkeep=False), clock)
    add_users(tended, 3)
    clock.advance(days=2)
    with tended.memory.database.write("user-001"):
        assert plan(tended) == 2
    assert plan(tended) == 1


@pytest.mark.requirement("upkeep.plan")
@pytest.mark.parametrize("closed", [range(73, 120), range(50, 190, 3)])
def test_everybody_has_one_round_a_day_over_many_days(tended: Tended, closed: range) -> None:
    names = add_users(tended, 12)
    start = tended.clock()
    rounds: dict[str, list[datetime]] = defaultdict(list)
    open_hours = []
    for hour in range(240):
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
