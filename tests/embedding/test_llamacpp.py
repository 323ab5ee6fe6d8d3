"""One round against the real thing: a llama.cpp server with a real, if small, model."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.embedding.detect import detect_llamacpp
from tests.support import llamacpp


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llamacpp.server() as url:
        yield url


@pytest.mark.requirement("embeddings.remote")
def test_a_real_server_is_detected_and_makes_the_vectors(
    address: str, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
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
