"""Malformed requests of every kind to every kind of route: refused as the caller's mistake."""

import base64
import gzip
import itertools
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from ricordo import Memory
from tests.support.problems import problem
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("faults.malformed")
OpenStore = Callable[..., Memory]
JSON = "application/json"
PLACES = {"id": "1", "thread": "t", "theme": "general", "user": "ana", "viewer": "ben"}
"""What stands for the parameters of a path; anything else is called x."""
ELSEWHERE = ("/v1/chat/", "/v1/messages", "/v1/models", "/mcp", "/v1/import", "/v1/admin/import")
"""Routes in the wire formats of others, with errors as those have them, and those which take files
of any format: they have tests of their own."""

BODIES: dict[str, tuple[str, bytes]] = {
    "nothing that is JSON": (JSON, b"{content: tea"),
    "cut off": (JSON, b'{"content": "te'),
    "a byte after the end": (JSON, b'{"content": "tea"} \x00'),
    "not UTF-8": (JSON, b'{"content": "\xff\xfe"}'),
    "nested without end": (JSON, b'{"content": ' + b"[" * 50_000),
    "nested and closed": (JSON, b"[" * 50_000 + b"]" * 50_000),
    "a number without end": (JSON, b'{"limit": ' + b"9" * 10_000 + b"}"),
    "half a character": (JSON, b'{"content": "\\ud800", "messages": ["\\udfff"], "a": "\\ud800"}'),
    "a NUL": (JSON, b'{"content": "a\\u0000b", "a": "\\u0000"}'),
    "another encoding": (JSON + "; charset=latin-1", '{"content": "thé"}'.encode("latin-1")),
    "XML": ("application/xml", b"<content>tea</content>"),
    "a form": ("application/x-www-form-urlencoded", b"content=tea"),
    "broken multipart": ("multipart/form-data; boundary=x", b"--y\r\n\r\n"),
    "no kind of content": ("", b'{"content": "tea"}'),
    "a kind that is none": ("/;;=", b'{"content": "tea"}'),
    "packed": (JSON, gzip.compress(b'{"content": "tea"}')),
}
ALLOWED = {("a NUL", "/v1/checkpoints/t")}  # a state is any JSON value, and comes back exactly
QUERIES = [
    "limit=-1",
    "limit=1e309",
    "limit=%00",
    "limit=" + "9" * 400,
    "limit=1&limit=2",
    "%FF%FE=%FF%FE",
    "cursor=%FF",
    "cursor=" + base64.urlsafe_b64encode(b'["x", {}, null, 1e999]').decode(),
    "cursor=" + base64.urlsafe_b64encode(b"[" * 5_000).decode(),
    "cursor="
    + base64.urlsafe_b64encode(b'["created_at desc", "soon", 99999999999999999999]').decode(),
    "since=%ED%A0%80",
    "[]=&&&;;==%",
    "query=%00",
    "colour=green",
]
HEADERS: list[dict[bytes, bytes]] = [
    {b"X-Ricordo-User": b"\xff\xfe"},
    {b"X-Ricordo-User": b"a" * 5_000},
    {b"X-Ricordo-Agent": b"\xc3\x28"},
    {b"Authorization": b"Bearer \xff\xff"},
    {b"Authorization": b"Basic Og=="},
    {b"If-Match": b'W/"' + b"x" * 2_000},
    {b"If-Match": b"\xff"},
    {b"Idempotency-Key": b"k" * 2_000},
    {b"Idempotency-Key": b"\xff\x80"},
    {b"traceparent": b"00-zz-zz-zz"},
    {b"X-Request-Id": b"\xff" * 300},
    {b"Cookie": b"ricordo_session=\xff; ="},
]


@pytest.fixture
def service(sqlite_url: str, open_store: OpenStore) -> Iterator[Service]:
    memory = open_store(sqlite_url, port=0, rate_limit_per_minute=0)
    memory.user("ana").add("Drinks tea")
    memory.user("ana").observe([{"role": "user", "content": "Hello"}], thread="t")
    with running(memory) as started:
        yield started


@pytest.fixture
def routes(service: Service) -> list[tuple[str, str, dict[str, Any]]]:
    """Every route of the document: method, address, and what is said of it."""
    document = service.client().get("/openapi.json").json()
    found = [
        (method.upper(), re.sub(r"{(\w+)[^}]*}", _place, path), told)
        for path, methods in document["paths"].items()
        for method, told in methods.items()
        if not path.startswith(ELSEWHERE)
    ]
    assert len(found) > 60
    return found


def _place(parameter: re.Match[str]) -> str:
    return PLACES.get(parameter[1], "x")


def stored(service: Service) -> list[str]:
    return list(service.memory.export_lines())


