"""A thousand jobs while workers are killed and the broker is restarted and loses everything."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import Memory
from ricordo.storage.tables import history, jobs
from ricordo.wiring import open_memory
from tests.support.brokers import Broker
from tests.support.waiting import wait_until
from tests.workers.crew import CELERYS, OURS, Crew, crew, emptied

pytestmark = [
    pytest.mark.requirement("jobs.celery"),
    pytest.mark.chaos,
    pytest.mark.timeout(900),
]

TALKERS = 200
LEAVERS = 800
LEASE_SECONDS = 2
DEADLINE_SECONDS = 150
WORKER = ("worker", "--concurrency", "2")


def queue_thousand(memory: Memory) -> None:
    """Conversations to be formed, and memories that expire soon."""
    for number in range(TALKERS):
        talker = memory.user(f"talker-{number}")
        talker.observe([{"role": "user", "content": "I love jazz music."}], thread="talk")
    for number in range(LEAVERS):
        soon = datetime.now(UTC) + timedelta(seconds=2)
        memory.user(f"leaver-{number}").add("Is in Porto", expires_at=soon)


def counted(memory: Memory) -> Counter[tuple[str, str]]:
    """How many jobs of each kind stand where."""
    columns = (jobs.c.kind, jobs.c.state)
    with memory.database.read_all() as view:
        found = view.connection.execute(sa.select(*columns, sa.func.count()).group_by(*columns))
        return Counter({(kind, state): count for kind, state, count in found})


def effects(memory: Memory) -> Counter[tuple[str, str]]:
    """How often each thing happened to each user."""
    with memory.database.read_all() as view:
        found = view.connection.execute(sa.select(history.c.user_id, history.c.event)).all()
    return Counter((user, event) for user, event in found)


def done(memory: Memory) -> int:
    states = counted(memory)
    return states["form", "done"] + states["lifecycle", "done"]


def wait_for(memory: Memory, goal: int) -> None:
    wait_until(lambda: done(memory) >= goal, DEADLINE_SECONDS)


def disasters(hired: Crew, broker: Broker, chance: random.Random) -> Iterator[Callable[[], None]]:
    """What happens one after the other, each after some more jobs."""
    workers = (0, 1)

    def child() -> None:
        hired.kill_child(chance.choice(workers), chance)

    def parent() -> None:
        victim = chance.choice(workers)
        hired.kill(victim)
        hired.start_again(victim)

    def everybody() -> None:
        for victim in workers:
            hired.kill(victim)
        for victim in workers:
            hired.start_again(victim)

    def lose_messages() -> None:
        emptied(broker)

    yield from (child, child, parent, child, broker.restart, child)
    yield from (lose_messages, child, everybody, child, child)


def survive(memory: Memory, hired: Crew, broker: Broker) -> None:
    queue_thousand(memory)
    hired.start(*OURS, *WORKER, "--beat")
    hired.start(*CELERYS, *WORKER)
    hired.start(*CELERYS, "beat")
    reached = 0
    for strike in disasters(hired, broker, random.Random(7)):
        reached += 80
        wait_for(memory, reached)
        strike()
    wait_for(memory, TALKERS + LEAVERS)
    wait_until(lambda: not memory.jobs(state="running"), DEADLINE_SECONDS)


def assert_each_took_effect_once(memory: Memory) -> None:
    states = counted(memory)
    assert states["form", "done"] == TALKERS
    assert states["lifecycle", "done"] == LEAVERS
    assert not memory.jobs(state="dead")
    happened = effects(memory)
    expected = {(f"talker-{number}", "ADD"): 1 for number in range(TALKERS)}
    for number in range(LEAVERS):
        expected[f"leaver-{number}", "ADD"] = expected[f"leaver-{number}", "TTL"] = 1
    assert dict(happened) == expected
    for number in range(TALKERS):
        (known,) = memory.user(f"talker-{number}").list()
        assert known.content == "User loves jazz music."


def run(folder: Path, url: str, broker: Broker) -> None:
    settings: dict[str, Any] = {
        "embedding_provider": "none",
        "formation_delay_seconds": 0,
        "upkeep": False,
    }
    with (
        open_memory(url, broker_url=broker.url, synchronous="NORMAL", **settings) as memory,
        crew(folder, url, broker.url, job_lease_seconds=LEASE_SECONDS, upkeep=False) as hired,
    ):
        try:
            survive(memory, hired, broker)
            assert_each_took_effect_once(memory)
        except AssertionError:
            print(hired.log()[-20_000:])
            print(counted(memory))
            raise


@pytest.mark.parametrize(
    ("store", "broker"), [("postgres_url", "redis"), ("sqlite_url", "rabbitmq")]
)
def test_each_job_takes_effect_once(
    store: str, broker: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run(tmp_path / "crew", request.getfixturevalue(store), request.getfixturevalue(broker))
