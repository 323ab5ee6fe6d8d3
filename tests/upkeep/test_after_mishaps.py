"""Upkeep after clocks that were wrong, jobs that were cancelled, and settings that differ."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import Conflict, Memory
from ricordo.jobs.queue import JobQueue
from ricordo.memories.expiring import LIFECYCLE_JOB
from ricordo.model.job import STORE_JOB_USER, NewJob
from ricordo.storage.jobs import put_job
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedding_server import EmbeddingServer
from ricordo.upkeep.kinds import INSIGHTS_JOB, PLAN_JOB, ROUND_JOB
from ricordo.upkeep.scheduling import ensure_planned, plan_rounds
from tests.upkeep.conftest import Tended, quietly


@pytest.mark.requirement("upkeep.plan")
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
def test_a_cancelled_job_that_would_end_memories_is_queued_again_by_a_round(
    tended: Tended,
) -> None:
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


@pytest.mark.requirement("upkeep.plan")
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


@pytest.mark.requirement("upkeep.backfill")
def test_vectors_are_not_thrown_away_for_an_embedder_that_does_not_answer(
    backend_url: str, open_store: Callable[..., Memory], clock: ManualClock
) -> None:
    open_store(backend_url, embedder=None).user("ana").add("Prefers tea")
    with EmbeddingServer() as server:
        settings = {
            "embedder": None,
            "embedding_provider": "custom_http",
            "embedding_base_url": server.base_url,
            "embedding_model": "another",
        }
        memory = open_store(backend_url, **settings)
        server.answer_html()
        tended = Tended(memory, clock)
        done = tended.round()
        assert done.vectors_asked == 0
        events = [event.op for event in memory.user("ana").events() if event.status == "error"]
        assert events == ["vectors"]
    before = open_store(backend_url, embedder=None)
    assert before.user("ana").embedding_status().ready == 1


@pytest.mark.requirement("upkeep.plan")
def test_a_plan_that_fails_says_so_and_is_tried_again(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise ValueError("no")

    memory = tended.memory
    ensure_planned(memory.database)
    monkeypatch.setattr("ricordo.upkeep.scheduling._queue_due", fail)
    memory.user("ana").add("Prefers tea")
    queue = memory.runner.queue
    job = queue.claim(frozenset({PLAN_JOB}))
    assert job is not None
    with pytest.raises(ValueError, match="no"):
        plan_rounds(memory.database, quietly)
    assert queue.fail(job, "ValueError: no")
    (again,) = tended.jobs(PLAN_JOB)
    assert (again.id, again.attempts, again.last_error) == (job.id, 1, "ValueError: no")
