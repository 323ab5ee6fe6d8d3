"""Workers on Celery as processes: what they do with messages, and how they end."""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import Memory
from ricordo.jobs.broker import Messenger
from ricordo.jobs.lanes import lane_of
from ricordo.model.job import NewJob
from ricordo.model.vocabulary import Lane
from ricordo.wiring import open_memory
from tests.support.brokers import Broker, redis_server
from tests.support.waiting import wait_until
from tests.workers.crew import CELERYS, OURS, Crew, crew
from tests.workers.queues import waiting

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


@pytest.mark.requirement("jobs.celery")
@pytest.mark.parametrize("pool", ["prefork", "threads", "solo"])
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
    assert hired.log().count("ricordo runs jobs from ricordo.fast, ricordo.slow at redis://") == 1
    assert "Traceback" not in hired.log()


@pytest.mark.requirement("jobs.celery")
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


@pytest.mark.requirement("jobs.celery")
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


@pytest.mark.requirement("jobs.celery")
def test_a_lost_message_is_sent_again(memory: Memory, redis: Broker, hired: Crew) -> None:
    talk(memory, "ana")
    assert memory.runner.queue.take_unsent(frozenset({"form"}), None), "told of, and then lost"
    hired.start(*OURS, "worker", "--concurrency", "1", "--beat")
    wait_until(lambda: form_job(memory, "ana") == ("done", 1))


@pytest.mark.requirement("jobs.celery")
def test_jobs_of_a_killed_worker_are_run_by_another(
    memory: Memory, redis: Broker, hired: Crew
) -> None:
    talk(memory, "ana")
    job = memory.runner.queue.claim(frozenset({"form"}))  # and then its worker is gone
    assert job is not None
    hired.start(*OURS, "worker", "--concurrency", "1", "--beat")
    wait_until(lambda: form_job(memory, "ana") == ("done", 2))


@pytest.mark.requirement("jobs.celery")
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


@pytest.mark.requirement("jobs.celery")
def test_a_killed_worker_leaves_no_process_behind(hired: Crew, memory: Memory) -> None:
    hired.start(*OURS, "worker", "--concurrency", "2", "--beat")
    wait_until(lambda: hired.is_ready(0))
    children = hired.children(0)
    assert len(children) == 2
    hired.kill(0)
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in children))


@pytest.mark.requirement("jobs.celery")
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


@pytest.mark.requirement("jobs.celery")
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


@pytest.mark.requirement("jobs.celery")
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


@pytest.mark.requirement("jobs.celery")
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


def status(broker_url: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*OURS, "status", *options],
        env={**os.environ, "RICORDO_BROKER_URL": broker_url},
        capture_output=True,
        text=True,
    )


@pytest.mark.requirement("jobs.celery")
@pytest.mark.parametrize("broker", ["redis", "rabbitmq"])
def test_status(
    broker: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    sqlite_url: str,
) -> None:
    found: Broker = request.getfixturevalue(broker)
    with crew(tmp_path / "crew", sqlite_url, found.url) as hired:
        hired.start(*OURS, "worker", "--concurrency", "1", "--lane", "fast")
        wait_until(lambda: hired.is_ready(0))
        messenger = Messenger(found.url)
        messenger.send(1, Lane.SLOW)
        messenger.close()
        told = status(found.url, "--json")
        assert (told.returncode, told.stderr) == (0, "")
        answer = json.loads(told.stdout)
        assert answer["reachable"] is True
        assert answer["queues"] == {"ricordo.fast": 0, "ricordo.slow": 1}
        (name,) = answer["workers"]
        assert name.startswith("ricordo-")
    shown = status(found.url).stdout
    assert "ricordo.slow" in shown
    assert "1 waiting" in shown


@pytest.mark.requirement("jobs.celery")
def test_status_of_a_broker_that_is_away(redis: Broker) -> None:
    redis.stop()
    told = status(redis.url.replace("redis://", f"redis://:{PASSWORD}@"), "--json")
    assert told.returncode == 6
    answer = json.loads(told.stdout)
    assert (answer["reachable"], answer["queues"], answer["workers"]) == (False, {}, [])
    assert "refused" in answer["problem"]
    assert PASSWORD not in told.stdout + told.stderr


@pytest.mark.requirement("jobs.celery")
@pytest.mark.parametrize("command", ["worker", "beat", "status"])
@pytest.mark.parametrize(
    ("url", "said"),
    [("", "setting broker_url: is not set"), ("http://a", "setting broker_url: must begin with")],
)
def test_commands_need_a_broker(command: str, url: str, said: str) -> None:
    told = subprocess.run(
        [*OURS, command],
        env={**os.environ, "RICORDO_BROKER_URL": url},
        capture_output=True,
        text=True,
    )
    assert told.returncode == 2
    assert said in told.stderr


@pytest.mark.requirement("jobs.celery")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--concurrency", "0"), "concurrency: 0 is not a whole number from 1 to 64"),
        (("--lane", "quick"), "'quick' is not one of: fast, slow"),
        (("--pool", "eventlet"), "'eventlet' is not one of: prefork, threads, solo"),
    ],
)
def test_mistakes_are_named(options: tuple[str, str], said: str) -> None:
    told = subprocess.run([*OURS, "worker", *options], capture_output=True, text=True)
    assert told.returncode == 2
    assert said in told.stderr


@pytest.mark.requirement("jobs.celery")
def test_celerys_own_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RICORDO_BROKER_URL", raising=False)
    helped = subprocess.run([*CELERYS, "worker", "--help"], capture_output=True, text=True)
    assert helped.returncode == 0
    assert "Traceback" not in helped.stderr
    told = subprocess.run([*CELERYS, "worker"], capture_output=True, text=True)
    assert told.returncode == 2
    assert "setting broker_url: is not set" in told.stderr
    assert "Traceback" not in told.stderr
