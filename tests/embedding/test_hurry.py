"""A call that is waited for no longer than agreed."""

import threading

import pytest

from ricordo.embedding.hurry import within


def test_results_and_errors_come_through() -> None:
    assert within(60, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 // 0)


def test_whatever_it_is_stuck_in() -> None:
    release = threading.Event()
    with pytest.raises(TimeoutError):
        within(0.01, release.wait)
    release.set()
