"""A clock that jumps, by hours or by a year, either way: nothing is lost, nothing stays stuck."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ricordo import Memory
from ricordo.testing import ManualClock
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.clock")
OpenStore = Callable[..., Memory]
JUMPS = [
    timedelta(days=1),
    timedelta(days=-365),
    *(
        pytest.param(one, marks=pytest.mark.matrix)
        for one in (timedelta(hours=3), timedelta(hours=-3), timedelta(days=365))
    ),
]


def said(text: str, clock: ManualClock) -> list[dict[str, object]]:
    return [{"role": "user", "content": text, "at": clock()}]


@pytest.mark.parametrize("jump", JUMPS, ids=str)
def test_what_is_written_before_during_and_after_a_jump_is_in_order(
    memory: Memory, clock: ManualClock, jump: timedelta
) -> None:
    ana = memory.user("ana")
    written: list[int] = []
    town: int | None = None
    for when in ("before", "during", "after"):
        if when != "before":
            clock.set(clock() + (jump if when == "during" else -jump))
        clock.advance(minutes=1)
        item = ana.add(f"Said {when}")
        home = ana.add(f"Home is {when}", key="home").id
        town = ana.add(f"Town is {when}", **({} if town is None else {"supersedes": town})).id
        ana.observe(said(f"Heard {when}", clock), thread="t")
        ana.pin(item.id)
        written.append(item.id)
        assert {f"Said {when}", f"Home is {when}"} <= {one.content for one in ana.list()}
        assert ana.search(f"Said {when}").results[0].id == item.id
    assert {item.id for item in ana.list(limit=100)} >= {*written, home, town}
    assert ana.get(home).content == "Home is after"
    changes = ana.changes(0).changes
    assert [change.revision for change in changes] == list(range(1, ana.revision() + 1))
    # Turns are in the order in which they were recorded, whatever time they claim.
    assert [turn.content for turn in ana.turns("t")] == [
        "Heard before",
        "Heard during",
        "Heard after",
    ]
    states = [ana.get(written[0])]
    for reason in ("one", "two"):  # no two states of a memory have the same time
        states.append(ana.archive(written[0]) if reason == "one" else ana.restore(written[0]))
    assert len({item.updated_at for item in states}) == 3
    assert problems_of(memory) == []


@pytest.mark.parametrize("jump", JUMPS, ids=str)
@pytest.mark.smoke
def test_work_that_was_begun_during_a_jump_is_done_after_it(
    backend_url: str, open_store: OpenStore, clock: ManualClock, jump: timedelta
) -> None:
    memory = open_store(backend_url, embedding_provider="none")
    ana = memory.user("ana")
    clock.set(clock() + jump)
    ana.observe(said("I love green tea.", clock), thread="t")
    abandoned = memory.runner.queue  # a worker that takes a job and is never heard of again
    ana.observe(said("I love black coffee.", clock), thread="u")
    clock.advance(minutes=1)
    assert abandoned.claim(memory.runner.kinds) is not None
    clock.set(clock() - jump)
    # Within three days of ordinary time all of it is done, without anybody's doing.
    for _ in range(3 * 4):
        clock.advance(hours=6)
        memory.runner.queue.trim()  # what a worker does every hour
        memory.run_jobs()
    contents = " ".join(item.content for item in ana.list())
    assert "tea" in contents
    assert "coffee" in contents
    assert memory.jobs(state="dead") == ()
    assert [job.kind for job in memory.jobs(state="running")] == []


def test_a_jump_of_a_day_purges_nothing_that_was_deleted_since(
    memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
    kept = ana.add("Has a cat", expires_at=clock() + timedelta(days=10))
    gone = ana.add("Has a dog")
    ana.forget(gone.id)
    for jump in (timedelta(days=1), timedelta(days=-2), timedelta(days=1)):
        clock.set(clock() + jump)
        memory.run_jobs()
        memory.purge()
        assert ana.restore(gone.id).content == "Has a dog"
        ana.forget(gone.id)
        assert ana.get(kept.id).content == "Has a cat"
    # And when its time has come it goes.
    clock.advance(days=80)
    memory.run_jobs()
    assert ana.list(status="any").items == ()
