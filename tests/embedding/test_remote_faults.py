"""Endpoints that fail: which error, how many attempts, what wait, when they are left alone."""

import contextlib
import socket
import threading
from collections.abc import Callable

import pytest

from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable
from ricordo.limits import MAX_EMBEDDING_RESPONSE_BYTES, MAX_MODEL_RETRIES
from ricordo.providers.circuit_breaker import CircuitBreaker
from ricordo.providers.remote_embedder import RemoteEmbedder, RemoteTarget
from tests.endpoints.surroundings import SteppingTime
from tests.support.endpoints import EmbeddingServer

Make = Callable[..., RemoteEmbedder]
TEXTS = ["tea", "rain"]


def test_what_may_pass_is_tried_again_within_bounds(
    server: EmbeddingServer, remote: Make, time: SteppingTime
) -> None:
    server.fail_next(2, status=503)
    assert remote().embed(TEXTS).shape == (2, server.width)
    assert (len(server.requests), time.pauses) == (3, [0.5, 1.0])
    server.requests.clear()
    server.fail_next(100, status=503)
    with pytest.raises(EmbedderUnavailable, match="not available: answered 503: scripted failure"):
        remote().embed(TEXTS)
    assert len(server.requests) == 1 + MAX_MODEL_RETRIES
    time.pauses.clear()
    with pytest.raises(EmbedderUnavailable):
        remote().embed(TEXTS, deadline_seconds=2.0)  # no pause goes past it
    assert time.pauses == [0.5, 1.0]


