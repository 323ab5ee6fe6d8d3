"""The endpoint for tests is itself tested: vectors that mean something, requests on record."""

import math

import httpx2
import pytest

from ricordo.testing.embedding_server import EmbeddingServer, hashed_vector


def cosine(one: str, other: str) -> float:
    pairs = zip(hashed_vector(one, 256), hashed_vector(other, 256), strict=True)
    return sum(a * b for a, b in pairs)


def test_vectors_have_length_one_and_do_not_change() -> None:
    assert math.isclose(cosine("tea", "tea"), 1.0)
    assert hashed_vector("tea", 3) == hashed_vector("tea", 3)
    assert math.isclose(cosine("", ""), 1.0)


def test_texts_that_share_words_are_near() -> None:
    near = cosine("Ana likes green tea", "green tea is what Ana likes")
    far = cosine("Ana likes green tea", "the train was late")
    assert near > 0.7 > 0.4 > far
    assert cosine("bicycle", "bicycles") > 0.6


def test_models_and_unknown_pages(server: EmbeddingServer) -> None:
    listed = httpx2.get(f"{server.base_url}/models").json()
    assert [entry["id"] for entry in listed["data"]] == ["test-model"]
    assert httpx2.get(f"{server.root}/elsewhere").status_code == 404
    assert httpx2.post(f"{server.root}/elsewhere", json={}).status_code == 404
    assert [request.path for request in server.requests] == [
        "/v1/models",
        "/elsewhere",
        "/elsewhere",
    ]


def test_a_single_text_need_not_be_in_a_list(server: EmbeddingServer) -> None:
    answer = httpx2.post(f"{server.base_url}/embeddings", json={"input": "tea"}).json()
    assert [entry["embedding"] for entry in answer["data"]] == [server.vector("tea")]


def test_it_has_no_address_before_it_is_started() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = EmbeddingServer().base_url
