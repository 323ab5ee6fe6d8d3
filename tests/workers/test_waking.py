"""Telling the broker of new jobs: never in the way of a write, and nothing is forgotten."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from kombu import Connection

from ricordo import InvalidValue, Memory
from ricordo.jobs.broker import BrokerUnreachable, Messenger, masked, send_waiting, sweep
from ricordo.storage.tables import jobs
from ricordo.testing import ManualClock
from ricordo.wiring import open_memory
from tests.support.brokers import Broker
from tests.support.waiting import wait_until
from tests.workers.crew import emptied, waiting

pytestmark = pytest.mark.requirement("jobs.celery")


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.chaos)])
def broker(request: pytest.FixtureRequest) -> Broker:
    found: Broker = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def messenger(redis: Broker) -> Iterator[Messenger]:
    sender = Messenger(redis.url)
    yield sender
    sender.close()


def opened(url: str, broker_url: str, **settings: Any) -> Memory:
    return open_memory(
        url,
        broker_url=broker_url,
        embedding_provider="none",
        formation_delay_seconds=0,
        upkeep=False,
        job_poll_seconds=0.05,
        **settings,
    )


def talk(memory: Memory, *users: str) -> None:
    """Say something that a job has to be queued for, which is due at once."""
    for user in users:
        memory.user(user).observe([{"role": "user", "content": "I love jazz."}], thread="talk")


def test_new_jobs_are_told_of_once(backend_url: str, broker: Broker) -> None:
    with opened(backend_url, broker.url) as memory:
        talk(memory, "ana", "ben")
        wait_until(lambda: waiting(broker) == 2)
        talk(memory, "ana")  # the same job, which waits already
    assert waiting(broker) == 2


@pytest.mark.chaos
def test_a_write_does_not_need_the_broker(
    sqlite_url: str, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.stop()
    try:
        with caplog.at_level(logging.INFO), opened(sqlite_url, broker.url) as memory:
            talk(memory, "ana")
            wait_until(lambda: warnings(caplog))
            talk(memory, "ben", "cleo")
            assert len(memory.jobs(state="queued")) == 4
            broker.start()
            wait_until(lambda: waiting(broker) == 3)
            wait_until(lambda: "woken again" in caplog.text)
        assert len(warnings(caplog)) == 1, "one warning for one outage"
    finally:
        if not broker.is_running:
            broker.start()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.chaos
def test_a_broker_that_hangs_holds_up_nobody(sqlite_url: str, broker: Broker) -> None:
    with opened(sqlite_url, broker.url) as memory:
        talk(memory, "ana")
        wait_until(lambda: waiting(broker) == 1)
        broker.freeze()
        try:
            talk(memory, "ben")
            memory.close()
        finally:
            broker.thaw()
    with opened(sqlite_url, broker.url) as memory:
        talk(memory, "cleo")
        wait_until(lambda: waiting(broker) >= 3)


@pytest.mark.slow
def test_what_could_not_be_sent_counts_as_not_sent(sqlite_url: str, redis: Broker) -> None:
    with opened(sqlite_url, redis.url, run_jobs=False) as memory:
        talk(memory, *(f"user-{number}" for number in range(300)))
        queue, kinds = memory.runner.queue, frozenset({"form"})
        messenger = Messenger(redis.url)
        messenger.connect()
        with Connection(redis.url) as connection:
            client = connection.default_channel.client
            client.config_set("maxmemory", client.info("memory")["used_memory"] + 250_000)
            with pytest.raises(BrokerUnreachable, match="memory"):
                send_waiting(queue, kinds, messenger)
            client.config_set("maxmemory", 0)
        messenger.close()
        left = queue.take_unsent(kinds, None)
        assert 0 < waiting(redis) < 300
        assert len(left) == 300 - waiting(redis)


def test_a_sweep_sends_again_what_was_lost(
    memory: Memory, clock: ManualClock, redis: Broker, messenger: Messenger
) -> None:
    talk(memory, "ana", "ben")
    clock.advance(seconds=11)
    kinds, queue = memory.runner.kinds, memory.runner.queue
    assert sweep(queue, kinds, messenger) == 2
    assert sweep(queue, kinds, messenger) == 0
    clock.advance(seconds=61)
    assert sweep(queue, kinds, messenger) == 0, "they wait in the queue"
    emptied(redis)
    assert sweep(queue, kinds, messenger) == 2
    emptied(redis)
    assert sweep(queue, kinds, messenger) == 0, "a worker may just have fetched them"
    clock.advance(seconds=61)
    assert sweep(queue, kinds, messenger) == 2
    clock.advance(minutes=15)
    assert sweep(queue, kinds, messenger) == 2, "even if there are others in the queue"


@pytest.mark.parametrize("ends_by", ["failing", "postponing", "dying"])
def test_a_job_that_goes_back_into_the_queue_is_told_of_anew(
    ends_by: str, memory: Memory, clock: ManualClock, messenger: Messenger
) -> None:
    talk(memory, "ana")
    clock.advance(seconds=11)
    kinds, queue = frozenset({"form"}), memory.runner.queue
    job = queue.claim(kinds)
    assert job is not None
    clock.advance(seconds=61)
    assert send_waiting(queue, kinds, messenger) == 1, "its worker seems to be gone"
    if ends_by == "failing":
        queue.fail(job, "no luck")
    elif ends_by == "postponing":
        queue.postpone(job, clock(), "not yet")
    else:
        with memory.database.transaction() as connection:
            connection.execute(sa.update(jobs).values(state="dead"))
        queue.revive(job.id)
    clock.advance(seconds=5)
    assert send_waiting(queue, kinds, messenger) == 1


def test_a_forked_child_tells_of_its_own_jobs(backend_url: str, broker: Broker) -> None:
    with opened(backend_url, broker.url) as memory:
        talk(memory, "ana")
        wait_until(lambda: waiting(broker) == 1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                talk(memory, "ben")
                memory.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert waiting(broker) == 2
        talk(memory, "cleo")
        wait_until(lambda: waiting(broker) == 3)


def test_what_was_recalled_is_counted_without_job_threads(sqlite_url: str, redis: Broker) -> None:
    with opened(sqlite_url, redis.url) as memory:
        ana = memory.user("ana")
        tea = ana.add("Prefers tea to coffee")
        ana.search("tea")
        wait_until(lambda: ana.get(tea.id).access_count == 1)


def test_closing_sends_what_is_there_unless_jobs_are_not_run(
    sqlite_url: str, redis: Broker
) -> None:
    for user, run_jobs, told in (("ana", False, 0), ("ben", True, 2)):
        with opened(sqlite_url, redis.url, run_jobs=run_jobs) as memory:
            talk(memory, user)
        assert waiting(redis) == told


def test_another_kind_of_address_is_refused_and_not_shown() -> None:
    for url in ("http://user:hush@host", "redis://a;file:///hush", ""):
        with pytest.raises(InvalidValue, match="must begin with redis://") as caught:
            open_memory(":memory:", broker_url=url)
        assert "setting broker_url: " in str(caught.value)
        assert "hush" not in str(caught.value)


def test_without_celery_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "celery", None)
    with pytest.raises(InvalidValue, match=r"pip install 'ricordo\[celery\]'"):
        open_memory(":memory:", broker_url="redis://localhost")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:hush@host:1/0", "redis://:***@host:1/0"),
        ("amqps://ana:h%40ush@host//", "amqps://ana:***@host//"),
        ("redis://host/0?password=hush", "redis://host/0"),
        ("amqp://ana:a@one;amqp://ben:b@two", "amqp://ana:***@one;amqp://ben:***@two"),
        ("redis://host", "redis://host"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert masked(url) == shown


@pytest.mark.slow
def test_celery_is_loaded_only_where_it_is_needed() -> None:
    code = (
        "import sys, ricordo\n"
        "from ricordo.cli.main import main\n"
        "main(['--help'])\n"
        "ricordo.open(':memory:').close()\n"
        "assert not {'celery', 'kombu'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
