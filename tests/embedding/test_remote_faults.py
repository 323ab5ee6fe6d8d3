"""Endpoints that fail: which error, how many attempts, how long a wait, and no secret told."""

import contextlib
import socket
import threading
from collections.abc import Callable

import pytest

from ricordo.embedding.breaker import CircuitBreaker
from ricordo.embedding.remote import RemoteEmbedder, RemoteTarget
from ricordo.errors import BadEmbedding, EmbedderRefused, EmbedderUnavailable
from ricordo.limits import MAX_EMBEDDING_ATTEMPTS, MAX_EMBEDDING_RESPONSE_BYTES
from ricordo.testing.embedding_server import EmbeddingServer
from tests.endpoints.surroundings import SteppingTime

Make = Callable[..., RemoteEmbedder]
TEXTS = ["tea", "rain"]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(
    server: EmbeddingServer, remote: Make, time: SteppingTime, status: int
) -> None:
    server.fail_next(2, status=status)
    assert remote().embed(TEXTS).shape == (2, server.width)
    assert (len(server.requests), time.pauses) == (3, [0.5, 1.0])


def test_attempts_are_bounded(server: EmbeddingServer, remote: Make) -> None:
    server.fail_next(100, status=503)
    with pytest.raises(EmbedderUnavailable, match="not available: answered 503: scripted failure"):
        remote().embed(TEXTS)
    assert len(server.requests) == MAX_EMBEDDING_ATTEMPTS


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 2026 00:00:09 GMT", 9.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.5),
        ("soon", 0.5),
    ],
)
def test_an_asked_for_pause_is_kept(
    server: EmbeddingServer, remote: Make, time: SteppingTime, header: str, pause: float
) -> None:
    server.fail_next(status=429, headers={"Retry-After": header})
    remote().embed(TEXTS)
    assert time.pauses == [pause]


def test_too_long_a_pause_is_not_waited_for(
    server: EmbeddingServer, remote: Make, time: SteppingTime
) -> None:
    server.fail_next(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(EmbedderUnavailable, match="429"):
        remote().embed(TEXTS)
    assert time.pauses == []


def test_no_pause_goes_past_the_deadline(
    server: EmbeddingServer, remote: Make, time: SteppingTime
) -> None:
    server.fail_next(100)
    with pytest.raises(EmbedderUnavailable):
        remote().embed(TEXTS, deadline_seconds=2.0)
    assert time.pauses == [0.5, 1.0]


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


def test_a_deadline_that_is_over_asks_nobody(server: EmbeddingServer, remote: Make) -> None:
    with pytest.raises(EmbedderUnavailable, match="0 s were not enough"):
        remote().embed(TEXTS, deadline_seconds=0)
    assert server.requests == []


def test_a_hanging_endpoint_costs_no_more_than_the_deadline(server: EmbeddingServer) -> None:
    server.hang_until(threading.Event())
    target = RemoteTarget("openai", "m", server.base_url, guarded=False)
    embedder = RemoteEmbedder(target, max_width=1024)  # with real time
    with pytest.raises(EmbedderUnavailable, match="no answer within"):
        embedder.embed(TEXTS, deadline_seconds=0.2)
    embedder.close()
    assert len(server.requests) == 1


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


def test_nobody_listens(time: SteppingTime) -> None:
    with socket.socket() as taken:  # bound but not listening, so nobody else can be there
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        target = RemoteTarget("ollama", "m", address, guarded=False)
        embedder = RemoteEmbedder(target, max_width=1024, timing=time.timing)
        with pytest.raises(EmbedderUnavailable, match="ollama .* cannot be reached"):
            embedder.embed(TEXTS)
        embedder.close()
    assert len(time.pauses) == MAX_EMBEDDING_ATTEMPTS - 1


def test_a_connection_that_breaks_in_the_middle(server: EmbeddingServer, remote: Make) -> None:
    server.answer_broken()
    with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
        remote().embed(TEXTS)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_a_refusal_is_not_tried_again(server: EmbeddingServer, remote: Make, status: int) -> None:
    server.fail_next(status=status, body=b'{"error": {"message": "no\\n such\\u0000  thing"}}')
    with pytest.raises(EmbedderRefused, match=f"answered {status}: no such thing$"):
        remote().embed(TEXTS)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": "model not loaded"}', "model not loaded"),
        (b'{"message": "bad key"}', "bad key"),
        (b'[{"error": {"message": "API key not valid"}}]', "API key not valid"),
        (b"plain words", "plain words"),
        (b"<html><body>Forbidden</body></html>", "an HTML page"),
        (b"", "no explanation"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"[" * 100_000, r"\[\["),
    ],
)
def test_whatever_a_refusal_looks_like(
    server: EmbeddingServer, remote: Make, body: bytes, said: str
) -> None:
    server.fail_next(status=400, body=body)
    with pytest.raises(EmbedderRefused, match=f"answered 400: {said}") as caught:
        remote().embed(TEXTS)
    assert len(str(caught.value)) < 500


