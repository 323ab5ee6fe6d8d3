"""Fixtures: an endpoint on loopback, and time that passes only when somebody sleeps."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ricordo.embedding.deadlines import Timing
from ricordo.embedding.remote import RemoteEmbedder, RemoteTarget
from ricordo.testing.embedding_server import EmbeddingServer


class SteppingTime:
    """A clock that moves by what is slept; ``pauses`` are those sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.pauses: list[float] = []
        self.timing = Timing(
            monotonic=lambda: self.now,
            sleep=self.sleep,
            jitter=lambda: 1.0,
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now - 1_000),
        )

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


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
