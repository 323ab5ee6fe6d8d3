"""Users of a store, for adapters of other packages."""

from collections.abc import Callable

import pytest

from ricordo import Memory, UserMemory


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture
def tea(sqlite_url: str, open_store: Callable[..., Memory]) -> Memory:
    """A store in which ana likes tea, and ben has nothing."""
    memory = open_store(sqlite_url)
    memory.user("ana").add("Ana likes green tea", theme="drinks")
    return memory
