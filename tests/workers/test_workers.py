"""Workers on Celery as processes: what they do with messages, and how they end."""

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory
from ricordo.jobs.broker import Messenger
from ricordo.jobs.queue import lane_of
from ricordo.model.activity import NewJob
from ricordo.model.vocabulary import Lane
from ricordo.wiring import open_memory
from tests.support.brokers import Broker, free_port, redis_server
from tests.support.commandline import ricordo
from tests.support.waiting import wait_until
from tests.workers.crew import CELERYS, OURS, Crew, crew, waiting

pytestmark = pytest.mark.requirement("jobs.celery")

SETTINGS: dict[str, Any] = {
    "embedding_provider": "none",
    "formation_delay_seconds": 0,
    "upkeep": False,
}
ONE_AFTER_THE_OTHER = ("worker", "--pool", "solo")
PASSWORD = "hush-hush"


@pytest.fixture
def memory(sqlite_url: str) -> Iterator[Memory]:
    """The store as a program has it that leaves all work, and all waking, to others."""
    with open_memory(sqlite_url, run_jobs=False, job_lease_seconds=1, **SETTINGS) as opened:
        yield opened


@pytest.fixture
def hired(tmp_path: Path, sqlite_url: str, redis: Broker) -> Iterator[Crew]:
    with crew(
        tmp_path / "crew", sqlite_url, redis.url, upkeep=False, job_lease_seconds=1
    ) as workers:
        yield workers


def talk(memory: Memory, user: str) -> int:
    """Say something; the number of the job that forms a memory from it."""
    memory.user(user).observe([{"role": "user", "content": "I love jazz music."}], thread="talk")
    (job,) = [job for job in memory.jobs(kind="form") if job.user_id == user]
    return job.id


def form_job(memory: Memory, user: str) -> tuple[str, int]:
    """How the job that forms a user's conversation stands, and how often it was begun."""
    (job,) = [job for job in memory.jobs(kind="form") if job.user_id == user]
    return job.state.value, job.attempts


def send(broker: Broker, *job_ids: int) -> None:
    messenger = Messenger(broker.url)
    for job_id in job_ids:
        messenger.send(job_id, lane_of("form"))
    messenger.close()


@pytest.mark.parametrize(
    "pool",
    [
        pytest.param("prefork", marks=pytest.mark.slow),
        pytest.param("threads", marks=pytest.mark.slow),
        pytest.param("solo", marks=pytest.mark.smoke),
    ],
)
def test_every_pool_runs_jobs_and_ends_cleanly(
    pool: str, memory: Memory, redis: Broker, hired: Crew
) -> None:
    hired.start(*OURS, "worker", "--pool", pool, "--concurrency", "2", "--beat")
    talk(memory, "ana")
    wait_until(lambda: form_job(memory, "ana") == ("done", 1))
    # What the handler has queued was told of, too: the worker wakes others by itself.
    wait_until(lambda: memory.jobs(kind="summarise", state="done"))
    assert hired.stop(0) == 0, hired.log()
    assert not memory.jobs(state="running")
    assert len(memory.user("ana").list()) == 1
    assert hired.litter() == []
    served = "ricordo.delivery, ricordo.fast, ricordo.slow"
    assert hired.log().count(f"ricordo runs jobs from {served} at redis://") == 1
    assert "Traceback" not in hired.log()


@pytest.mark.chaos
def test_rabbitmq_and_postgresql(tmp_path: Path, postgres_url: str, rabbitmq: Broker) -> None:
    with (
        open_memory(postgres_url, broker_url=rabbitmq.url, **SETTINGS) as memory,
        crew(tmp_path / "crew", postgres_url, rabbitmq.url, upkeep=False) as hired,
    ):
        hired.start(*CELERYS, "worker", "--concurrency", "1")
        hired.start(*OURS, "beat")
        talk(memory, "ana")
        wait_until(lambda: form_job(memory, "ana") == ("done", 1))
        assert hired.stop(1) == 0
        assert hired.stop(0) == 0
        assert hired.litter() == []


