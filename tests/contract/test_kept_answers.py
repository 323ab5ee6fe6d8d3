"""Answers kept for requests that may come again: who holds a key, for how long, and whose it is."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ricordo import Memory
from ricordo.errors import UserNotFound
from ricordo.limits import IDEMPOTENCY_HOURS, IDEMPOTENCY_LEASE_SECONDS
from ricordo.storage.idempotency import KeptAnswer, keep, release, reserve
from ricordo.testing import ManualClock

pytestmark = pytest.mark.requirement("http.idempotency")

ANSWER = KeptAnswer("asked", 201, {"etag": "1"}, b"told")
UNDER_WAY = KeptAnswer("asked", None, {}, b"")


def test_a_key_is_taken_answered_and_told_again(memory: Memory, clock: ManualClock) -> None:
    database = memory.database
    assert reserve(database, "ana", "k", "asked") is None
    assert reserve(database, "ana", "k", "asked") == UNDER_WAY
    keep(database, "ana", "k", ANSWER)
    assert reserve(database, "ana", "k", "asked") == ANSWER
    assert reserve(database, "ben", "k", "asked") is None
    assert not [line for line in memory.export_lines() if "kept" in str(line)]
    clock.advance(hours=IDEMPOTENCY_HOURS)
    assert reserve(database, "ana", "k", "asked") == ANSWER
    clock.advance(seconds=1)
    assert reserve(database, "ana", "k", "asked") is None


def test_only_the_request_that_holds_a_key_answers_or_frees_it(
    memory: Memory, clock: ManualClock
) -> None:
    database = memory.database
    assert reserve(database, "ana", "k", "slow") is None
    clock.advance(seconds=IDEMPOTENCY_LEASE_SECONDS + 1)
    assert reserve(database, "ana", "k", "asked") is None
    keep(database, "ana", "k", KeptAnswer("slow", 200, {}, b"of another request"))
    release(database, "ana", "k", "slow")
    assert reserve(database, "ana", "k", "asked") == UNDER_WAY
    keep(database, "ana", "k", ANSWER)
    release(database, "ana", "k", "asked")
    assert reserve(database, "ana", "k", "asked") == ANSWER


def test_a_clock_that_is_set_back_keeps_nobody_out(memory: Memory, clock: ManualClock) -> None:
    database = memory.database
    clock.advance(days=400)
    assert reserve(database, "ana", "under way", "asked") is None
    assert reserve(database, "ana", "answered", "asked") is None
    keep(database, "ana", "answered", ANSWER)
    clock.advance(days=-399)
    assert reserve(database, "ana", "under way", "asked") is None
    assert reserve(database, "ana", "answered", "asked") is None


def test_an_answer_goes_with_its_user_and_none_comes_after(memory: Memory) -> None:
    database = memory.database
    assert reserve(database, "ana", "k", "asked") is None
    keep(database, "ana", "k", ANSWER)
    assert reserve(database, "ana", "late", "asked") is None
    assert memory.erase_user("ana").removed["kept_answers"] == 2
    keep(database, "ana", "late", ANSWER)
    assert memory.users() == ()
    with pytest.raises(UserNotFound):
        memory.erase_user("ana")
    assert reserve(database, "ana", "late", "asked") is None


def test_many_who_take_and_free_the_same_key_at_once(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    """Each either gets it alone or learns that another has it; nobody fails."""
    databases = [open_store(backend_url).database for _ in range(2)]
    holds = threading.Lock()

    def take(number: int) -> int:
        database = databases[number % 2]
        taken = 0
        for _ in range(15):
            if reserve(database, "ana", "k", "asked") is None:
                assert holds.acquire(blocking=False)
                taken += 1
                holds.release()
                release(database, "ana", "k", "asked")
        return taken

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, range(4))) > 0
