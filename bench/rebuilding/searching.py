"""Searching without pause, in threads of this process or, as a program, in another one."""

import itertools
import json
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from bench.rebuilding.judging import Search
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory

USER: Final = "ana"
SETTINGS: Final[dict[str, Any]] = {
    "allow_private_embedding_targets": True,
    "embedding_deadline_seconds": 60.0,  # a busy machine is no reason to search by words alone
    "formation": False,
    "upkeep": False,
    "synchronous": "NORMAL",
}
_STATUSES: Final = ("active", "any", "archived")


class Searcher:
    """A thread that asks one question after the other until it is told to stop."""

    def __init__(self, user: UserMemory, questions: Sequence[str], first: int) -> None:
        self._user = user
        self._turns = itertools.islice(itertools.cycle(questions), first, None)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"searcher-{first}")
        self.searches: list[Search] = []
        self.has_searched = threading.Event()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the search at hand."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        for question, status in zip(self._turns, itertools.cycle(_STATUSES), strict=False):
            if self._stopping.is_set():
                return
            self.searches.append(one_search(self._user, question, status))
            self.has_searched.set()


def one_search(user: UserMemory, question: str, status: str) -> Search:
    """Search, and write down what came of it."""
    began = time.monotonic()
    try:
        found = user.search(question, status=status, explain=True)
    except Exception as error:  # noqa: BLE001 - any error at all is what must never happen
        problem = f"{type(error).__name__}: {error}"
        return Search(began, time.monotonic(), 0.0, question, (), problem)
    ended = time.monotonic()
    hits = tuple((hit.id, (hit.explanation or {})["cosine"]) for hit in found)
    return Search(began, ended, found.timings["search_ms"], question, hits, degraded=found.degraded)


def main() -> None:
    """Search as told by a line of standard input until the next one; then tell all searches.

    Here the vectors are compared inside the database rather than in memory.
    """
    told = json.loads(sys.stdin.readline())
    with open_memory(told["url"], run_jobs=False, index_cache_mb=0, **SETTINGS) as memory:
        searcher = Searcher(memory.user(USER), told["questions"], first=1)
        searcher.start()
        print("searching", flush=True)
        sys.stdin.readline()
        searcher.stop()
    print(json.dumps([asdict(one) for one in searcher.searches]))


def told_searches(line: str) -> list[Search]:
    """What the program has told."""
    return [
        Search(**{**one, "hits": tuple((item_id, cosine) for item_id, cosine in one["hits"])})
        for one in json.loads(line)
    ]


if __name__ == "__main__":
    main()