@pytest.mark.slow
def test_messages_that_come_twice_or_too_late_do_nothing(
    memory: Memory, redis: Broker, hired: Crew
) -> None:
    first, last = talk(memory, "ana"), talk(memory, "ben")
    send(redis, first, first, first, 999_999, last)
    hired.start(*OURS, *ONE_AFTER_THE_OTHER)
    wait_until(lambda: form_job(memory, "ben") == ("done", 1))
    assert form_job(memory, "ana") == ("done", 1)
    cleo = talk(memory, "cleo")
    send(redis, first, cleo)  # one for a job that has long been done
    wait_until(lambda: form_job(memory, "cleo") == ("done", 1))
    assert form_job(memory, "ana") == ("done", 1)
    assert memory.user("ana").revision() == 1
    assert "Traceback" not in hired.log()


@pytest.mark.slow
def test_a_lost_message_is_sent_again_and_a_lost_job_run_by_another(
    memory: Memory, hired: Crew
) -> None:
    talk(memory, "ana")
    job = memory.runner.queue.claim(frozenset({"form"}))  # and then its worker is gone
    assert job is not None
    talk(memory, "ben")
    assert memory.runner.queue.take_unsent(frozenset({"form"}), None), "told of, and then lost"
    hired.start(*OURS, "worker", "--concurrency", "1", "--beat")
    wait_until(lambda: form_job(memory, "ana") == ("done", 2))
    wait_until(lambda: form_job(memory, "ben") == ("done", 1))


@pytest.mark.slow
def test_clocks_may_differ(tmp_path: Path, sqlite_url: str, redis: Broker) -> None:
    def ahead() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=2)

    with (
        open_memory(sqlite_url, clock=ahead, broker_url=redis.url, **SETTINGS) as memory,
        crew(
            tmp_path / "crew", sqlite_url, redis.url, upkeep=False, job_lease_seconds=600
        ) as hired,
    ):
        hired.start(*OURS, "worker", "--concurrency", "1", "--beat")
        wait_until(lambda: hired.is_ready(0))
        talk(memory, "ana")  # told of at once, two seconds before it is due for the worker
        wait_until(lambda: form_job(memory, "ana") == ("done", 1))


@pytest.mark.chaos
def test_a_killed_worker_leaves_no_process_behind(hired: Crew, memory: Memory) -> None:
    hired.start(*OURS, "worker", "--concurrency", "2", "--beat")
    wait_until(lambda: hired.is_ready(0))
    children = hired.children(0)
    assert len(children) == 2
    hired.kill(0)
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in children))


@pytest.mark.slow
def test_a_worker_of_one_lane_leaves_the_other_alone(
    memory: Memory, redis: Broker, hired: Crew
) -> None:
    with memory.database.write("ana") as writing:
        for kind in ("lifecycle", "summarise"):
            writing.enqueue(
                NewJob(kind=kind, user_id="ana", run_at=writing.now, unique_key="", payload={})
            )
    hired.start(*OURS, "worker", "--lane", "fast", "--pool", "solo", "--beat")
    wait_until(lambda: memory.jobs(kind="lifecycle")[0].state == "done")
    assert memory.jobs(kind="summarise")[0].state == "queued"
    wait_until(lambda: waiting(redis) == 1)


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_worker_that_is_told_to_stop_lets_go_of_long_jobs(
    pool: str, tmp_path: Path, sqlite_url: str, memory: Memory, redis: Broker
) -> None:
    texts = [f"Remark {number} about the weather in Porto" for number in range(1_000)]
    for _ in range(8):
        memory.user("ana").add_many([f"{text} {_}" for text in texts])
    with (
        open_memory(sqlite_url, run_jobs=False, language="german", **SETTINGS) as changed,
        crew(tmp_path / "crew", sqlite_url, redis.url, upkeep=False, language="german") as hired,
    ):
        hired.start(*OURS, "worker", "--pool", pool, "--concurrency", "1", "--beat")
        wait_until(lambda: changed.jobs(kind="reindex")[0].progress)
        assert hired.stop(0) == 0, hired.log()
        (job,) = changed.jobs(kind="reindex")
        assert (job.state, job.attempts) == ("queued", 0), "put back before it was done"
        assert not changed.jobs(state="running")


