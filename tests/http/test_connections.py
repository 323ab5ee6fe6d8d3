"""Strangers who send too much, too slowly, or not what HTTP is, on sockets of their own."""

import contextlib
import inspect
import json
import os
import select
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ricordo.http.app import all_routers
from ricordo.http.protocol import Connections, Room
from ricordo.wiring import open_memory
from tests.support.endpoints import FaultyModel
from tests.support.served import COMMAND
from tests.support.service import Service, running
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.requirement("http.connections")

BRIEF = 0.3
HASTY: dict[str, Any] = {
    "header_seconds": BRIEF,
    "body_seconds": BRIEF,
    "min_bytes_per_second": 1_000_000,
    "answer_seconds": BRIEF,
    "keep_alive_seconds": BRIEF,
}
ANA = {"X-Ricordo-User": "ana"}
HOST = b"Host: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
NOTE = json.dumps({"content": "Prefers tea"}).encode()
POST = (
    b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nX-Ricordo-User: ana\r\n"
    b"Content-Type: application/json\r\n"
)
POST_NOTE = POST + b"Content-Length: %d\r\n\r\n" % len(NOTE)
CHUNKED_NOTE = b"%x\r\n%s\r\n0\r\n" % (len(NOTE), NOTE)
TRAILED = POST.replace(b"X-Ricordo-User: ana\r\n", b"Connection: close\r\n")
TRAILED += b"Transfer-Encoding: chunked\r\nTrailer: X-Ricordo-User\r\n\r\n" + CHUNKED_NOTE
TRAILED += b"X-Ricordo-User: trailed\r\n\r\n"


@contextlib.contextmanager
def listening(path: Path, **settings: Any) -> Iterator[Service]:
    """The service as ``ricordo serve`` runs it."""
    url = str(path / "ricordo.db")
    quick = {"port": 0, "embedding_provider": "none", "rate_limit_per_minute": 0}
    with (
        open_memory(url, run_jobs=False, **quick, **settings) as memory,
        running(memory) as service,
    ):
        yield service


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that waits for nobody."""
    with listening(tmp_path_factory.mktemp("hasty"), **HASTY) as service:
        yield service


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with its usual limits."""
    with listening(tmp_path_factory.mktemp("usual")) as service:
        yield service


def connected(url: str, **options: int) -> socket.socket:
    port = int(url.rpartition(":")[2])
    connection = socket.socket()
    for name, value in options.items():
        connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect(("127.0.0.1", port))
    return connection


def all_of(connection: socket.socket) -> bytes:
    """What comes until the service closes the connection."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            found += piece
    return bytes(found)


def answer_to(url: str, sent: bytes) -> bytes:
    """What comes until the service closes the connection, which it does by itself."""
    with connected(url) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        return all_of(connection)


def statuses(answer: bytes) -> list[int]:
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


def refusal(answer: bytes) -> tuple[int, str]:
    """The one answer there is, which must be a problem."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert len(statuses(answer)) == 1, answer
    assert b"connection: close" in head.lower()
    assert b"content-type: application/problem+json" in head.lower()
    told = json.loads(body)
    assert told["status"] == statuses(answer)[0]
    assert told["request_id"].encode() in head
    return told["status"], told["detail"]


def test_headers_that_are_too_large_are_refused(usual: Service) -> None:
    half = b"GET /healthz HTTP/1.1\r\n" + HOST
    for sent, status, allowed in (
        (half + b"X-Filling: " + b"y" * 2_000_000, 431, "65536"),
        (half + b"X-Filling: " + b"y" * 66_000 + b"\r\n\r\n", 431, "65536"),
        (half + b"X-Filling: y\r\n" * 1_000 + b"\r\n", 431, "100"),
        (half + b"X-Filling: y\r\n" * 101, 431, "100"),  # not even ended
        (b"GET /healthz?" + b"y" * 90_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414, "65535"),
        (b"GET /healthz?" + b"y" * 2_000_000, 414, "65535"),
    ):
        found, detail = refusal(answer_to(usual.url, sent))
        assert (found, allowed in detail) == (status, True), detail
    assert httpx2.get(f"{usual.url}/healthz").status_code == 200


