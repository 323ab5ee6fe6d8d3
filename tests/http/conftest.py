"""The service on each database; ``keyed`` requires keys."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo.http.app import create_app
from ricordo.memory import Memory
from ricordo.wiring import open_memory
from tests.support.endpoints import FaultyModel
from tests.support.service import Service, running


@pytest.fixture
def service(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """A service that asks for no keys, as on a loopback address."""
    with running(open_store(backend_url, port=0)) as started:
        yield started


@pytest.fixture
def keyed(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """A service that requires keys."""
    with running(open_store(backend_url, port=0, require_keys=True)) as started:
        yield started


@pytest.fixture
def upstreams() -> Iterator[dict[str, str]]:
    """Settings that name models which always answer; they speak both wire formats."""
    with FaultyModel() as openai, FaultyModel() as anthropic:
        openai.answer_with(lambda _request: "Hello.")
        anthropic.answer_with(lambda _request: "Hello.")
        yield {"upstream_url": openai.base_url, "anthropic_url": anthropic.root}


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """What a service says of itself. It takes half a second to make, and is always the same."""
    with open_memory(":memory:", run_jobs=False, upkeep=False, embedding_provider="none") as memory:
        return create_app(memory).openapi()
