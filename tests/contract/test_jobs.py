"""The queue: leases, retries, dead letters, and the thread that works it off."""

import threading
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from ricordo import Conflict, JobNotFound, Memory, StorageClosed
from ricordo.jobs.queue import JobQueue
from ricordo.jobs.running import Handler, JobRunner
from ricordo.jobs.stint import Stint
from ricordo.jobs.threads import ThreadRunner
from ricordo.limits import MAX_JOB_ATTEMPTS
from ricordo.model.job import NewJob
from ricordo.testing.clock import ManualClock

KINDS = frozenset({"chore"})


def put(memory: Memory, key: str = "", delay: timedelta = timedelta(0)) -> None:
    with memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(
                kind="chore",
                user_id="ana",
                run_at=writing.now + delay,
                unique_key=key,
                payload={"key": key},
            )
        )


def runner_of(memory: Memory, handler: Handler, run_seconds: float = 60) -> JobRunner:
    queue = JobQueue(memory.database, timedelta(seconds=60))
    return JobRunner(queue, {"chore": handler}, run_seconds)


@pytest.fixture
def queue(memory: Memory) -> JobQueue:
    return JobQueue(memory.database, timedelta(seconds=60))


@pytest.mark.requirement("jobs.in-transaction")
def test_a_job_exists_exactly_if_its_write_does(memory: Memory, queue: JobQueue) -> None:
    class Broken(Exception):
        pass

    with pytest.raises(Broken), memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="chore", user_id="ana", run_at=writing.now, unique_key="", payload={})
        )
        raise Broken
    assert queue.claim(KINDS) is None
    put(memory)
    assert queue.claim(KINDS) is not None


@pytest.mark.requirement("jobs.unique")
def test_the_same_job_is_queued_once_at_the_earlier_time(
    memory: Memory, clock: ManualClock
) -> None:
    put(memory, "a", timedelta(hours=2))
    put(memory, "a", timedelta(hours=1))
    put(memory, "a", timedelta(hours=3))
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
def test_the_thread_runs_what_is_queued(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url)
    ran = threading.Event()
    failed = threading.Event()
    tried: list[int] = []

    def chore(stint: Stint) -> None:
        job = stint.job
        tried.append(job.attempts)
        if job.payload["key"] == "bad":
            failed.set()
            raise ValueError("no")
        ran.set()

    runner = ThreadRunner(runner_of(memory, chore), poll_seconds=60)
    memory.database.on_job_queued = runner.wake
    runner.start()
    try:
        put(memory, "good")
        assert ran.wait(20)
        put(memory, "bad")
        assert failed.wait(20)
    finally:
        runner.stop()
    states = {job.unique_key: job.state for job in memory.jobs()}
    assert states == {"good": "done", "bad": "queued"}


@pytest.mark.requirement("jobs.runner")
def test_stopping_finishes_the_job_at_hand(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url)
    started, may_end = threading.Event(), threading.Event()

    def chore(_stint: Stint) -> None:
        started.set()
        assert may_end.wait(20)

    runner = ThreadRunner(runner_of(memory, chore), poll_seconds=60)
    put(memory, "one")
    put(memory, "two")
    runner.start()
    assert started.wait(20)
    stopping = threading.Thread(target=runner.stop)
    stopping.start()
    may_end.set()
    stopping.join(20)
    assert not stopping.is_alive()
    assert sorted(job.state for job in memory.jobs()) == ["done", "queued"]


@pytest.mark.requirement("jobs.runner")
def test_jobs_of_unknown_kinds_do_not_keep_the_thread_busy(memory: Memory, queue: JobQueue) -> None:
    put(memory)
    assert queue.seconds_until_due(frozenset({"another"})) is None
    assert queue.seconds_until_due(KINDS) == 0


@pytest.mark.requirement("jobs.runner")
def test_a_closed_store_runs_no_jobs(memory: Memory) -> None:
    memory.close()
    with pytest.raises(StorageClosed):
        memory.run_jobs()


@pytest.mark.requirement("jobs.trim")
def test_finished_jobs_are_forgotten_after_a_week(
    memory: Memory, queue: JobQueue, clock: ManualClock
) -> None:
    put(memory)
    job = queue.claim(KINDS)
    assert job is not None
    queue.finish(job)
    clock.advance(days=6)
    queue.trim()
    assert len(memory.jobs()) == 1
    clock.advance(days=2)
    queue.trim()
    assert memory.jobs() == ()
