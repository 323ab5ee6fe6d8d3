"""Telling somebody how far a long operation has come."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do."""


def no_progress(done: int, total: int) -> None:
    """Nobody is watching."""