def test_an_asked_for_pause_is_kept_unless_it_is_too_long(
    server: EmbeddingServer, remote: Make, time: SteppingTime
) -> None:
    server.fail_next(status=429, headers={"Retry-After": "7"})
    remote().embed(TEXTS)
    assert time.pauses == [7.0]
    server.fail_next(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(EmbedderUnavailable, match="429"):
        remote().embed(TEXTS)
    assert time.pauses == [7.0]


def test_the_deadline_covers_all_batches(server: EmbeddingServer, time: SteppingTime) -> None:
    def slow_clock() -> float:
        time.now += 0.3
        return time.now

    target = RemoteTarget("openai", "m", server.base_url, max_batch_texts=1, guarded=False)
    timing = type(time.timing)(monotonic=slow_clock, sleep=time.sleep)
    embedder = RemoteEmbedder(
        target, max_width=1024, timing=timing, breaker=CircuitBreaker(monotonic=slow_clock)
    )
    with pytest.raises(EmbedderUnavailable):
        embedder.embed(["text"] * 100, deadline_seconds=5.0)
    embedder.close()
    assert 1 <= len(server.requests) < 20


@pytest.mark.parametrize(
    "beginning", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"]
)
def test_a_byte_now_and_then_does_not_buy_time(beginning: bytes) -> None:
    """No single read takes long, and yet the answer never comes."""
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(beginning)
            while not over.wait(0.01):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripping = threading.Thread(target=drip, args=(listener,))
        dripping.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        target = RemoteTarget("openai", "m", address, guarded=False)
        embedder = RemoteEmbedder(target, max_width=1024)  # with real time
        with pytest.raises(EmbedderUnavailable, match="no answer within"):
            embedder.embed(TEXTS, deadline_seconds=0.3)
        embedder.close()
        over.set()
        dripping.join()


def test_a_connection_that_breaks_in_the_middle(server: EmbeddingServer, remote: Make) -> None:
    server.fault = "broken"
    with pytest.raises(EmbedderUnavailable, match="not available: broke off: "):
        remote().embed(TEXTS)


def test_nobody_listens(time: SteppingTime) -> None:
    with socket.socket() as taken:  # bound but not listening, so nobody else can be there
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        target = RemoteTarget("ollama", "m", address, guarded=False)
        embedder = RemoteEmbedder(target, max_width=1024, timing=time.timing)
        with pytest.raises(EmbedderUnavailable, match="ollama .* cannot be reached"):
            embedder.embed(TEXTS)
        embedder.close()
    assert len(time.pauses) == MAX_MODEL_RETRIES


def test_a_refusal_is_told_and_not_tried_again(server: EmbeddingServer, remote: Make) -> None:
    embedder = remote()
    message = b'{"error": {"message": "no\\n such\\u0000  thing"}}'
    for _ in range(10):  # which does not open the circuit
        server.requests.clear()
        server.fail_next(status=404, body=message)
        with pytest.raises(EmbedderRefused, match="answered 404: no such thing$"):
            embedder.embed(TEXTS)
        assert len(server.requests) == 1
    server.fail_next(status=200, body=b" " * (MAX_EMBEDDING_RESPONSE_BYTES + 1))
    with pytest.raises(BadEmbedding, match="larger than"):
        embedder.embed(TEXTS)
    assert embedder.embed(TEXTS).shape == (2, server.width)


def test_redirects_are_not_followed(server: EmbeddingServer, remote: Make) -> None:
    server.fail_next(status=307, headers={"Location": f"{server.root}/elsewhere"})
    with pytest.raises(EmbedderRefused, match="redirect, which is not followed"):
        remote().embed(TEXTS)
    assert len(server.requests) == 1


def test_a_key_that_cannot_be_sent_is_not_told(server: EmbeddingServer, remote: Make) -> None:
    with pytest.raises(EmbedderRefused, match="cannot be sent") as caught:
        remote(api_key="sk-secret\nX-Evil: 1").embed(TEXTS)
    assert "secret" not in str(caught.value)
    with pytest.raises(EmbedderUnavailable, match="0 s were not enough"):
        remote().embed(TEXTS, deadline_seconds=0)
    assert server.requests == []


def test_a_wrong_key_is_a_refusal_that_does_not_tell_it() -> None:
    with EmbeddingServer(required_key="sk-right") as server:
        target = RemoteTarget("openai", "m", server.base_url, api_key="sk-wrong", guarded=False)
        embedder = RemoteEmbedder(target, max_width=1024)
        server.fail_next(status=401, body=b'{"error": {"message": "bad key sk-wrong"}}')
        for expected in (r"bad key \[key\]", "Incorrect API key"):
            with pytest.raises(EmbedderRefused, match=expected) as caught:
                embedder.embed(TEXTS)
            assert "sk-wrong" not in str(caught.value)
        embedder.close()


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("html", "an HTML page"),
        ("nan", "NaN"),
        ("zeros", "zeros only"),
        ("short", "1 vectors for 2 texts"),
        ("ragged", "vectors of 64 and of 65 numbers"),
    ],
)
def test_answers_of_no_use(server: EmbeddingServer, remote: Make, fault: str, problem: str) -> None:
    server.fault = fault
    with pytest.raises(BadEmbedding, match=problem):
        remote().embed(TEXTS)
    assert len(server.requests) == 1


def test_vectors_of_a_wrong_width(server: EmbeddingServer, remote: Make) -> None:
    with pytest.raises(BadEmbedding, match="64 wide; the database takes at most 32"):
        remote(max_width=32).embed(TEXTS)
    embedder = remote()
    embedder.embed(TEXTS)
    server.answer_width(48)
    with pytest.raises(BadEmbedding, match="48 wide; before they were 64 wide"):
        embedder.embed(TEXTS)
    with pytest.raises(BadEmbedding, match="48 dimensions, not the 16 requested"):
        remote(dimensions=16).embed(TEXTS)


def test_an_endpoint_that_keeps_failing_is_left_alone(
    server: EmbeddingServer, remote: Make, time: SteppingTime
) -> None:
    embedder = remote()
    server.fail_next(100)
    for _ in range(3):
        with pytest.raises(EmbedderUnavailable):
            embedder.embed(TEXTS)
    assert len(server.requests) == 5  # four attempts, one more, and then none
    with pytest.raises(EmbedderUnavailable, match="failed 5 times in a row; tried again in 30 s"):
        embedder.embed(TEXTS)
    server.answer_rightly()
    time.now += 31
    assert embedder.embed(TEXTS).shape == (2, server.width)
