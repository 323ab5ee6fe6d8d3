"""A conversation of hundreds of turns through restarts, lost workers and a model that fails."""

import multiprocessing
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import Memory, Window
from ricordo.limits import MAX_BRIDGE_CHARS
from ricordo.model.checks import format_moment
from ricordo.storage.tables import compactions
from ricordo.testing import ManualClock
from ricordo.wiring import open_memory
from tests.support.processes import die_at

pytestmark = pytest.mark.requirement("conversations.nothing-lost")

THREAD = "long"
BUDGET = 4_000
OpenStore = Callable[..., Memory]


def stretches(memory: Memory) -> list[tuple[int, int]]:
    """First and last turn of each compaction, in order."""
    wanted = (
        sa.select(compactions.c.first_position, compactions.c.last_position)
        .where(compactions.c.user_id == "ana", compactions.c.thread_id == THREAD)
        .order_by(compactions.c.last_position)
    )
    with memory.database.read_all() as view:
        return [(first, last) for first, last in view.connection.execute(wanted)]


def check_covered_once(memory: Memory, count: int) -> None:
    """Each turn is told by one compaction, or comes after all of them."""
    reached = 0
    for first, last in stretches(memory):
        assert first == reached + 1
        assert last >= first
        reached = last
    assert reached <= max(count - 5, 0)


def check_window(window: Window, count: int, most: int) -> None:
    """What is shown follows on what is told, up to the very last turn."""
    positions = [turn.position for turn in window.turns]
    assert positions == list(range(window.compacted_to + 1, count + 1))
    assert len(positions) <= most
    assert (window.bridge is not None) == (window.compacted_to > 0)
    assert len(window.bridge or "") <= MAX_BRIDGE_CHARS


class Life:
    """One conversation in a store that is closed, opened and let down in between."""

    def __init__(self, open_one: Callable[[], Memory], clock: ManualClock, seed: int) -> None:
        self.open_one = open_one
        self.clock = clock
        self.chance = random.Random(seed)
        self.memory = open_one()
        self.count = 0

    def say(self) -> None:
        said = []
        for _ in range(self.chance.randint(1, 4)):
            self.count += 1
            self.clock.advance(minutes=1)
            role = "user" if self.count % 2 else "assistant"
            content = f"Bed number {self.count} gets {self.chance.randint(1, 99)} tulips."
            said.append({"role": role, "content": content, "at": format_moment(self.clock())})
        self.memory.user("ana").observe(said, thread=THREAD)

    def restart(self) -> None:
        self.memory.close()
        self.memory = self.open_one()
        window = self.memory.user("ana").resume(THREAD)
        check_window(window, self.count, 5)

    def lose_a_worker(self) -> None:
        """A worker takes what is due and is never heard of again."""
        queue = self.memory.runner.queue
        while queue.claim(self.memory.runner.kinds) is not None:
            pass
        self.clock.advance(hours=1)  # its lease runs out

    def step(self) -> None:
        work = self.chance.random()
        if work < 0.35:
            self.memory.run_jobs()
        elif work < 0.40:
            self.memory.user("ana").compact(THREAD)
        elif work < 0.43:
            self.restart()
        elif work < 0.46:
            self.lose_a_worker()
        self.say()
        me = self.memory.user("ana")
        check_covered_once(self.memory, self.count)
        check_window(me.window(THREAD), self.count, 20)


@pytest.fixture
def live(backend_url: str, open_store: OpenStore, clock: ManualClock) -> Callable[..., Life]:
    def begin(seed: int, **settings: Any) -> Life:
        return Life(lambda: open_store(backend_url, **settings), clock, seed)

    return begin


@pytest.mark.requirement("conversations.window")
@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (1, 40),
        pytest.param(1, 300, marks=pytest.mark.slow),
        pytest.param(2, 300, marks=pytest.mark.slow),
    ],
)
def test_every_turn_is_told_once_or_shown_whatever_happens(
    live: Callable[..., Life], seed: int, count: int
) -> None:
    life = live(seed, formation=False)
    while life.count < count:
        life.step()
    me = life.memory.user("ana")
    assert len(stretches(life.memory)) >= count // 40
    everything = me.turns(THREAD, limit=500).items
    assert [turn.position for turn in everything] == list(range(1, life.count + 1))
    hits = me.search_turns("bed number 7 gets tulips", limit=5)
    assert any(hit.content_snippet.startswith("Bed number 7 ") for hit in hits)


@pytest.mark.slow
@pytest.mark.requirement("conversations.flat-tokens")
def test_the_tokens_of_a_request_do_not_grow(live: Callable[..., Life]) -> None:
    life = live(4, formation=False)
    me = life.memory.user("ana")
    spent: list[int] = []
    while life.count < 400:
        life.say()
        life.memory.run_jobs()
        context = me.context(
            "And the next bed?", thread=THREAD, modes=["recall"], budget_tokens=BUDGET
        )
        assert context.tokens.total <= BUDGET
        spent.append(context.tokens.total)
    later = spent[len(spent) // 4 :]
    half = len(later) // 2
    assert max(later[half:]) <= max(later[:half]) * 1.1
    assert max(later) < BUDGET  # not because the budget cut it off


@pytest.fixture
def long_store(sqlite_url: str) -> Iterator[str]:
    with open_memory(sqlite_url, run_jobs=False, embedding_provider="none") as memory:
        said = [{"role": "user", "content": f"Bed number {n} gets tulips."} for n in range(1, 51)]
        memory.user("ana").observe(said, thread=THREAD)
    yield sqlite_url


def _compact(url: str, at_command: int) -> None:
    with open_memory(url, run_jobs=False, embedding_provider="none") as memory:
        die_at(at_command)
        memory.user("ana").compact(THREAD)


@pytest.mark.chaos
def test_a_kill_at_any_command_of_a_compaction_leaves_all_or_nothing_of_a_stretch(
    long_store: str,
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.processes", "ricordo.wiring"])
    kills = 0
    for at_command in range(1, 200, 3):
        process = context.Process(target=_compact, args=(long_store, at_command))
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        with open_memory(long_store, run_jobs=False, embedding_provider="none") as memory:
            check_covered_once(memory, 50)
            check_window(memory.user("ana").window(THREAD), 50, 20)
            done = stretches(memory)
        if process.exitcode == 0:
            break
        kills += 1
    assert kills > 1
    assert done == [(1, 15), (16, 30), (31, 45)]