def test_long_addresses_and_headers_are_taken(usual: Service) -> None:
    cursor = b"/v1/memories?cursor=" + b"y" * 65_000
    for path, filling, status in ((cursor, 1_000, 422), (b"/healthz", 60_000, 200)):
        with connected(usual.url) as connection:
            headers = HOST + b"X-Ricordo-User: ana\r\nX-Filling: " + b"y" * filling
            connection.sendall(b"GET " + path + b" HTTP/1.1\r\n" + headers + b"\r\n\r\n")
            assert statuses(connection.recv(65_536)) == [status]


def test_who_does_not_end_a_request_is_not_waited_for(hasty: Service) -> None:
    assert answer_to(hasty.url, b"") == b""
    for half in (b"G", b"GET /healthz HTTP/1.1\r\n", HEALTH[:-2], b"\r\n", HEALTH + HEALTH[:-2]):
        answer = answer_to(hasty.url, half)
        expected = [200, 408] if half.startswith(HEALTH) else [408]
        assert statuses(answer) == expected, half
    assert refusal(answer_to(hasty.url, POST_NOTE + NOTE[:5]))[0] == 408
    assert (
        refusal(answer_to(hasty.url, POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"))[0] == 408
    )


def trickled(url: str, sent: bytes, piece: bytes) -> bytes:
    """The answer to something that is sent byte by byte, for as long as the service takes any."""
    with connected(url) as connection:
        connection.sendall(sent)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while not select.select([connection], [], [], BRIEF / 10)[0]:
                connection.sendall(piece)
        return all_of(connection)


def test_who_sends_byte_by_byte_is_not_waited_for(hasty: Service) -> None:
    long = POST + b"Content-Length: 100000\r\n\r\n"
    chunks = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    for begun, piece in (
        (b"GET /healthz HTTP/1.1\r\n", b"y"),
        (b"GET /healthz HTTP/1.1\r\n", b"X-A: b\r\n"),
        (b"", b"\r\n"),
        (long, b" "),
        (chunks, b"1\r\n \r\n"),
        (chunks + b"1;", b"y"),  # an extension of a chunk
        (chunks + CHUNKED_NOTE, b"X-A: b\r\n"),  # a trailer
    ):
        assert statuses(trickled(hasty.url, begun, piece)) == [408], begun + piece


def test_a_body_that_nobody_wants_is_not_waited_for(hasty: Service) -> None:
    """It is refused at once; whoever goes on sending it is cut off."""
    for path in (b"/v1/nothing", b"/healthz"):
        begun = b"POST %s HTTP/1.1\r\n%sContent-Length: 90000\r\n\r\n" % (path, HOST)
        with connected(hasty.url) as connection:
            connection.sendall(begun)
            assert statuses(connection.recv(65_536))[0] in (404, 405)
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                while True:
                    if select.select([connection], [], [], BRIEF / 10)[0]:
                        all_of(connection)
                    connection.sendall(b" ")


def test_idle_connections_are_closed(hasty: Service) -> None:
    assert statuses(answer_to(hasty.url, HEALTH)) == [200]
    assert statuses(answer_to(hasty.url, POST_NOTE + NOTE + HEALTH * 3)) == [201, 200, 200, 200]


@pytest.mark.slow
def test_who_takes_no_answer_is_not_waited_for(tmp_path: Path) -> None:
    listed = b"GET /v1/memories?limit=1000 HTTP/1.1\r\n" + HOST + b"X-Ricordo-User: ana\r\n"
    exported = b"GET /v1/export HTTP/1.1\r\n" + HOST + b"X-Ricordo-User: ana\r\n"
    with listening(tmp_path, **HASTY) as hasty, contextlib.ExitStack() as open_ones:
        texts = [f"{number} {'y' * 7_900}" for number in range(1_000)]
        hasty.memory.user("ana").add_many(texts)
        cut_off = select.poll()
        waiting = set()
        for asked in (
            listed + b"\r\n",
            listed + b"Connection: close\r\n\r\n",
            exported + b"\r\n",
        ):
            connection = open_ones.enter_context(connected(hasty.url, SO_RCVBUF=4_096))
            connection.sendall(asked)
            cut_off.register(connection, 0)  # which tells of the end alone
            waiting.add(connection.fileno())
        while waiting:
            found = cut_off.poll(PATIENCE_SECONDS * 1_000)
            assert found, "the service still waits for somebody to take the answer"
            for number, _event in found:
                cut_off.unregister(number)
                waiting.discard(number)
        # Whoever takes it gets all of it.
        items = httpx2.get(f"{hasty.url}/v1/memories?limit=1000", headers=ANA).json()["items"]
        assert len(items) == 1_000


def test_a_stream_lives_as_long_as_it_should(tmp_path: Path) -> None:
    go_on = threading.Event()
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "tea"}}]}\n\n'
    body = {"messages": [{"role": "user", "content": "Tea?"}], "stream": True}
    with FaultyModel() as model:
        model.answer_bytes(
            [event, event, b"data: [DONE]\n\n"],
            content_type="text/event-stream",
            before_part=lambda number: None if number != 1 else (go_on.wait(60), None)[1],
        )
        settings = {**HASTY, "upstream_url": model.base_url, "max_connections": 20}
        with listening(tmp_path, **settings) as hasty, contextlib.ExitStack() as open_ones:
            url = f"{hasty.url}/v1/chat/completions"
            with httpx2.stream("POST", url, json=body, headers=ANA, timeout=60) as stream:
                pieces = stream.iter_raw()
                found = next(pieces)
                # Others whose every time runs out meanwhile.
                for sent in (b"", HEALTH, HEALTH[:-2], POST_NOTE):
                    answer_to(hasty.url, sent)
                for connection in held(hasty.url, 30, HEALTH[:-2]):
                    open_ones.enter_context(connection)
                assert httpx2.get(f"{hasty.url}/healthz").status_code == 200
                go_on.set()
                found += b"".join(pieces)
    assert found.count(b'"tea"') == 2
    assert b"[DONE]" in found


