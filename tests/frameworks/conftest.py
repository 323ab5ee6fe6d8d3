"""A store for the tests of a framework; nothing else of our tests is in its environment."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ricordo
from ricordo import InvalidValue
from ricordo.testing import WordEmbedder


@pytest.fixture
def memory() -> Iterator[ricordo.Memory]:
    with ricordo.open(":memory:", embedder=WordEmbedder(), run_jobs=False, upkeep=False) as opened:
        opened.user("ana").add("Ana likes green tea", theme="drinks")
        yield opened


@pytest.fixture
def said() -> Callable[[ricordo.UserMemory, str], list[tuple[str, str]]]:
    """What is recorded of a conversation."""
    return lambda user, thread: [(turn.role, turn.content) for turn in user.turns(thread)]


@pytest.fixture
def refused() -> Callable[..., None]:
    """Whether an adapter refuses some objects with the sentence that all have."""

    def check(adapter: Callable[[Any], object], wanted: str, *given: Any) -> None:
        for one in given:
            with pytest.raises(InvalidValue, match=wanted) as error:
                adapter(one)
            assert str(error.value).endswith(f"got an object of type {type(one).__name__}")

    return check
