"""Webhooks while receivers fail, workers are killed, and everything happens in any order."""

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.jobs.webhooks import WebhookDeliveries
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND
from tests.support.receivers import Receiver, answering, closes, receiver
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("webhooks.one-at-a-time")


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


def worker(url: str, lease_seconds: int) -> "subprocess.Popen[bytes]":
    settings = {
        "RICORDO_WEBHOOK_LOOPBACK": "true",
        "RICORDO_EMBEDDING_PROVIDER": "none",
        "RICORDO_JOB_LEASE_SECONDS": str(lease_seconds),
        "RICORDO_JOB_POLL_SECONDS": "0.1",
    }
    return subprocess.Popen(
        [COMMAND, "worker", "--db", url],
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
    )


def ended(*running: "subprocess.Popen[bytes]") -> None:
    for one in running:
        one.kill()
        one.wait()


@pytest.mark.chaos
def test_a_killed_worker_loses_nothing_and_keeps_the_order(
    backend_url: str, hook: Receiver
) -> None:
    entered, goes_on = threading.Event(), threading.Event()

    def never(_handler: BaseHTTPRequestHandler) -> None:
        entered.set()
        goes_on.wait(60)

    settings: dict[str, Any] = {"run_jobs": False, "embedding_provider": "none"}
    with open_memory(backend_url, webhook_loopback=True, **settings) as memory:
        ana = memory.user("ana")
        ana.create_webhook(hook.url)
        hook.answers = [200, never]
        first = worker(backend_url, 2)
        others: list[subprocess.Popen[bytes]] = []
        try:
            ana.add("One")
            wait_until(lambda: len(hook.received) == 1)
            ana.add("Two")
            assert entered.wait(60)
            ended(first)  # in the middle of the second request
            ana.add("Three")
            others = [worker(backend_url, 2) for _ in range(2)]
            wait_until(lambda: 3 in hook.revisions)
            for number in range(4, 8):
                ana.add(f"Number {number}")
            wait_until(lambda: 7 in hook.revisions)
        finally:
            goes_on.set()
            ended(first, *others)
    assert hook.received[1].id == hook.received[2].id
    assert hook.revisions[:3] == [1, 2, 2]
    check_order(hook.received, 7)


ANSWERS = st.sampled_from([200, 200, 204, 500, 429, closes, answering(302, Location="/")])
STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(["ana", "ben"]), st.integers(1, 4)),
    st.tuples(st.just("answers"), st.lists(ANSWERS, max_size=4), st.just(0)),
    st.tuples(st.just("run"), st.just(""), st.integers(0, 120)),
    st.tuples(st.just("crash"), st.just(""), st.integers(0, 120)),
    st.tuples(st.just("pause"), st.just(""), st.just(0)),
    st.tuples(st.just("resume"), st.just(""), st.just(0)),
)


class Crash(Exception):
    """The worker dies after the request and before it is noted."""


@pytest.mark.slow
@given(st.lists(STEPS, max_size=15))
def test_each_change_arrives_and_none_before_an_earlier_one(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any, int]]
) -> None:
    path, clock = tmp_path_factory.mktemp("webhooks") / "store.db", ManualClock()
    made = {"run_jobs": False, "upkeep": False, "embedder": WordEmbedder()}
    with (
        receiver() as hook,
        open_memory(path, clock=clock, webhook_loopback=True, **made) as memory,
    ):
        every = memory.create_webhook(hook.url).webhook
        written = {"ana": 0, "ben": 0}
        for what, given_, number in steps:
            if what == "write":
                for _ in range(number):
                    written[given_] += 1
                    memory.user(given_).add(f"{given_} {written[given_]}")
            elif what == "answers":
                hook.answers = list(given_)
            elif what == "run":
                clock.advance(seconds=number)
                memory.run_jobs()
            elif what == "crash":
                clock.advance(seconds=number)
                run_and_crash(memory)
            else:
                memory.update_webhook(every.id, paused=what == "pause")
        hook.answers = []
        memory.update_webhook(every.id, paused=False)
        for _ in range(2):
            clock.advance(hours=2)
            memory.run_jobs()
        for user_id, count in written.items():
            arrived = [one for one in hook.received if one.sent["data"].get("user_id") == user_id]
            check_order(arrived, count)
        assert hook.most_at_once <= 1


def run_and_crash(memory: Memory) -> None:
    def crash(*_: object) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WebhookDeliveries, "_record", crash)
        memory.run_jobs()


def check_order(arrived: list[Any], count: int) -> None:
    """Everything arrived; what is sent again is the same message; nothing goes before."""
    seen = 0
    of_message: dict[str, list[int]] = {}
    for one in arrived:
        assert of_message.setdefault(one.id, one.revisions) == one.revisions
        for revision in one.revisions:
            assert revision <= seen + 1
            seen = max(seen, revision)
    assert seen == count


@pytest.mark.smoke
def test_a_program_delivers_by_itself(sqlite_url: str, hook: Receiver) -> None:
    settings: dict[str, Any] = {"webhook_loopback": True, "embedding_provider": "none"}
    with open_memory(sqlite_url, upkeep=False, **settings) as memory:
        ana = memory.user("ana")
        ana.create_webhook(hook.url)
        ana.add("One")
        wait_until(lambda: hook.revisions == [1])
        ana.add("Two")
        wait_until(lambda: hook.revisions == [1, 2])


@pytest.mark.chaos
def test_many_users_write_while_many_workers_deliver(backend_url: str) -> None:
    users, each = [f"user {number}" for number in range(4)], 25
    settings: dict[str, Any] = {"run_jobs": False, "embedding_provider": "none"}
    with (
        receiver() as every,
        receiver() as own,
        open_memory(backend_url, webhook_loopback=True, **settings) as memory,
    ):
        workers = [worker(backend_url, 60) for _ in range(3)]
        try:
            memory.create_webhook(every.url)
            memory.user(users[0]).create_webhook(own.url)

            def write(user_id: str) -> None:
                for number in range(each):
                    memory.user(user_id).add(f"Fact {number}")

            threads = [threading.Thread(target=write, args=(one,)) for one in users]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            wait_until(lambda: len(set(own.revisions)) == each)
            wait_until(lambda: len(every.revisions) >= each * len(users))
        finally:
            ended(*workers)
        for user_id in users:
            told = [one for one in every.received if one.sent["data"]["user_id"] == user_id]
            check_order(told, each)
        check_order(own.received, each)
        assert every.most_at_once == own.most_at_once == 1
        assert [one.failures for one in memory.webhooks()] == [0, 0]
        assert memory.jobs(state="dead") == ()
