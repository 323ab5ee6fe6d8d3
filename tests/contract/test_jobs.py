"""The queue and who works it off: leases, retries, dead letters, lanes, stints, cancelling."""

import threading
from datetime import timedelta
from itertools import pairwise

import pytest

from ricordo import Conflict, InvalidValue, JobNotFound, Memory, StorageClosed
from ricordo.jobs.queue import SLOW_JOBS, JobQueue, lane_of
from ricordo.jobs.runner import Handler, JobContext, JobLost, JobRunner, ThreadRunner
from ricordo.limits import MAX_JOB_ATTEMPTS
from ricordo.model.activity import NewJob
from ricordo.model.vocabulary import JobState, Lane
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite

QUICK, SLOW = "chore", "consolidate"
KINDS = frozenset({QUICK})
LEASE = timedelta(seconds=60)


def put(memory: Memory, key: str = "", *, kind: str = QUICK, delay: timedelta = LEASE * 0) -> int:
    with memory.database.write("ana") as writing:
        at = writing.now + delay
        job = NewJob(kind=kind, user_id="ana", run_at=at, unique_key=key, payload={"key": key})
        writing.enqueue(job)
    # Somebody may be at work on it already.
    return max(one.id for one in memory.jobs(kind=kind) if one.unique_key == key)


def runner_of(memory: Memory, run_seconds: float = 60, **handlers: Handler) -> JobRunner:
    return JobRunner(JobQueue(memory.database, LEASE), handlers, run_seconds)


@pytest.fixture
def queue(memory: Memory) -> JobQueue:
    return JobQueue(memory.database, LEASE)


@pytest.mark.requirement("jobs.in-transaction")
def test_a_job_exists_exactly_if_its_write_does(memory: Memory, queue: JobQueue) -> None:
    class Broken(Exception):
        pass

    with pytest.raises(Broken), memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind=QUICK, user_id="ana", run_at=writing.now, unique_key="", payload={})
        )
        raise Broken
    assert queue.claim(KINDS) is None
    put(memory)
    # Jobs of unknown kinds do not keep a thread busy.
    assert queue.seconds_until_due(frozenset({"another"})) is None
    assert queue.seconds_until_due(KINDS) == 0
    assert queue.claim(KINDS) is not None
    memory.close()
    with pytest.raises(StorageClosed):
        memory.run_jobs()


@pytest.mark.requirement("jobs.unique")
def test_the_same_job_is_queued_once_at_the_earlier_time(
    memory: Memory, clock: ManualClock
) -> None:
    put(memory, "a", delay=timedelta(hours=2))
    put(memory, "a", delay=timedelta(hours=1))
    put(memory, "a", delay=timedelta(hours=3))
    put(memory, "b")
    assert [(job.unique_key, job.run_at - clock()) for job in memory.jobs()] == [
        ("b", timedelta(0)),
        ("a", timedelta(hours=1)),
    ]


