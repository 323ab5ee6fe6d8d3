"""Trying an embedder out: numbers when it works, one line when it does not."""

from collections.abc import Callable
from pathlib import Path

from ricordo.embedding import checkup
from ricordo.embedding.checkup import EmbeddingTest
from ricordo.embedding.local import LocalEmbedder
from ricordo.embedding.remote import RemoteEmbedder
from ricordo.testing.embedding_server import EmbeddingServer

Make = Callable[..., RemoteEmbedder]


def test_one_that_works() -> None:
    moments = iter([5.0, 5.004])
    result = checkup.test_embedder(LocalEmbedder(), monotonic=lambda: next(moments))
    assert result.latency_ms is not None
    assert round(result.latency_ms, 3) == 4.0
    assert (result.ok, result.problem) == (True, None)
    assert (result.provider, result.model) == ("local", "ricordo-minilm@e4050eb4")
    assert result.dimensions == 384


def test_one_that_refuses(server: EmbeddingServer, remote: Make) -> None:
    server.fail_next(status=404, body=b'{"error": "no such\\nmodel"}')
    result = checkup.test_embedder(remote())
    problem = f"custom_http ({server.base_url}) answered 404: no such model"
    assert result == EmbeddingTest(False, "custom_http", "test-model", None, None, problem)


def test_one_that_may_not_be_reached(server: EmbeddingServer, remote: Make) -> None:
    result = checkup.test_embedder(remote(guarded=True))
    assert not result.ok
    assert "loopback" in (result.problem or "")


def test_one_whose_files_are_missing(tmp_path: Path) -> None:
    result = checkup.test_embedder(LocalEmbedder(tmp_path / "nowhere"))
    assert (result.ok, result.model) == (False, None)
    assert "there is no folder" in (result.problem or "")
