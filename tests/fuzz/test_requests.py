"""Requests as no client would send them: the service answers each, and none with a fault of its
own."""

import contextlib
import json
import re
import socket
from collections.abc import Callable, Iterator
from urllib.parse import quote, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from tests.fuzz.mutating import altered, json_values, mutated, mutated_bytes, odd_texts
from tests.fuzz.running import FUZZ_SLOWLY
from tests.fuzz.test_values import CURSORS, MOMENTS
from tests.support.service import Service, running
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("faults.fuzzed")

PAGES = (
    *("/ui", "/ui/memories", "/ui/memories/1", "/ui/who", "/ui/sign-in", "/ui/proposals/1/approve"),
    *("/ui/changes", "/ui/conversations", "/ui/conversations/t", "/ui/graph", "/ui/themes"),
    *("/ui/activity", "/ui/settings", "/ui/settings/keys", "/ui/memories/1/undo", "/mcp"),
    *("/tools/openapi.json", "/tools/memory_search"),
    *("/", "/healthz", "/metrics", "/v1/export?x", "/%2e%2e/%00/x"),
)
_PARAMETER = re.compile(r"\{[^}]*\}")
BODY = {
    "content": "tea",
    "query": "tea",
    "messages": [{"role": "user", "content": "tea"}],
    "thread": "t",
    "tags": ["a"],
    "theme": "x",
    "limit": 5,
    "created_after": "2026-01-31",
}
HEADERS = (
    "X-Ricordo-User: ana",
    "X-Ricordo-Agent: a",
    "Authorization: Bearer rk_abc_def",
    "X-Api-Key: rk_abc",
    "Cookie: ricordo_session=gAAAAABx; a=b",
    "Idempotency-Key: k1",
    "Accept: text/html;q=0.9,*/*",
    "Accept-Language: de;q=x,en",
    "X-Request-Id: abc",
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Type: multipart/form-data; boundary=x",
    "Content-Type: application/json; charset=utf-16",
    "Origin: http://localhost",
    "X-Forwarded-For: 1.2.3.4, x",
    "If-None-Match: W/x",
    "Range: bytes=5-",
    "Mcp-Session-Id: x",
    "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)
FORMS = (
    "token=x&user=ana&confirm=1",
    "a=%00&b=%ff%fe&c=%u0041&&=&d&e==",
    '--x\r\nContent-Disposition: form-data; name="token"; filename="a"\r\n\r\nx\r\n--x--\r\n',
)
parameters = st.dictionaries(
    st.sampled_from(
        (
            "cursor",
            "limit",
            "sort",
            "order",
            "status",
            "theme",
            "tags",
            "q",
            "since",
            "zone",
            "as_of",
        )
    )
    | odd_texts,
    odd_texts | mutated([*CURSORS, *MOMENTS, "created_at", "asc", "any", "9" * 30, "-1"]),
    max_size=4,
)


@pytest.fixture
def service(open_store: Callable[..., Memory], sqlite_url: str) -> Iterator[Service]:
    with running(open_store(sqlite_url, port=0, rate_limit_per_minute=0)) as started:
        started.memory.user("ana").add("Drinks tea", theme="x")
        yield started


@pytest.fixture
def paths(service: Service) -> list[str]:
    """Where something can be asked for: of every route of the API, and of the pages."""
    routes = service.client().get("/openapi.json").json()["paths"]
    return [*PAGES, *sorted(_PARAMETER.sub("1", route) for route in routes)]


def status_of(service: Service, raw: bytes) -> int:
    """The status with which a request is answered, sent as it is."""
    place = urlsplit(service.url)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 80), timeout=60) as connection:
        connection.sendall(raw)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # what came behind a request was not read
            while b"\r\n" not in answer and (part := connection.recv(4096)):
                answer += part
    # No answer at all is how the server meets what is not HTTP.
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 400


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").replace(b"\r", b"").replace(b"\n", b"")


@FUZZ_SLOWLY
@given(data=st.data())
def test_no_request_is_answered_with_a_fault_of_ours(
    service: Service, paths: list[str], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(paths) | mutated(paths))
    query = urlencode(data.draw(parameters), errors="surrogatepass")
    method = data.draw(st.sampled_from(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X")))
    headers = data.draw(st.lists(st.sampled_from(HEADERS) | mutated(HEADERS), max_size=4))
    host = data.draw(
        st.just("localhost")
        | mutated(
            [f"localhost:{urlsplit(service.url).port}", "localhost:80", "[::1]:5", "127.0.0.1"]
        )
    )
    body: bytes = data.draw(
        st.one_of(
            altered([BODY], list(BODY)).map(lambda value: json.dumps(value).encode()),
            json_values(list(BODY)).map(lambda value: json.dumps(value).encode()),
            mutated_bytes([json.dumps(BODY).encode(), *(form.encode() for form in FORMS)]),
        )
    )
    kinds = [] if data.draw(st.booleans()) else ["Content-Type: application/json"]
    lines = [
        f"{method} {quote(path, safe='/%', errors='surrogatepass')}?{query} HTTP/1.1".encode(),
        b"Host: " + as_bytes(host),
        *map(as_bytes, [*headers, *kinds]),
        f"Content-Length: {len(body)}".encode(),
        b"Connection: close",
    ]
    raw = b"\r\n".join(lines) + b"\r\n\r\n" + body
    status = status_of(service, raw)
    # 503: there is no model here that the chat proxy could pass a request on to
    assert status < 500 or status == 503, raw[:2_000]


@FUZZ_SLOWLY
@given(data=st.data())
def test_a_cookie_that_is_not_ours_lets_nobody_in(service: Service, data: st.DataObject) -> None:
    sender = Sender(service)
    sender.get("/ui/who")
    name, value = sender.cookie()
    brought = data.draw(mutated([value]) | odd_texts)
    raw = b"GET /ui/who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: "
    raw += as_bytes(f"{name}={brought}") + b"\r\n\r\n"
    assert status_of(service, raw) < 500
