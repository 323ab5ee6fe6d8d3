"""Fixtures: a user, stores to search in, and what to do where no database has a part."""

from collections.abc import Callable

import pytest

from ricordo import Memory, UserMemory
from tests.support.searching import ENGINES, Searching

on_sqlite = pytest.mark.parametrize("backend_url", ["sqlite"], indirect=True)
"""For what is decided before any database is asked: one of them is enough."""


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.fixture(params=ENGINES)
def searching(
    request: pytest.FixtureRequest, backend_url: str, open_store: Callable[..., Memory]
) -> Searching:
    """A store that can be opened with the settings that a test needs."""
    return Searching(backend_url, request.param, open_store)


@pytest.fixture
def searching_store(searching: Searching) -> Memory:
    """An open store, once for each database and engine."""
    return searching.open()
