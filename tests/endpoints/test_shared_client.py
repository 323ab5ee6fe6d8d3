"""A client that calls share: opened late, closed when nobody uses it, never across a fork."""

import os

import pytest

from ricordo.providers.http_client import SharedClient
from tests.endpoints.forking import succeeds_in_child


class Line:
    """A client that knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_it_is_opened_once_and_late() -> None:
    opened: list[Line] = []

    def open_line() -> Line:
        opened.append(Line())
        return opened[-1]

    shared = SharedClient(open_line)
    assert opened == []
    with shared.lent() as one, shared.lent() as other:
        assert one is other
    with shared.lent() as later:
        assert later is one
    assert len(opened) == 1


def test_closing_waits_for_the_last_who_uses_it() -> None:
    shared = SharedClient(Line)
    with shared.lent() as line:
        with shared.lent():
            shared.close()
            assert line.closed == 0
        assert line.closed == 0
    assert line.closed == 1
    with shared.lent() as new:
        assert new is not line
    shared.close()
    assert (line.closed, new.closed) == (1, 1)


def test_closing_what_is_not_open_and_a_call_that_fails() -> None:
    shared = SharedClient(Line)
    shared.close()
    with pytest.raises(ZeroDivisionError), shared.lent() as line:
        raise ZeroDivisionError
    shared.close()
    shared.close()
    assert line.closed == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_neither_uses_nor_closes_it() -> None:
    shared = SharedClient(Line)

    def has_its_own() -> bool:
        shared.close()
        with shared.lent() as childs:
            return childs is not line and line.closed == 0

    with shared.lent() as line:
        assert succeeds_in_child(has_its_own)
    with shared.lent() as again:
        assert again is line
    shared.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_lock_that_is_held_while_forking_does_not_stop_the_child() -> None:
    def fork_while_opening() -> Line:
        assert succeeds_in_child(lambda: shared.close() is None)  # type: ignore[func-returns-value]
        return Line()

    shared = SharedClient(fork_while_opening)
    with shared.lent() as line:
        pass
    shared.close()
    assert line.closed == 1