def held(url: str, number: int, sent: bytes) -> Iterator[socket.socket]:
    for _ in range(number):
        connection = connected(url)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        yield connection


def closed_among(connections: Sequence[socket.socket]) -> list[int]:
    """Which of them the service has closed; it has by the time that somebody was answered."""
    readable = set(select.select(connections, [], [], 0)[0])
    return [at for at, one in enumerate(connections) if one in readable]


def test_the_oldest_that_only_wait_give_way(tmp_path: Path) -> None:
    with listening(tmp_path, max_connections=20) as service:
        for half in (b"", HEALTH[:-2], POST_NOTE):
            with contextlib.ExitStack() as stack:
                held_ones = [stack.enter_context(one) for one in held(service.url, 30, half)]
                sent = httpx2.post(f"{service.url}/v1/memories", headers=ANA, json={})
                assert sent.status_code == 422
                assert closed_among(held_ones) == list(range(11))


@pytest.mark.slow
@pytest.mark.requirement("http.framing")
def test_few_descriptors_lock_nobody_out(tmp_path: Path) -> None:
    """The real command, where the system allows few: there is still room for the database."""
    environment = {
        **os.environ,
        "RICORDO_URL": str(tmp_path / "ricordo.db"),
        "RICORDO_EMBEDDING_PROVIDER": "none",
    }
    with subprocess.Popen(
        ["bash", "-c", f"ulimit -n 400 && exec {COMMAND} serve --json --port 0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["listening"]
            with contextlib.ExitStack() as stack:
                for one in held(url, 600, HEALTH[:-2]):
                    stack.enter_context(one)
                assert httpx2.get(f"{url}/healthz", timeout=60).status_code == 200
                for number in range(20):
                    note = {"content": f"Note {number}"}
                    added = httpx2.post(f"{url}/v1/memories", headers=ANA, json=note)
                    assert added.status_code == 201
                huge = HEALTH[:-2] + b"X-Filling: " + b"y" * 5_000_000
                assert statuses(answer_to(url, huge)) == [431]
                assert statuses(answer_to(url, TRAILED)) == [401]
        finally:
            process.kill()
            _, told = process.communicate()
    assert "only 174 connections at once instead of 1000" in told
    assert told.count("room for others") < 50  # however many there were


class Peer:
    """A connection as the registry of all sees it."""

    def __init__(self, since: float | None) -> None:
        self.since = since
        self.gone = False

    def waiting_since(self) -> float | None:
        return self.since

    def give_way(self) -> None:
        self.gone = True


def test_one_address_cannot_take_all() -> None:
    room = Connections(Room(most=10, most_of_one=4, waiting=1))
    others = [Peer(None) for _ in range(3)]
    for one in others:
        assert room.admit("192.0.2.1", one) is None
    strangers = [Peer(float(age)) for age in (3, 1, 2, 4)]
    for one in strangers:
        assert room.admit("198.51.100.7", one) is None
    late = Peer(5.0)
    assert room.admit("198.51.100.7", late) is None
    assert [one.gone for one in strangers] == [False, True, False, False]
    for one in (*strangers, late):
        one.since = None  # all of them are being answered
    assert room.admit("198.51.100.7", Peer(6.0)) == 429
    # The same machine, as far as anybody can tell.
    block = [Peer(None) for _ in range(3)]
    for number, one in enumerate(block):
        assert room.admit(f"2001:db8::{number}", one) is None
    assert room.admit("::ffff:198.51.100.7", Peer(None)) == 429
    # Now all ten are taken: the busiest address gives way, if anybody waits there.
    assert room.admit("192.0.2.9", Peer(None)) == 503
    late.since = 9.0
    others[0].since = 1.0
    assert room.admit("192.0.2.9", Peer(None)) is None
    assert (late.gone, others[0].gone) == (True, False)
    room.release("2001:db8::1", block[1])
    room.release("2001:db8::1", block[1])
    assert room.admit("192.0.2.9", Peer(None)) is None
    assert room.admit("192.0.2.9", Peer(None)) is None
    assert others[0].gone


def test_this_machine_may_have_all() -> None:
    room = Connections(Room(most=10, most_of_one=4, waiting=1))
    for _ in range(5):
        assert room.admit("127.0.0.1", Peer(None)) is None
        assert room.admit("::1", Peer(None)) is None
    assert room.admit("127.0.0.1", Peer(None)) == 503


@pytest.mark.requirement("http.framing")
def test_trailers_are_not_headers(usual: Service) -> None:
    refused = answer_to(usual.url, TRAILED)
    assert statuses(refused) == [401]  # nobody is named
    named = TRAILED.replace(b"\r\n", b"\r\nX-Ricordo-User: ana\r\n", 1)
    assert statuses(answer_to(usual.url, named)) == [201]
    too_many = named[:-2] + b"X-Filling: y\r\n" * 200 + b"\r\n"
    assert statuses(answer_to(usual.url, too_many)) == [431]
    listed = httpx2.get(f"{usual.url}/v1/memories", headers={"X-Ricordo-User": "trailed"})
    assert listed.json()["items"] == []


HIDDEN = b"POST /v1/memories HTTP/1.1\r\n" + HOST + b"X-Ricordo-User: hidden\r\n"
HIDDEN += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(NOTE), NOTE)
LENGTH = b"Content-Length: %d\r\n" % len(NOTE)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
AMBIGUOUS = {
    "a length and chunks": LENGTH + CHUNKED + b"\r\n" + CHUNKED_NOTE + b"\r\n",
    "chunks and a length": CHUNKED + LENGTH + b"\r\n" + CHUNKED_NOTE + b"\r\n",
    "two lengths": LENGTH + b"Content-Length: 3\r\n\r\n" + NOTE,
    "the same length twice": LENGTH + LENGTH + b"\r\n" + NOTE,
    "a list of lengths": b"Content-Length: 3, 3\r\n\r\n" + NOTE,
    "a length with a sign": b"Content-Length: +%d\r\n\r\n" % len(NOTE) + NOTE,
    "two codings": CHUNKED + CHUNKED + b"\r\n" + CHUNKED_NOTE + b"\r\n",
    "another coding": b"Transfer-Encoding: identity\r\n\r\n" + NOTE,
    "nearly chunked": b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED_NOTE + b"\r\n",
    "packed chunks": b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED_NOTE + b"\r\n",
    "a coding after a tab": b"Transfer-Encoding:\x0bchunked\r\n\r\n" + CHUNKED_NOTE + b"\r\n",
    "two hosts": b"Host: 127.0.0.1\r\n" + LENGTH + b"\r\n" + NOTE,
    "two keys": b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n" + LENGTH + b"\r\n" + NOTE,
    "two types": b"Content-Type: text/plain\r\n" + LENGTH + b"\r\n" + NOTE,
    "a folded line": b"X-A: b\r\n X-Ricordo-User: ben\r\n" + LENGTH + b"\r\n" + NOTE,
    "a folded empty line": b"X-A:\r\n b\r\n" + LENGTH + b"\r\n" + NOTE,
    "a bare line feed": b"X-A: b\nX-C: d\r\n" + LENGTH + b"\r\n" + NOTE,
    "a bare carriage return": b"X-A: b\rX-C: d\r\n" + LENGTH + b"\r\n" + NOTE,
    "a zero in a value": b"X-A: b\x00c\r\n" + LENGTH + b"\r\n" + NOTE,
    "a zero in a name": b"X\x00A: b\r\n" + LENGTH + b"\r\n" + NOTE,
    "a letter that is none": "X-é: b\r\n".encode() + LENGTH + b"\r\n" + NOTE,
    "a space after a name": b"X-A : b\r\n" + LENGTH + b"\r\n" + NOTE,
    "a space before a name": b" X-A: b\r\n" + LENGTH + b"\r\n" + NOTE,
    "no name": b": b\r\n" + LENGTH + b"\r\n" + NOTE,
    "a chunk ended by a line feed": CHUNKED + b"\r\n%x\n%s\r\n0\r\n\r\n" % (len(NOTE), NOTE),
    "a chunk that is too long": CHUNKED + b"\r\n3\r\n%s\r\n0\r\n\r\n" % NOTE,
    "a chunk of less than nothing": CHUNKED + b"\r\n-1\r\n%s\r\n0\r\n\r\n" % NOTE,
    "a chunk beyond all numbers": CHUNKED + b"\r\n%s\r\n%s\r\n0\r\n\r\n" % (b"f" * 20, NOTE),
    "another protocol with a body": b"Connection: upgrade\r\nUpgrade: h2c\r\n"
    + b"Content-Length: %d\r\n\r\n" % len(HIDDEN),
}


@pytest.mark.requirement("http.framing")
@pytest.mark.parametrize("ambiguous", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused(usual: Service, ambiguous: str) -> None:
    """Nothing is done, and what follows is not taken for a request."""
    with connected(usual.url) as connection:
        connection.sendall(POST.replace(b"ana", b"ambiguous") + AMBIGUOUS[ambiguous])
        first = connection.recv(65_536)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(HIDDEN)
        assert refusal(first + all_of(connection))[0] == 400
    for user in ("ambiguous", "ana", "ben", "hidden"):
        headers = {"X-Ricordo-User": user}
        items = httpx2.get(f"{usual.url}/v1/memories", headers=headers).json()["items"]
        assert user == "ana" or items == []


@pytest.mark.requirement("http.framing")
def test_what_is_no_request_is_refused(usual: Service) -> None:
    for sent, status in (
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200, 400),  # TLS
        (b"SSH-2.0-OpenSSH_9.6\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),  # no host
        (b"GET /healthz\r\n\r\n", 505),
        (b"GET /healthz HTTP/0.9\r\n\r\n", 505),
        (b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n", 505),
        (b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        (b"GET http:// HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        ("GET /é HTTP/1.1\r\n".encode() + HOST + b"\r\n", 400),
    ):
        assert refusal(answer_to(usual.url, sent))[0] == status, sent
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
    for named in (upgrade, upgrade.replace(b"h2c", b"websocket")):
        with connected(usual.url) as connection:  # as some clients ask at first
            connection.sendall(HEALTH[:-2] + named)
            assert statuses(connection.recv(65_536) + all_of(connection)) == [200]
    assert statuses(answer_to(usual.url, b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\n")) == [200]


def test_requests_that_wait_behind_each_other_are_few(usual: Service) -> None:
    with connected(usual.url) as connection:
        connection.sendall(HEALTH * 10)
        found = b""
        while len(statuses(found)) < 10:
            found += connection.recv(65_536)
        assert statuses(found) == [200] * 10
    assert len(statuses(answer_to(usual.url, HEALTH * 2_000))) < 200


def test_the_event_loop_makes_no_document(usual: Service) -> None:
    """A sign of life would wait for it; so it is made in a thread, as all that computes."""
    routes = {route.path: route for router in all_routers() for route in router.routes}
    for path in ("/openapi.json", "/docs"):
        assert not inspect.iscoroutinefunction(routes[path].endpoint)
        assert usual.client().get(path).status_code == 200
    assert inspect.iscoroutinefunction(routes["/healthz"].endpoint)  # which needs no thread
