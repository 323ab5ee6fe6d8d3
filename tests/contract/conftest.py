"""Fixtures of the tests about searching."""

from collections.abc import Callable

import pytest

from ricordo import Memory
from tests.support.searching import ENGINES, Searching


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
