"""How jobs are run: lanes, bounded stints, progress, cancelling, counting."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import Conflict, InvalidValue, JobNotFound, Memory
from ricordo.jobs.lanes import SLOW_JOBS, lane_of
from ricordo.jobs.queue import JobQueue
from ricordo.jobs.running import Handler, JobRunner
from ricordo.jobs.stint import JobLost, Stint
from ricordo.jobs.threads import ThreadRunner
from ricordo.model.job import NewJob
from ricordo.model.vocabulary import JobState, Lane
from ricordo.testing.clock import ManualClock

SLOW = "consolidate"
QUICK = "chore"


def put(memory: Memory, kind: str, key: str = "") -> int:
    with memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind=kind, user_id="ana", run_at=writing.now, unique_key=key, payload={})
        )
    # Somebody may be at work on it already.
    return max(one.id for one in memory.jobs(kind=kind) if one.unique_key == key)


def runner_of(memory: Memory, run_seconds: float = 60, **handlers: Handler) -> JobRunner:
    return JobRunner(JobQueue(memory.database, timedelta(seconds=60)), handlers, run_seconds)


@pytest.mark.requirement("jobs.lanes")
def test_a_quick_job_does_not_wait_for_a_slow_one(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url)
    started, may_end, quick_ran = threading.Event(), threading.Event(), threading.Event()

    def slow(_stint: Stint) -> None:
        started.set()
        assert may_end.wait(20)

    runner = runner_of(memory, **{SLOW: slow, QUICK: lambda _: quick_ran.set()})
    threads = ThreadRunner(runner, poll_seconds=60)
    memory.database.on_job_queued = threads.wake
    threads.start()
    try:
        put(memory, SLOW)
        assert started.wait(20)
        put(memory, QUICK)
        assert quick_ran.wait(20)
    finally:
        may_end.set()
        threads.stop()
    assert {job.kind: job.state for job in memory.jobs()} == {SLOW: "done", QUICK: "done"}


@pytest.mark.requirement("jobs.lanes")
def test_what_the_store_queues_itself_has_a_handler_and_a_lane(memory: Memory) -> None:
    assert memory.runner.kinds >= SLOW_JOBS
    assert {lane_of(kind) for kind in memory.runner.kinds} == set(Lane)
    assert lane_of("lifecycle") is Lane.FAST


@pytest.mark.requirement("jobs.stint")
def test_a_job_that_takes_too_long_lets_others_go_first(memory: Memory, clock: ManualClock) -> None:
    done: list[str] = []

    def long(stint: Stint) -> None:
        for step in range(len(done), 3):
            done.append(f"step {step}")
            stint.report(f"{step + 1} of 3")

    def quick(_stint: Stint) -> None:
        done.append("quick")

    runner = runner_of(memory, run_seconds=0, **{SLOW: long, QUICK: quick})
    put(memory, SLOW)
    clock.advance(seconds=1)
    put(memory, QUICK)
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

    def long(stint: Stint) -> None:
        for step in range(1000):
            steps.append(step)
            if step == 2:
                runner.stop()
            stint.report(f"{step} steps")

    runner = runner_of(memory, **{SLOW: long})
    put(memory, SLOW)
    assert runner.run_next()
    assert steps == [0, 1, 2]
    (job,) = memory.jobs()
    assert (job.state, job.progress) == ("queued", "2 steps")


@pytest.mark.requirement("jobs.stint")
def test_whoever_lost_a_job_stops_working_on_it(memory: Memory, clock: ManualClock) -> None:
    told: list[type[BaseException]] = []

    def slow(stint: Stint) -> None:
        clock.advance(seconds=61)
        assert JobQueue(memory.database, timedelta(seconds=60)).claim(frozenset({SLOW}))
        try:
            stint.report("half")
        except JobLost as lost:
            told.append(type(lost))
            raise

    put(memory, SLOW)
    assert runner_of(memory, run_seconds=0, **{SLOW: slow}).run_next()
    assert told == [JobLost]
    (job,) = memory.jobs()
    assert (job.state, job.attempts, job.last_error) == ("running", 2, None)


@pytest.mark.requirement("jobs.celery")
def test_one_job_can_be_run_by_its_number(memory: Memory) -> None:
    ran: list[str] = []
    runner = runner_of(memory, **{QUICK: lambda stint: ran.append(stint.job.unique_key)})
    put(memory, QUICK, "first")
    second = put(memory, QUICK, "second")
    assert runner.run_one(second)
    assert not runner.run_one(second)
    assert not runner.run_one(999)
    assert ran == ["second"]


@pytest.mark.requirement("jobs.celery")
def test_a_broker_is_told_of_a_job_once_and_again_when_that_was_lost(
    memory: Memory, clock: ManualClock
) -> None:
    queue = JobQueue(memory.database, timedelta(seconds=60))
    kinds = frozenset({QUICK})
    first = put(memory, QUICK, "a")
    assert queue.take_unsent(kinds, None) == [(first, QUICK)]
    assert queue.take_unsent(kinds, None) == []
    clock.advance(seconds=59)
    assert queue.take_unsent(kinds, timedelta(seconds=60)) == []
    clock.advance(seconds=1)
    assert queue.take_unsent(kinds, timedelta(seconds=60)) == [(first, QUICK)]
    queue.note_unsent([first])
    assert queue.take_unsent(kinds, None) == [(first, QUICK)]
    job = queue.claim(kinds)
    assert job is not None
    assert queue.take_unsent(kinds, timedelta(0)) == []
    clock.advance(seconds=60)  # its worker has vanished
    assert queue.take_unsent(kinds, None) == [(first, QUICK)]


@pytest.mark.requirement("jobs.cancel")
def test_what_waits_or_is_dead_can_be_cancelled(memory: Memory, clock: ManualClock) -> None:
    queue = JobQueue(memory.database, timedelta(seconds=60))
    waiting = put(memory, QUICK, "waiting")
    memory.cancel_job(waiting)
    assert queue.claim(frozenset({QUICK})) is None
    with pytest.raises(Conflict, match="is cancelled; only queued or dead jobs"):
        memory.cancel_job(waiting)
    running = put(memory, QUICK, "running")
    job = queue.claim(frozenset({QUICK}))
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
    assert put(memory, QUICK, "waiting") != waiting  # it may be asked for again
    clock.advance(days=8)
    queue.trim()
    assert [one.state for one in memory.jobs()] == ["queued"]


@pytest.mark.requirement("jobs.stats")
def test_jobs_are_counted_by_kind_and_state(memory: Memory, clock: ManualClock) -> None:
    queue = JobQueue(memory.database, timedelta(seconds=60))
    assert memory.job_stats() == ()
    since = clock()
    for key in "abcd":
        put(memory, QUICK, key)
    memory.cancel_job(put(memory, SLOW))
    finished, running = (queue.claim(frozenset({QUICK})) for _ in range(2))
    assert finished is not None
    assert running is not None
    queue.finish(finished)
    clock.advance(hours=1)
    with memory.database.write("ana") as writing:
        later = writing.now + timedelta(hours=1)
        writing.enqueue(
            NewJob(kind=QUICK, user_id="ana", run_at=later, unique_key="later", payload={})
        )
    quick, slow = memory.job_stats()
    assert (quick.kind, quick.lane, slow.kind, slow.lane) == (QUICK, "fast", SLOW, "slow")
    assert (quick.queued, quick.due, quick.running, quick.done) == (3, 2, 1, 1)
    assert (slow.cancelled, slow.queued, slow.due, slow.oldest_due_at) == (1, 0, 0, None)
    assert quick.oldest_due_at == since
    counted = sum(getattr(one, state) for one in (quick, slow) for state in JobState)
    assert counted == len(memory.jobs())
