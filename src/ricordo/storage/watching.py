"""Who is told how long the steps of a request take: nobody, unless a service asks to be."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import Final


class Step(StrEnum):
    """What is worth timing by itself."""

    SEARCH = "search"
    SEARCH_TURNS = "search_turns"
    QUERY = "query"
    CONTEXT = "context"
    EMBEDDING = "embedding"


Watch = Callable[[Step], AbstractContextManager[object]]
"""Gives what a step is done inside of. It must not raise by itself."""

_NOBODY: Final = nullcontext()


def unwatched(step: Step) -> AbstractContextManager[object]:  # noqa: ARG001 - nobody is told
    """For a store that nobody watches."""
    return _NOBODY
