"""Endpoints that answer as they should: what is sent, and what is made of the answer."""

from collections.abc import Callable

import httpx2
import numpy
import pytest

from ricordo.providers.remote_embedder import RemoteEmbedder, RemoteTarget
from tests.support.endpoints import EmbeddingServer, hashed_vector

Make = Callable[..., RemoteEmbedder]


@pytest.mark.requirement("embeddings.remote")
def test_vectors_in_the_order_of_the_texts(server: EmbeddingServer, remote: Make) -> None:
    texts = [f"text {number}" for number in range(70)]
    expected = [server.vector(text) for text in texts]
    rows = remote().embed(texts)
    assert rows.dtype == numpy.float32
    numpy.testing.assert_allclose(rows, expected, atol=1e-6)
    server.fault = "reversed"  # the index decides, not the place
    numpy.testing.assert_allclose(remote().embed(texts), expected, atol=1e-6)


@pytest.mark.requirement("embeddings.remote")
def test_the_wire_format(server: EmbeddingServer, remote: Make) -> None:
    remote(api_key="sk-1", dimensions=16).embed(["tea"])
    remote().embed(["tea"])
    full, plain = server.requests
    assert (full.method, full.path) == ("POST", "/v1/embeddings")
    assert full.body == {
        "model": "test-model",
        "input": ["tea"],
        "encoding_format": "float",
        "dimensions": 16,
    }
    assert full.headers["Authorization"] == "Bearer sk-1"
    assert full.headers["Content-Type"] == "application/json"
    assert full.headers["Host"] == f"127.0.0.1:{server.port}"
    assert "Authorization" not in plain.headers
    assert "dimensions" not in plain.body


def test_what_it_says_of_itself(server: EmbeddingServer, remote: Make) -> None:
    plain, short, known = remote(), remote(dimensions=16), remote(known_width=7)
    assert (plain.provider, plain.model, plain.is_local) == ("custom_http", "test-model", False)
    assert (plain.width, plain.embed([]).shape) == (None, (0, 0))
    assert (known.width, known.embed([]).shape) == (7, (0, 7))
    assert (short.model, short.width) == ("test-model@16", 16)
    assert server.requests == []
    plain.embed(["tea"])
    assert plain.width == server.width
    target = RemoteTarget("openai", "m", "http://127.0.0.1", api_key="sk-very-secret")
    assert "secret" not in repr(remote(api_key="sk-very-secret")) + repr(target)


def test_batches_by_count_and_by_characters(server: EmbeddingServer, remote: Make) -> None:
    remote(max_batch_texts=4).embed([f"text {number}" for number in range(10)])
    assert [len(texts) for texts in server.embedded] == [4, 4, 2]
    server.requests.clear()
    remote(max_batch_texts=100, max_text_chars=20_000).embed(["x" * 20_000] * 3)
    assert [len(texts) for texts in server.embedded] == [2, 1]


def test_texts_are_made_fit_to_send(server: EmbeddingServer, remote: Make) -> None:
    remote(max_text_chars=5).embed(["0123456789", " ", "", "a\x00b", "a\ud800b"])
    assert server.embedded == [["01234", ".", ".", "a b", "a?b"]]


def test_the_endpoint_for_tests_gives_vectors_that_mean_something(server: EmbeddingServer) -> None:
    said, same, other = (
        numpy.array(hashed_vector(text, 256))
        for text in ("Ana likes green tea", "green tea is what Ana likes", "the train was late")
    )
    assert said @ said == pytest.approx(1.0)
    assert said @ same > 0.7 > 0.4 > said @ other
    single = httpx2.post(f"{server.base_url}/embeddings", json={"input": "tea"}).json()
    assert [entry["embedding"] for entry in single["data"]] == [server.vector("tea")]
    assert httpx2.get(f"{server.base_url}/models").json()["data"][0]["id"] == "test-model"
    assert httpx2.get(f"{server.root}/elsewhere").status_code == 404
    assert httpx2.post(f"{server.root}/elsewhere", json={}).status_code == 404
