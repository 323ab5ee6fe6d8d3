"""Time that is left, and time to wait."""

import math
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.limits import MAX_RETRY_AFTER_SECONDS
from ricordo.providers.timing import (
    Deadline,
    backoff_seconds,
    may_wait,
    retry_after_seconds,
    within,
)
from tests.endpoints.surroundings import SteppingTime

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_pauses_between_requests() -> None:
    """These tests are about the pauses."""


def test_a_deadline_comes_nearer_and_passes() -> None:
    time = SteppingTime()
    deadline = Deadline(10.0, time.timing.monotonic)
    assert (deadline.remaining(), deadline.remaining(at_most=3.0)) == (10.0, 3.0)
    time.sleep(8.0)
    assert (deadline.remaining(), deadline.remaining(at_most=3.0)) == (2.0, 2.0)
    assert not deadline.has_passed
    time.sleep(2.0)
    assert deadline.has_passed
    time.sleep(1.0)
    assert deadline.remaining() == 0.0


def test_without_a_deadline_there_is_always_time() -> None:
    deadline = Deadline(None, SteppingTime().timing.monotonic)
    assert (deadline.remaining(), deadline.remaining(at_most=3.0)) == (math.inf, 3.0)
    assert not deadline.has_passed


def test_pauses_double_up_to_the_cap() -> None:
    pauses = [backoff_seconds(retry, lambda: 1.0) for retry in range(1, 9)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]
    assert backoff_seconds(2, lambda: 0.25) == 0.25


def test_what_retry_after_asks_for() -> None:
    for nothing in (None, "soon", "", "-1"):
        assert retry_after_seconds(nothing, NOW) is None
    for header, seconds in {
        "7": 7.0,
        " 7 ": 7.0,
        "9" * 400: 999_999_999.0,
        "Thu, 01 Jan 2026 00:00:09 GMT": 9.0,
        "Thu, 01 Jan 2026 00:00:09 -0000": 9.0,
        "Wed, 31 Dec 2025 00:00:00 GMT": 0.0,
    }.items():
        assert retry_after_seconds(header, NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_is_more_than_a_number_or_nothing(header: str) -> None:
    seconds = retry_after_seconds(header, NOW)
    assert seconds is None or seconds >= 0


def test_which_pauses_are_waited_for() -> None:
    clock, most = SteppingTime().timing.monotonic, float(MAX_RETRY_AFTER_SECONDS)
    assert may_wait(1.0, Deadline(2.0, clock))
    assert not may_wait(1.0, Deadline(0.5, clock))
    assert may_wait(most, Deadline(None, clock))
    assert not may_wait(most + 1, Deadline(None, clock))


def test_a_call_is_waited_for_no_longer_than_agreed() -> None:
    assert within(60, lambda: threading.current_thread().name, thread_name="trial") == "trial"
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 // 0, thread_name="trial")
    release = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, release.wait, thread_name="trial")
    release.set()