@pytest.mark.chaos
def test_passwords_are_in_no_log(tmp_path: Path, sqlite_url: str, memory: Memory) -> None:
    with (
        redis_server(PASSWORD) as broker,
        crew(tmp_path / "crew", sqlite_url, broker.url, upkeep=False) as hired,
    ):
        hired.start(*OURS, "worker", "--concurrency", "1", "--beat")
        hired.start(*CELERYS, "worker", "--concurrency", "1", "--loglevel", "DEBUG")
        hired.start(*CELERYS, "beat", "--loglevel", "DEBUG")
        talk(memory, "ana")
        wait_until(lambda: form_job(memory, "ana") == ("done", 1))
        wait_until(lambda: hired.is_ready(0) and hired.is_ready(1))
        broker.restart()
        talk(memory, "ben")
        wait_until(lambda: form_job(memory, "ben") == ("done", 1))
        for number in range(3):
            hired.stop(number)
        assert "redis://:***@127.0.0.1" in hired.log()
        assert PASSWORD not in hired.log()


@pytest.mark.chaos
@pytest.mark.parametrize("name", ["redis", "rabbitmq"])
def test_workers_and_sweeps_outlive_the_broker(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, sqlite_url: str, memory: Memory
) -> None:
    broker: Broker = request.getfixturevalue(name)
    with crew(tmp_path / "crew", sqlite_url, broker.url, upkeep=False) as hired:
        hired.start(*OURS, "worker", "--concurrency", "1")
        hired.start(*OURS, "beat")
        talk(memory, "ana")
        wait_until(lambda: form_job(memory, "ana") == ("done", 1))
        broker.stop()
        talk(memory, "ben")
        broker.start()
        wait_until(lambda: form_job(memory, "ben") == ("done", 1))


@pytest.mark.parametrize(
    "broker",
    [
        pytest.param("redis", marks=pytest.mark.slow),
        pytest.param("rabbitmq", marks=pytest.mark.chaos),
    ],
)
def test_status(
    broker: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: Broker = request.getfixturevalue(broker)
    monkeypatch.setenv("RICORDO_BROKER_URL", found.url)
    with crew(tmp_path / "crew", sqlite_url, found.url) as hired:
        hired.start(*OURS, "worker", "--concurrency", "1", "--lane", "fast")
        wait_until(lambda: hired.is_ready(0))
        messenger = Messenger(found.url)
        messenger.send(1, Lane.SLOW)
        messenger.close()
        answer = ricordo("celery", "status", "--json").json
        assert answer["reachable"] is True
        assert answer["queues"] == {"ricordo.fast": 0, "ricordo.slow": 1, "ricordo.delivery": 0}
        (name,) = answer["workers"]
        assert name.startswith("ricordo-")
    shown = ricordo("celery", "status").out
    assert "ricordo.slow" in shown
    assert "1 waiting" in shown


def test_status_of_a_broker_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BROKER_URL", f"redis://:{PASSWORD}@127.0.0.1:{free_port()}")
    told = ricordo("celery", "status", "--json")
    assert told.code == 6
    answer = json.loads(told.out)
    assert (answer["reachable"], answer["queues"], answer["workers"]) == (False, {}, [])
    assert "refused" in answer["problem"]
    assert PASSWORD not in told.out + told.err


def test_mistakes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for url, said in (("", "is not set"), ("http://a", "must begin with")):
        monkeypatch.setenv("RICORDO_BROKER_URL", url)
        for command in ("worker", "beat", "status"):
            told = ricordo("celery", command)
            assert told.code == 2
            assert f"setting broker_url: {said}" in told.err
    monkeypatch.delenv("RICORDO_BROKER_URL")
    for options, said in (
        (("--concurrency", "0"), "concurrency: 0 is not a whole number from 1 to 64"),
        (("--lane", "quick"), "'quick' is not one of: fast, slow, delivery"),
        (("--pool", "eventlet"), "'eventlet' is not one of: prefork, threads, solo"),
    ):
        told = ricordo("celery", "worker", *options)
        assert told.code == 2
        assert said in told.err


@pytest.mark.slow
def test_celerys_own_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RICORDO_BROKER_URL", raising=False)
    told = subprocess.run([*CELERYS, "worker"], capture_output=True, text=True)
    assert told.returncode == 2
    assert "setting broker_url: is not set" in told.stderr
    assert "Traceback" not in told.stderr
