"""A llama.cpp server is found when it is one and embeds, and a real one is used; nothing raises."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.providers.embedding_choice import EmbeddingChoice, detect_llamacpp
from tests.support import llamacpp
from tests.support.endpoints import EmbeddingServer


@pytest.mark.smoke
@pytest.mark.requirement("embeddings.remote")
def test_a_real_server_is_detected_and_makes_the_vectors(
    tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    with llamacpp.server() as address:
        assert detect_llamacpp(address, timeout_seconds=20) is not None
        memory = open_store(
            str(tmp_path / "real.db"),
            embedder=None,
            embedding_provider="llamacpp",
            embedding_model="smollm2",
            embedding_base_url=f"{address}/v1",
            embedding_deadline_seconds=30,
        )
        ana = memory.user("ana")
        ana.add("Prefers tea to coffee")
        assert ana.embedding_status().pending == 1
        memory.run_jobs()
        status = ana.embedding_status()
        assert (status.ready, status.pending, status.error) == (1, 0, 0)
        found = ana.search("tea")
    assert found.degraded is None
    assert found[0].signals.semantic is not None


def test_only_what_looks_like_it_and_embeds_is_found(server: EmbeddingServer) -> None:
    def detected(ending: str = "") -> EmbeddingChoice | None:
        return detect_llamacpp(server.root + ending, timeout_seconds=30)

    assert detected() is None
    assert server.embedded == []
    server.looks_like_llamacpp = True
    found = EmbeddingChoice("llamacpp", model="test-model", base_url=server.base_url)
    for ending in ("", "/", "/v1", "/v1/"):
        assert detected(ending) == found
    server.fail_next(status=501)  # not started for embeddings
    assert detected() is None
    server.fault = "html"
    assert detected() is None


def test_a_server_that_hangs(server: EmbeddingServer) -> None:
    server.looks_like_llamacpp = True
    server.hang_until(threading.Event())
    assert detect_llamacpp(server.root) is None


def test_nobody_there_or_no_address_at_all() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert detect_llamacpp(f"http://127.0.0.1:{taken.getsockname()[1]}") is None
    for url in ("", "nonsense", "http://[", "ftp://e.example", "http://\x00", "/"):
        assert detect_llamacpp(url) is None
