"""The circuit breaker: when it opens, who may try, and when it closes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.providers.endpoint import Unavailable
from tests.endpoints.surroundings import SteppingTime


@pytest.fixture
def time() -> SteppingTime:
    return SteppingTime()


@pytest.fixture
def breaker(time: SteppingTime) -> CircuitBreaker:
    return CircuitBreaker(failures=3, open_seconds=30, monotonic=time.timing.monotonic)


def fail(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Unavailable, match="down"), breaker.attempt("here"):
            raise Unavailable("here", "down")


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.attempt("here"):
        pass


def test_opens_after_failures_in_a_row(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    succeed(breaker)  # which starts the count again
    fail(breaker, 2)
    assert not breaker.is_open
    fail(breaker)
    assert breaker.is_open
    with (
        pytest.raises(Unavailable, match=r"failed 3 times in a row; .*\(last problem: down\)"),
        breaker.attempt("here"),
    ):
        pytest.fail("nothing may go through")


def test_one_may_try_when_the_time_is_over(breaker: CircuitBreaker, time: SteppingTime) -> None:
    fail(breaker, 3)
    time.now += 29.9
    assert breaker.is_open
    time.now += 0.2
    fail(breaker)
    assert breaker.is_open
    time.now += 30.1
    with pytest.raises(KeyboardInterrupt), breaker.attempt("here"):
        raise KeyboardInterrupt  # does not block it for good
    time.now += 30.1
    with breaker.attempt("here"):
        assert breaker.is_open  # for everybody else
        with pytest.raises(Unavailable, match="another call"), breaker.attempt("here"):
            pytest.fail("only one may try")
    assert not breaker.is_open
    fail(breaker, 2)
    assert not breaker.is_open


def test_attempts_that_began_before_do_not_keep_it_open(
    breaker: CircuitBreaker, time: SteppingTime
) -> None:
    with pytest.raises(Unavailable, match="late"), breaker.attempt("here"):
        fail(breaker, 3)
        time.now += 20
        raise Unavailable("here", "late")
    time.now += 11
    assert not breaker.is_open


def test_of_many_threads_one_may_try(breaker: CircuitBreaker, time: SteppingTime) -> None:
    fail(breaker, 3)
    time.now += 31
    together = threading.Barrier(16)
    finished = threading.Barrier(16)

    def attempt(_: int) -> bool:
        together.wait()
        try:
            with breaker.attempt("here"):
                finished.wait()
        except Unavailable:
            finished.wait()
            return False
        return True

    with ThreadPoolExecutor(max_workers=16) as threads:
        assert sum(threads.map(attempt, range(16))) == 1
