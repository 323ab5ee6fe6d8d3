"""The circuit breaker: when it opens, when it lets one through, when it closes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ricordo.embedding.breaker import CircuitBreaker
from ricordo.errors import BadEmbedding, EmbedderUnavailable, TargetRefused
from tests.endpoints.surroundings import SteppingTime


@pytest.fixture
def breaker(time: SteppingTime) -> CircuitBreaker:
    return CircuitBreaker(failures=3, open_seconds=30, monotonic=time.timing.monotonic)


def fail(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(EmbedderUnavailable, match="down"), breaker.attempt():
            raise EmbedderUnavailable("down")


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.attempt():
        pass


def test_opens_after_failures_in_a_row(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    assert not breaker.is_open
    fail(breaker)
    assert breaker.is_open
    with pytest.raises(EmbedderUnavailable, match="failed 3 times in a row"), breaker.attempt():
        pytest.fail("nothing may go through")


def test_a_success_starts_the_count_again(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    succeed(breaker)
    fail(breaker, 2)
    assert not breaker.is_open


def test_one_may_try_when_the_time_is_over(breaker: CircuitBreaker, time: SteppingTime) -> None:
    fail(breaker, 3)
    time.now += 29.9
    assert breaker.is_open
    time.now += 0.2
    with breaker.attempt():
        assert breaker.is_open  # for everybody else
        with pytest.raises(EmbedderUnavailable, match="another call"), breaker.attempt():
            pytest.fail("only one may try")
    assert not breaker.is_open
    fail(breaker, 2)
    assert not breaker.is_open


def test_a_failed_try_opens_it_again(breaker: CircuitBreaker, time: SteppingTime) -> None:
    fail(breaker, 3)
    time.now += 31
    fail(breaker)
    assert breaker.is_open
    time.now += 31
    succeed(breaker)
    assert not breaker.is_open


def test_a_try_that_is_interrupted_does_not_block_it_for_good(
    breaker: CircuitBreaker, time: SteppingTime
) -> None:
    fail(breaker, 3)
    time.now += 31
    with pytest.raises(KeyboardInterrupt), breaker.attempt():
        raise KeyboardInterrupt
    time.now += 31
    succeed(breaker)
    assert not breaker.is_open


@pytest.mark.parametrize("answer", [BadEmbedding("NaN"), TargetRefused("private")])
def test_an_answer_of_no_use_is_an_answer(breaker: CircuitBreaker, answer: Exception) -> None:
    for _ in range(10):
        with pytest.raises(type(answer)), breaker.attempt():
            raise answer
    assert not breaker.is_open


def test_attempts_that_began_before_do_not_keep_it_open(
    breaker: CircuitBreaker, time: SteppingTime
) -> None:
    with pytest.raises(EmbedderUnavailable, match="late"), breaker.attempt():
        fail(breaker, 3)
        time.now += 20
        raise EmbedderUnavailable("late")
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
            with breaker.attempt():
                finished.wait()
        except EmbedderUnavailable:
            finished.wait()
            return False
        return True

    with ThreadPoolExecutor(max_workers=16) as threads:
        assert sum(threads.map(attempt, range(16))) == 1
