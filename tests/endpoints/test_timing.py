"""Time that is left, and time to wait."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.endpoints.timing import Deadline, backoff_seconds, may_wait, retry_after_seconds
from ricordo.limits import MAX_RETRY_AFTER_SECONDS
from tests.endpoints.surroundings import SteppingTime

NOW = datetime(2026, 1, 1, tzinfo=UTC)


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
    pauses = [backoff_seconds(retry, lambda: 1.0, base=0.5, cap=3.0) for retry in range(1, 6)]
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff_seconds(2, lambda: 0.25, base=0.5, cap=3.0) == 0.25


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("soon", None),
        ("", None),
        ("-1", None),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("9" * 400, 999_999_999.0),
        ("Thu, 01 Jan 2026 00:00:09 GMT", 9.0),
        ("Thu, 01 Jan 2026 00:00:09 -0000", 9.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
    ],
)
def test_what_retry_after_asks_for(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_is_more_than_a_number_or_nothing(header: str) -> None:
    seconds = retry_after_seconds(header, NOW)
    assert seconds is None or seconds >= 0


@pytest.mark.parametrize(
    ("pause", "left", "expected"),
    [
        (1.0, None, True),
        (1.0, 2.0, True),
        (1.0, 0.5, False),
        (MAX_RETRY_AFTER_SECONDS, None, True),
        (MAX_RETRY_AFTER_SECONDS + 1, None, False),
    ],
)
def test_which_pauses_are_waited_for(pause: float, left: float | None, expected: bool) -> None:
    assert may_wait(pause, Deadline(left, SteppingTime().timing.monotonic)) is expected