def is_refused(answered: httpx2.Response) -> bool:
    """Whether it is a refusal; whatever it is, it is no fault of the service."""
    assert answered.status_code < 500, (
        answered.request.method,
        answered.request.url,
        answered.text,
    )
    if answered.status_code >= 400:
        assert problem(answered)[0] == answered.status_code
    return answered.status_code >= 400


def test_bodies(service: Service, routes: list[tuple[str, str, dict[str, Any]]]) -> None:
    client = service.client("ana")
    before = stored(service)
    taking = [(method, path) for method, path, told in routes if "requestBody" in told]
    assert len(taking) > 25
    for (method, path), (what, (kind, body)) in itertools.product(taking, BODIES.items()):
        if (what, path) in ALLOWED:
            continue
        headers = {b"Content-Type": kind.encode()}
        answered = client.request(method, path, content=body, headers=headers)
        assert is_refused(answered), (method, path, what, answered.text)
    assert stored(service) == before


def test_queries(service: Service, routes: list[tuple[str, str, dict[str, Any]]]) -> None:
    client = service.client("ana")
    before = stored(service)
    reading = [path for method, path, _ in routes if method == "GET" and path.startswith("/v1")]
    assert len(reading) > 20
    for path, query in itertools.product(reading, QUERIES):
        is_refused(client.get(f"{path}?{query}"))
    assert is_refused(client.get(f"/v1/memories?{QUERIES[-1]}"))
    assert stored(service) == before


def test_headers(service: Service) -> None:
    client = service.client()
    before = stored(service)
    for extra, (method, path) in itertools.product(
        HEADERS, [("GET", "/v1/memories"), ("POST", "/v1/memories/1/archive"), ("GET", "/healthz")]
    ):
        named = {b"X-Ricordo-User": b"nobody", **extra}
        is_refused(client.request(method, path, headers=named))
    assert stored(service) == before


def test_paths(service: Service) -> None:
    client = service.client("ana")
    before = stored(service)
    strange = ["%00", "%FF%FE", "..%2f..%2fetc", "%ED%A0%80", "x" * 6_000, "-0", "1.5", "%E2%80%AE"]
    for name in strange:
        for path in (
            f"/v1/memories/{name}",
            f"/v1/threads/{name}/turns",
            f"/v1/checkpoints/{name}",
            f"/v1/themes/{name}",
            f"/v1/admin/users/{name}",
            f"/{name}",
        ):
            is_refused(client.get(path))
            is_refused(client.delete(path))
    assert stored(service) == before


POST = (
    b"POST /v1/memories HTTP/1.1\r\nHost: x\r\nX-Ricordo-User: ana\r\n"
    b"Content-Type: application/json\r\n"
)
WIRE: dict[str, bytes] = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "nothing but a line": b"\r\n\r\n\r\n",
    "a method that is none": b"M\x00ST / HTTP/1.1\r\nHost: x\r\n\r\n",
    "another version": b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
    "no host": b"GET /v1/memories HTTP/1.1\r\nX-Ricordo-User: ana\r\n\r\n",
    "a NUL in the path": b"GET /v1/mem\x00ories HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without a name": b"GET /healthz HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
    "headers without end": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: "
    + b"a" * 200_000
    + b"\r\n\r\n",
    "a body that is cut off": POST + b'Content-Length: 900\r\n\r\n{"content": "Drinks mate"}',
    "a length that is none": POST + b'Content-Length: -5\r\n\r\n{"content": "Drinks mate"}',
    "two lengths": POST
    + b'Content-Length: 5\r\nContent-Length: 26\r\n\r\n{"content": "Drinks mate"}',
    "chunks of nonsense": POST
    + b'Transfer-Encoding: chunked\r\n\r\nZZ\r\n{"content": "x"}\r\n0\r\n\r\n',
    "chunks that break off": POST
    + b'Transfer-Encoding: chunked\r\n\r\n1a\r\n{"content": "Drinks mat',
    "a length and chunks": POST
    + b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"con\r\n0\r\n\r\n',
    "a request that asks for no answer": POST
    + b"Expect: 100-continue\r\nContent-Length: 50\r\n\r\n",
}


@pytest.mark.parametrize("what", WIRE)
def test_what_is_not_http(service: Service, what: str) -> None:
    before = stored(service)
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port), 60) as caller:
        caller.sendall(WIRE[what])
        caller.shutdown(socket.SHUT_WR)
        answered = b""
        while piece := _received(caller):
            answered += piece
    status = re.match(rb"HTTP/1\.[01] (\d\d\d)", answered)
    assert status is None or status[1] < b"500", answered
    assert service.client("ana").get("/v1/memories").status_code == 200
    assert stored(service) == before


def _received(caller: socket.socket) -> bytes:
    try:
        return caller.recv(65_536)
    except ConnectionResetError:  # cut off in the middle of what it did not want to read
        return b""
