"""Fixtures: an endpoint on loopback, and time that passes only when somebody sleeps."""

from collections.abc import Callable, Iterator

import pytest

from ricordo.providers.remote_embedder import RemoteEmbedder, RemoteTarget
from tests.endpoints.surroundings import SteppingTime, forget_proxies
from tests.support.endpoints import EmbeddingServer


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_proxies(monkeypatch)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def time() -> SteppingTime:
    return SteppingTime()


@pytest.fixture
def remote(server: EmbeddingServer, time: SteppingTime) -> Iterator[Callable[..., RemoteEmbedder]]:
    """Makes embedders of the endpoint, closed at the end."""
    made: list[RemoteEmbedder] = []

    def make(*, max_width: int = 1024, **target: object) -> RemoteEmbedder:
        values = {
            "provider": "custom_http",
            "model": server.model,
            "base_url": server.base_url,
            "guarded": False,
            **target,
        }
        made.append(
            RemoteEmbedder(
                RemoteTarget(**values),  # type: ignore[arg-type]
                max_width=max_width,
                timing=time.timing,
            )
        )
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


@pytest.fixture(autouse=True)
def no_pauses_between_requests() -> None:
    """These tests are about the pauses, on a clock that they move themselves."""
