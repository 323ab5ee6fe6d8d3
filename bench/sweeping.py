"""The sweeps of upkeep over one user's memories, one after the other in a thread of their own."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import sqlalchemy as sa

from ricordo.jobs.handlers import run_lifecycle
from ricordo.memory import Memory
from ricordo.model.vocabulary import VectorState
from ricordo.storage.tables import item_index
from ricordo.testing import ManualClock

_NEW_A_DAY: Final = 40  # of them every other one is a rewording of the one before
_SPOILT_A_DAY: Final = 200


class Sweeps:
    """Day after day: a user says something new, and everything is looked after."""

    def __init__(self, memory: Memory, clock: ManualClock, user: str) -> None:
        self._memory = memory
        self._clock = clock
        self._user = user
        self._random = random.Random("sweeps")
        self._stopping = threading.Event()
        self.days = 0
        self.first_day_over = threading.Event()
        self.seconds: dict[str, list[float]] = {}
        self.problem: BaseException | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Sweep until the end of the block; the sweep at hand is finished.

        Raises:
            RuntimeError: a sweep failed.
        """
        thread = threading.Thread(target=self._run, name="sweeps")
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()
        if self.problem is not None:
            raise RuntimeError("a sweep failed") from self.problem

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.day()
        except BaseException as problem:  # noqa: BLE001 - raised again in the other thread
            self.problem = problem
        finally:
            self.first_day_over.set()

    def day(self) -> None:
        """One day: first what makes work, then every sweep."""
        self._clock.advance(days=1)
        self._say_something()
        self._spoil_vectors()
        for name, sweep in self._sweeps().items():
            if self._stopping.is_set() and self.first_day_over.is_set():
                return
            started = time.perf_counter()
            sweep()
            self.seconds.setdefault(name, []).append(time.perf_counter() - started)
        self.days += 1
        self.first_day_over.set()

    def _sweeps(self) -> Mapping[str, Callable[[], object]]:
        memory, user = self._memory, self._user
        upkeep = memory.parts.upkeep
        return {
            "expiring and purging": lambda: run_lifecycle(memory.database, user, _nothing),
            "daily round": lambda: upkeep.run_round(user),
            "consolidation": lambda: upkeep.consolidate(user, _nothing),
            "relations": lambda: upkeep.relate(user, _nothing),
            "vectors": lambda: memory.recall.filling.fill(user),
        }

    def _say_something(self) -> None:
        """New statements, and each once more with a word that says nothing."""
        made = []
        for number in range(_NEW_A_DAY // 2):
            words = [f"w{self._random.randrange(10**9)}" for _ in range(15)]
            made += [" ".join(words), " ".join([*words, f"also{number}"])]
        self._memory.user(self._user).add_many(made)

    def _spoil_vectors(self) -> None:
        """Let some vectors have failed, so that they are asked for again."""
        with self._memory.database.write(self._user) as writing:
            own = item_index.c.user_id == self._user
            newest = sa.select(sa.func.max(item_index.c.id)).where(own)
            last = writing.connection.execute(newest).scalar_one()
            first = self._random.randrange(max(1, last - _SPOILT_A_DAY))
            some = sa.and_(own, item_index.c.id.between(first, first + _SPOILT_A_DAY - 1))
            failed = {"state": VectorState.ERROR.value, "vector": None, "error": "spoilt"}
            writing.connection.execute(sa.update(item_index).where(some).values(**failed))


def _nothing(_progress: str) -> None:
    pass