def test_a_used_up_quota_is_a_refusal(server: EmbeddingServer, remote: Make) -> None:
    body = b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    server.fail_next(status=429, body=body)
    with pytest.raises(EmbedderRefused, match="exceeded your quota"):
        remote().embed(TEXTS)


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


def test_a_key_that_cannot_be_sent_is_not_told_either(remote: Make) -> None:
    with pytest.raises(EmbedderRefused, match="cannot be sent") as caught:
        remote(api_key="sk-secret\nX-Evil: 1").embed(TEXTS)
    assert "secret" not in str(caught.value)


def test_redirects_are_not_followed(server: EmbeddingServer, remote: Make) -> None:
    server.fail_next(status=307, headers={"Location": f"{server.root}/elsewhere"})
    with pytest.raises(EmbedderRefused, match="redirect, which is not followed"):
        remote().embed(TEXTS)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (EmbeddingServer.answer_html, "an HTML page"),
        (EmbeddingServer.answer_nan, "NaN"),
        (EmbeddingServer.answer_zeros, "zeros only"),
        (EmbeddingServer.answer_short, "1 vectors for 2 texts"),
        (EmbeddingServer.answer_ragged, "vectors of 64 and of 65 numbers"),
    ],
)
def test_answers_of_no_use(
    server: EmbeddingServer, remote: Make, fault: Callable[[EmbeddingServer], None], problem: str
) -> None:
    fault(server)
    with pytest.raises(BadEmbedding, match=problem):
        remote().embed(TEXTS)
    assert len(server.requests) == 1


def test_vectors_wider_than_the_database(server: EmbeddingServer, remote: Make) -> None:
    with pytest.raises(BadEmbedding, match="64 wide; the database takes at most 32"):
        remote(max_width=32).embed(TEXTS)


def test_a_width_that_changes(server: EmbeddingServer, remote: Make) -> None:
    embedder = remote()
    embedder.embed(TEXTS)
    server.answer_width(48)
    with pytest.raises(BadEmbedding, match="48 wide; before they were 64 wide"):
        embedder.embed(TEXTS)


def test_a_width_that_was_not_asked_for(server: EmbeddingServer, remote: Make) -> None:
    server.answer_width(48)
    with pytest.raises(BadEmbedding, match="48 dimensions, not the 16 asked for"):
        remote(dimensions=16).embed(TEXTS)


def test_too_large_an_answer_is_not_read(server: EmbeddingServer, remote: Make) -> None:
    server.fail_next(status=200, body=b" " * (MAX_EMBEDDING_RESPONSE_BYTES + 1))
    with pytest.raises(BadEmbedding, match="larger than"):
        remote().embed(TEXTS)


def test_a_compressed_answer_is_not_unpacked(server: EmbeddingServer, remote: Make) -> None:
    server.fail_next(status=200, headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b")
    with pytest.raises(BadEmbedding, match="compressed"):
        remote().embed(TEXTS)


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


def test_refusals_do_not_open_the_circuit(server: EmbeddingServer, remote: Make) -> None:
    embedder = remote()
    server.fail_next(10, status=400)
    for _ in range(10):
        with pytest.raises(EmbedderRefused):
            embedder.embed(TEXTS)
    assert embedder.embed(TEXTS).shape == (2, server.width)