@pytest.mark.requirement("jobs.lease")
def test_a_lease_keeps_others_away_until_it_runs_out(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    put(memory)
    job = queue.claim(KINDS)
    assert job is not None
    assert queue.claim(KINDS) is None
    clock.advance(seconds=59)
    assert queue.heartbeat(job)
    clock.advance(seconds=59)
    assert queue.claim(KINDS) is None
    clock.advance(seconds=1)
    taken_over = queue.claim(KINDS)
    assert taken_over is not None
    assert (taken_over.id, taken_over.attempts) == (job.id, 2)
    assert not queue.heartbeat(job)
    assert not queue.finish(job)
    assert not queue.fail(job, "too late")
    assert queue.finish(taken_over)
    assert [job.state for job in memory.jobs()] == ["done"]


@pytest.mark.requirement("jobs.retry")
def test_failures_wait_longer_each_time_and_end_among_the_dead(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    put(memory)
    waits = []
    for _ in range(MAX_JOB_ATTEMPTS):
        job = queue.claim(KINDS)
        assert job is not None
        queue.fail(job, "ValueError: no")
        (row,) = memory.jobs()
        waits.append((row.run_at - clock()).total_seconds())
        clock.advance(hours=2)
    assert all(later > 1.3 * earlier for earlier, later in pairwise(waits[:-1]))
    (dead,) = memory.jobs(state="dead")
    assert (dead.attempts, dead.last_error) == (MAX_JOB_ATTEMPTS, "ValueError: no")
    assert queue.claim(KINDS) is None
    memory.retry_job(dead.id)
    assert queue.claim(KINDS) is not None
    with pytest.raises(Conflict, match="is running; only dead jobs"):
        memory.retry_job(dead.id)
    with pytest.raises(JobNotFound):
        memory.retry_job(999)


@pytest.mark.requirement("jobs.lease")
def test_a_job_that_kills_its_worker_is_not_tried_for_ever(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    put(memory)
    claimed = 0
    for _ in range(3 * MAX_JOB_ATTEMPTS):
        claimed += queue.claim(KINDS) is not None
        clock.advance(minutes=2)
    assert claimed == MAX_JOB_ATTEMPTS
    assert [job.state for job in memory.jobs()] == ["dead"]


@pytest.mark.requirement("jobs.retry")
def test_a_retry_gives_way_to_a_newer_job_for_the_same_thing(
    memory: Memory, queue: JobQueue
) -> None:
    put(memory)
    job = queue.claim(KINDS)
    assert job is not None
    put(memory)
    assert queue.fail(job, "ValueError: no")
    assert sorted(job.state for job in memory.jobs()) == ["done", "queued"]


@pytest.mark.requirement("jobs.runner")
def test_the_thread_runs_what_is_queued(memory: Memory) -> None:
    events = {"good": threading.Event(), "bad": threading.Event()}

    def chore(job_context: JobContext) -> None:
        events[job_context.job.payload["key"]].set()
        if job_context.job.payload["key"] == "bad":
            raise ValueError("no")

    runner = ThreadRunner(runner_of(memory, chore=chore), poll_seconds=60)
    memory.database.on_job_queued = runner.wake
    runner.start()
    try:
        for key, ran in events.items():
            put(memory, key)
            assert ran.wait(60)
    finally:
        runner.stop()
    states = {job.unique_key: job.state for job in memory.jobs()}
    assert states == {"good": "done", "bad": "queued"}


@pytest.mark.requirement("jobs.trim")
def test_finished_jobs_are_forgotten_after_a_week(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    put(memory)
    job = queue.claim(KINDS)
    assert job is not None
    queue.finish(job)
    for days, left in ((6, 1), (2, 0)):
        clock.advance(days=days)
        queue.trim()
        assert len(memory.jobs()) == left


@pytest.mark.requirement("jobs.lanes")
@pytest.mark.requirement("jobs.runner")
def test_a_quick_job_does_not_wait_for_a_slow_one_and_stopping_does(memory: Memory) -> None:
    started, may_end, quick_ran = threading.Event(), threading.Event(), threading.Event()

    def slow(_stint: JobContext) -> None:
        started.set()
        assert may_end.wait(60)

    runner = runner_of(memory, **{SLOW: slow, QUICK: lambda _: quick_ran.set()})
    threads = ThreadRunner(runner, poll_seconds=60)
    memory.database.on_job_queued = threads.wake
    threads.start()
    stopping = threading.Thread(target=threads.stop)
    try:
        put(memory, "one", kind=SLOW)
        assert started.wait(60)
        put(memory, "two", kind=SLOW)
        put(memory)
        assert quick_ran.wait(60)
    finally:
        stopping.start()
        may_end.set()
        stopping.join(60)
    assert not stopping.is_alive()
    states = {job.unique_key: job.state for job in memory.jobs()}
    assert states == {"one": "done", "two": "queued", "": "done"}


@pytest.mark.requirement("jobs.lanes")
@on_sqlite
def test_what_the_store_queues_itself_has_a_handler_and_a_lane(memory: Memory) -> None:
    assert memory.runner.kinds >= SLOW_JOBS
    assert {lane_of(kind) for kind in memory.runner.kinds} == set(Lane)
    assert lane_of("lifecycle") is Lane.FAST


@pytest.mark.requirement("jobs.stint")
def test_a_job_that_takes_too_long_lets_others_go_first(memory: Memory, clock: ManualClock) -> None:
    done: list[str] = []

    def long(job_context: JobContext) -> None:
        for step in range(len(done), 3):
            done.append(f"step {step}")
            job_context.report(f"{step + 1} of 3")

    def quick(_stint: JobContext) -> None:
        done.append("quick")

    runner = runner_of(memory, run_seconds=0, **{SLOW: long, QUICK: quick})
    put(memory, kind=SLOW)
    clock.advance(seconds=1)
    put(memory)
    clock.advance(seconds=1)
    assert runner.run_next()
    (job,) = memory.jobs(kind=SLOW)
    assert (job.state, job.progress, job.attempts) == ("queued", "1 of 3", 0)
    assert runner.run_next()
    assert done == ["step 0", "quick"]


@pytest.mark.requirement("jobs.stint")
def test_a_stopped_worker_puts_back_what_works_in_steps(memory: Memory) -> None:
    runner = runner_of(memory)
    steps: list[int] = []

    def long(job_context: JobContext) -> None:
        for step in range(1000):
            steps.append(step)
            if step == 2:
                runner.stop()
            job_context.report(f"{step} steps")

    runner = runner_of(memory, **{SLOW: long})
    put(memory, kind=SLOW)
    assert runner.run_next()
    assert steps == [0, 1, 2]
    (job,) = memory.jobs()
    assert (job.state, job.progress) == ("queued", "2 steps")


@pytest.mark.requirement("jobs.stint")
def test_whoever_lost_a_job_stops_working_on_it(memory: Memory, clock: ManualClock) -> None:
    told: list[type[BaseException]] = []

    def slow(job_context: JobContext) -> None:
        clock.advance(seconds=61)
        assert JobQueue(memory.database, LEASE).claim(frozenset({SLOW}))
        try:
            job_context.report("half")
        except JobLost as lost:
            told.append(type(lost))
            raise

    put(memory, kind=SLOW)
    assert runner_of(memory, run_seconds=0, **{SLOW: slow}).run_next()
    assert told == [JobLost]
    (job,) = memory.jobs()
    assert (job.state, job.attempts, job.last_error) == ("running", 2, None)


@pytest.mark.requirement("jobs.celery")
def test_one_job_can_be_run_by_its_number(memory: Memory) -> None:
    ran: list[str] = []
    runner = runner_of(
        memory, **{QUICK: lambda job_context: ran.append(job_context.job.unique_key)}
    )
    put(memory, "first")
    second = put(memory, "second")
    assert runner.run_one(second)
    assert not runner.run_one(second)
    assert not runner.run_one(999)
    assert ran == ["second"]


@pytest.mark.requirement("jobs.cancel")
def test_what_waits_or_is_dead_can_be_cancelled(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    waiting = put(memory, "waiting")
    memory.cancel_job(waiting)
    assert queue.claim(KINDS) is None
    with pytest.raises(Conflict, match="is cancelled; only queued or dead jobs"):
        memory.cancel_job(waiting)
    running = put(memory, "running")
    job = queue.claim(KINDS)
    assert job is not None
    with pytest.raises(Conflict, match="is running"):
        memory.cancel_job(running)
    clock.advance(seconds=60)  # nobody works on it any more
    memory.cancel_job(running)
    assert not queue.finish(job)
    assert [one.state for one in memory.jobs()] == ["cancelled", "cancelled"]
    with pytest.raises(JobNotFound):
        memory.cancel_job(999)
    with pytest.raises(InvalidValue):
        memory.cancel_job(0)
    assert put(memory, "waiting") != waiting  # it may be asked for again
    clock.advance(days=8)
    queue.trim()
    assert [one.state for one in memory.jobs()] == ["queued"]


@pytest.mark.requirement("jobs.stats")
def test_jobs_are_counted_by_kind_and_state(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    assert memory.job_stats() == ()
    since = clock()
    for key in "abcd":
        put(memory, key)
    memory.cancel_job(put(memory, kind=SLOW))
    finished, running = (queue.claim(KINDS) for _ in range(2))
    assert finished is not None
    assert running is not None
    queue.finish(finished)
    clock.advance(hours=1)
    put(memory, "later", delay=timedelta(hours=1))
    quick, slow = memory.job_stats()
    assert (quick.kind, quick.lane, slow.kind, slow.lane) == (QUICK, "fast", SLOW, "slow")
    assert (quick.queued, quick.due, quick.running, quick.done) == (3, 2, 1, 1)
    assert (slow.cancelled, slow.queued, slow.due, slow.oldest_due_at) == (1, 0, 0, None)
    assert quick.oldest_due_at == since
    counted = sum(getattr(one, state) for one in (quick, slow) for state in JobState)
    assert counted == len(memory.jobs())
