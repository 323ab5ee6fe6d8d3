"""A call that is waited for no longer than agreed."""

import threading

import pytest

from ricordo.endpoints.hurry import within


def test_results_and_errors_come_through() -> None:
    assert within(60, lambda _: 7, thread_name="trial") == 7
    with pytest.raises(ZeroDivisionError):
        within(60, lambda _: 1 // 0, thread_name="trial")


def test_whatever_it_is_stuck_in() -> None:
    release = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, lambda _: release.wait(), thread_name="trial")
    release.set()


def test_the_client_has_a_little_less_time() -> None:
    assert 54 < within(60, lambda seconds: seconds, thread_name="trial") < 60


def test_the_thread_says_what_it_is_for() -> None:
    assert within(60, lambda _: threading.current_thread().name, thread_name="trial") == "trial"
