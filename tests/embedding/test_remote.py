"""Endpoints that answer as they should: what is sent, and what is made of the answer."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

from ricordo.embedding.remote import RemoteEmbedder, RemoteTarget
from ricordo.testing.embedding_server import EmbeddingServer
from tests.endpoints.forking import succeeds_in_child

Make = Callable[..., RemoteEmbedder]


@pytest.mark.requirement("embeddings.remote")
def test_vectors_in_the_order_of_the_texts(server: EmbeddingServer, remote: Make) -> None:
    texts = [f"text {number}" for number in range(70)]
    rows = remote().embed(texts)
    assert rows.dtype == numpy.float32
    numpy.testing.assert_allclose(rows, [server.vector(text) for text in texts], atol=1e-6)


@pytest.mark.requirement("embeddings.remote")
def test_the_index_decides_not_the_place(server: EmbeddingServer, remote: Make) -> None:
    server.answer_reversed()
    rows = remote().embed(["tea", "rain", "coast"])
    numpy.testing.assert_allclose(rows[0], server.vector("tea"), atol=1e-6)


@pytest.mark.requirement("embeddings.remote")
def test_the_wire_format(server: EmbeddingServer, remote: Make) -> None:
    remote(api_key="sk-1", dimensions=16).embed(["tea"])
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.body == {
        "model": "test-model",
        "input": ["tea"],
        "encoding_format": "float",
        "dimensions": 16,
    }
    assert request.headers["Authorization"] == "Bearer sk-1"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Host"] == f"127.0.0.1:{server.port}"


@pytest.mark.requirement("embeddings.remote")
def test_nothing_is_sent_that_was_not_set(server: EmbeddingServer, remote: Make) -> None:
    remote().embed(["tea"])
    (request,) = server.requests
    assert "Authorization" not in request.headers
    assert "dimensions" not in request.body


def test_no_texts_no_request(server: EmbeddingServer, remote: Make) -> None:
    assert remote().embed([]).shape == (0, 0)
    assert remote(known_width=64).embed([]).shape == (0, 64)
    assert server.requests == []


def test_batches_by_count_and_by_characters(server: EmbeddingServer, remote: Make) -> None:
    remote(max_batch_texts=4).embed([f"text {number}" for number in range(10)])
    assert [len(texts) for texts in server.embedded] == [4, 4, 2]
    server.requests.clear()
    remote(max_batch_texts=100, max_text_chars=20_000).embed(["x" * 20_000] * 5)
    assert [len(texts) for texts in server.embedded] == [2, 2, 1]


def test_texts_are_made_fit_to_send(server: EmbeddingServer, remote: Make) -> None:
    remote(max_text_chars=5).embed(["0123456789", " ", "", "a\x00b", "a\ud800b"])
    assert server.embedded == [["01234", ".", ".", "a b", "a?b"]]


def test_what_it_says_of_itself(server: EmbeddingServer, remote: Make) -> None:
    plain, short = remote(), remote(dimensions=16)
    assert (plain.provider, plain.model, plain.is_local) == ("custom_http", "test-model", False)
    assert plain.width is None
    plain.embed(["tea"])
    assert plain.width == server.width
    assert (short.model, short.width) == ("test-model@16", 16)
    assert remote(known_width=7).width == 7


def test_the_key_is_in_no_representation(remote: Make) -> None:
    embedder = remote(api_key="sk-very-secret")
    target = RemoteTarget("openai", "m", "http://127.0.0.1", api_key="sk-very-secret")
    assert "secret" not in repr(embedder) + repr(target)


def test_many_threads_share_connections(server: EmbeddingServer, remote: Make) -> None:
    embedder = remote()
    texts = [f"text {number}" for number in range(60)]
    with ThreadPoolExecutor(max_workers=20) as threads:
        rows = list(threads.map(lambda text: embedder.embed([text])[0], texts))
    numpy.testing.assert_allclose(rows, [server.vector(text) for text in texts], atol=1e-6)


def test_closing_does_not_hurt_who_is_still_waiting(server: EmbeddingServer, remote: Make) -> None:
    embedder, gate = remote(), threading.Event()
    server.hang_until(gate)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(embedder.embed, ["tea"])
        server.wait_for_requests(1)
        embedder.close()
        gate.set()
        assert waiting.result().shape == (1, server.width)
    assert embedder.embed(["tea"]).shape == (1, server.width)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_connections_of_its_own(server: EmbeddingServer, remote: Make) -> None:
    embedder = remote()
    embedder.embed(["tea"])
    assert succeeds_in_child(lambda: embedder.embed(["tea"]).shape == (1, server.width))
    assert embedder.embed(["rain"]).shape == (1, server.width)
