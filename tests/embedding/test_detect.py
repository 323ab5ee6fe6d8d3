"""A llama.cpp server is found when it is one and embeds; nothing else is, and nothing raises."""

import socket
import threading

import pytest

from ricordo.embedding.choice import EmbeddingChoice
from ricordo.embedding.detect import detect_llamacpp
from ricordo.testing.embedding_server import EmbeddingServer


@pytest.fixture
def llamacpp(server: EmbeddingServer) -> EmbeddingServer:
    server.looks_like_llamacpp = True
    return server


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_found(llamacpp: EmbeddingServer, ending: str) -> None:
    assert detect_llamacpp(llamacpp.root + ending, timeout_seconds=30) == EmbeddingChoice(
        "llamacpp", model="test-model", base_url=llamacpp.base_url
    )


def test_another_kind_of_server(server: EmbeddingServer) -> None:
    assert detect_llamacpp(server.root, timeout_seconds=30) is None
    assert server.embedded == []


def test_a_server_that_was_not_started_for_embeddings(llamacpp: EmbeddingServer) -> None:
    llamacpp.fail_next(status=501)
    assert detect_llamacpp(llamacpp.root, timeout_seconds=30) is None


def test_a_server_that_answers_nonsense(llamacpp: EmbeddingServer) -> None:
    llamacpp.answer_html()
    assert detect_llamacpp(llamacpp.root, timeout_seconds=30) is None


def test_a_server_that_hangs(llamacpp: EmbeddingServer) -> None:
    llamacpp.hang_until(threading.Event())
    assert detect_llamacpp(llamacpp.root) is None


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert detect_llamacpp(f"http://127.0.0.1:{taken.getsockname()[1]}") is None


@pytest.mark.parametrize("url", ["", "nonsense", "http://[", "ftp://e.example", "http://\x00", "/"])
def test_no_address_at_all(url: str) -> None:
    assert detect_llamacpp(url) is None
