"""How much, how often and from where: the limits of the service, one by one."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from ricordo.errors import InvalidValue
from ricordo.http.addresses import is_loopback, is_within, url_of
from ricordo.http.auth import user_named
from ricordo.http.middleware import BodyLimit
from ricordo.http.problems import TooManyRequests
from ricordo.http.rate_limit import RateLimiter
from ricordo.http.routing import Threads
from ricordo.http.server import serving
from ricordo.limits import MAX_RATE_BUCKETS, MAX_REQUEST_BYTES
from ricordo.memory import Memory
from ricordo.recall.reranker import under_way
from tests.support.endpoints import FaultyModel
from tests.support.problems import problem
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("http.limits")


class Time:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def left(limiter: RateLimiter, caller: str, most: int = 1000) -> int:
    for count in range(most):
        try:
            limiter.count(caller)
        except TooManyRequests:
            return count
    return most


def test_so_many_at_once_and_then_so_many_per_minute() -> None:
    time = Time()
    limiter = RateLimiter(6, time)
    assert left(limiter, "ana") == 6
    time.now += 9.9
    assert left(limiter, "ana") == 0
    time.now += 0.2
    assert left(limiter, "ana") == 1
    time.now += 3600
    assert left(limiter, "ana") == 6
    with pytest.raises(TooManyRequests) as refused:
        limiter.count("ana")
    assert refused.value.retry_after == 10
    time.now += refused.value.retry_after
    limiter.count("ana")
    assert left(limiter, "ben") == 6
    assert left(RateLimiter(0, Time()), "ana") == 1000


def test_the_callers_silent_for_longest_are_forgotten() -> None:
    limiter = RateLimiter(1, Time())
    limiter.count("first")
    limiter.count("second")
    limiter.count("third")
    with pytest.raises(TooManyRequests):
        limiter.count("first")  # it is not silent
    for number in range(MAX_RATE_BUCKETS - 2):
        limiter.count(f"caller {number}")
    with pytest.raises(TooManyRequests):
        limiter.count("first")
    limiter.count("second")


def test_who_guesses_keys_is_slowed_down_and_nobody_else(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, port=0, require_keys=True, rate_limit_per_minute=3)
    with running(memory) as service:
        guessing = service.client(key="rk_000000000000_guessed")
        assert [guessing.get("/v1/revision").status_code for _ in range(3)] == [401] * 3
        assert problem(guessing.get("/v1/revision")) == (429, "TooManyRequests")
        assert problem(service.client().get("/v1/revision")) == (429, "TooManyRequests")
        # Behind a proxy others may seem to come from the same address.
        good = service.client(key=memory.create_key("good", user="ana").secret)
        assert [good.get("/v1/revision").status_code for _ in range(3)] == [200] * 3
        refused = good.get("/v1/revision")
        assert problem(refused) == (429, "TooManyRequests")
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert good.get("/healthz").status_code == 200
        other = service.client(key=memory.create_key("other", user="ana").secret)
        assert other.get("/v1/revision").status_code == 200


def test_a_body_that_is_too_large_is_refused(service: Service) -> None:
    client = service.client("ana")
    json = {"Content-Type": "application/json"}
    wrapped = b'{"content": "x", "reason": "%s"}'
    filling = MAX_REQUEST_BYTES - len(wrapped % b"")
    largest = client.post("/v1/memories", content=wrapped % (b"y" * filling), headers=json)
    assert problem(largest) == (422, "InvalidValue")  # read, and the reason is too long
    too_large = wrapped % (b"y" * (filling + 1))
    refused = client.post("/v1/memories", content=too_large, headers=json)
    assert problem(refused) == (413, "RequestTooLarge")
    assert str(MAX_REQUEST_BYTES) in refused.json()["detail"]
    pieces = (too_large[start : start + 65536] for start in range(0, len(too_large), 65536))
    unannounced = client.post("/v1/memories", content=pieces, headers=json)
    assert problem(unannounced) == (413, "RequestTooLarge")
    assert client.get("/v1/memories").json()["items"] == []
    assert client.post("/v1/memories", json={"content": "Prefers tea"}).status_code == 201


def asked_as(service: Service, **headers: str) -> httpx2.Response:
    return service.client("ana", **headers).get("/v1/revision")


def test_pages_of_others_may_not_call_a_service_without_keys(service: Service) -> None:
    own = service.url.removeprefix("http://")
    port = own.rpartition(":")[2]
    usual = [
        {},
        {"Origin": service.url},
        {"Host": f"localhost:{port}"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"},  # a link was followed
    ]
    for allowed in usual:
        answered = asked_as(service, **allowed)
        assert answered.status_code == 200
        assert not [name for name in answered.headers if name.startswith("access-control-")]
    foreign = [
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "script"},
        {"Origin": "http://[half"},
        {"Origin": f"http://localhost:{int(port) + 1}"},
        {"Host": "example.org"},
        {"Host": f"example.org:{port}"},
        {"Host": "127.0.0.1.example.org"},
        {"Host": "[half"},
    ]
    for headers in foreign:
        refused = asked_as(service, **headers)
        assert problem(refused) == (403, "ForeignPage"), headers


def test_pages_that_are_set_may_call(backend_url: str, open_store: Callable[..., Memory]) -> None:
    page = "https://chat.example.org"
    memory = open_store(backend_url, port=0, cors_origins=f"{page}, https://other.example.org")
    with running(memory) as service:
        answered = asked_as(service, Origin=page)
        assert answered.headers["access-control-allow-origin"] == page
        assert "ETag" in answered.headers["access-control-expose-headers"]
        asked = {
            "Origin": page,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "X-Ricordo-User",
        }
        allowed = service.client().options("/v1/memories", headers=asked)
        assert allowed.status_code == 200
        assert problem(asked_as(service, Origin="https://example.org")) == (403, "ForeignPage")


def test_which_addresses_only_this_machine_reaches() -> None:
    own = ("127.0.0.1", "127.8.9.1", "::1", "localhost")
    others = ("0.0.0.0", "::", "192.168.1.4", "example.org", "")
    assert [is_loopback(host) for host in own] == [True] * len(own)
    assert [is_loopback(host) for host in others] == [False] * len(others)
    assert url_of("127.0.0.1", 8377) == "http://127.0.0.1:8377"
    assert url_of("::1", 8377) == "http://[::1]:8377"


@pytest.mark.requirement("access.keys")
def test_what_strangers_send_is_not_read(keyed: Service) -> None:
    broken = {"Content-Type": "application/json"}
    for route in ("/v1/memories", "/v1/query", "/v1/admin/keys", "/v1/admin/purge", "/v1/import"):
        for client in (keyed.client("ana"), keyed.client("ana", key="rk_nothing")):
            refused = client.post(route, content=b'{"content": ', headers=broken)
            assert problem(refused) == (401, "NotAuthenticated")


@pytest.mark.requirement("access.isolation")
def test_whom_headers_name() -> None:
    for headers, user in (
        ({"X-Ricordo-User": "ana", "x-openwebui-user-id": "ben"}, "ana"),
        ({"X-OpenWebUI-User-Id": "ben"}, "ben"),
        ({"X-Ricordo-User": " ", "x-openwebui-user-id": ""}, None),
        ({"x-ricordo-user": "žofie".encode().decode("latin-1")}, "žofie"),
        ({"x-ricordo-user": "\xe9"}, "é"),
    ):
        assert user_named(Headers(headers)) == user


@pytest.mark.requirement("access.keys")
def test_who_names_two_users_is_refused(keyed: Service) -> None:
    """A front end that adds its own to what it passes on would else act for the wrong one."""
    client = keyed.client(key=keyed.memory.create_key("service").secret, Host="any.example.org")
    for name in ("X-Ricordo-User", "X-OpenWebUI-User-Id", "X-Ricordo-Agent"):
        user = [("X-Ricordo-User", "ana")] if name == "X-Ricordo-Agent" else []
        twice = client.get("/v1/revision", headers=[*user, (name, "ana"), (name, "ben")])
        assert problem(twice) == (422, "InvalidValue")
        assert name.lower() in twice.json()["detail"]
        same = client.get("/v1/revision", headers=[*user, (name, "ana"), (name, "ana")])
        assert same.status_code == 200


@pytest.mark.requirement("faults.fuzzed")
def test_a_length_that_nobody_can_read_is_too_large() -> None:
    """Some servers hand on what a client says of its length, however long that is."""

    async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the request was let in")

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-length", b"9" * 5_000)]
    scope = {"type": "http", "path": "/v1/memories", "method": "POST", "headers": headers}
    asyncio.run(BodyLimit(nobody)(scope, receive, send))
    assert sent[0]["status"] == 413


@pytest.mark.requirement("http.serve")
def test_while_a_model_is_asked_others_are_answered(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    go_on = threading.Event()
    with FaultyModel() as model:
        model.hang_until(go_on)
        model.answer_with(lambda _request: {"memories": []})
        memory = open_store(
            backend_url,
            port=0,
            service_threads=1,
            model_provider="openai",
            model_api_key="sk-test",
            model_base_url=model.base_url,
        )
        memory.user("ana").observe(
            [{"role": "user", "content": "I moved to Rome in May with my sister."}], thread="t"
        )
        statuses: list[int] = []
        with running(memory) as service:
            ana = service.client("ana")

            def form() -> None:
                statuses.append(ana.post("/v1/form").status_code)

            forming = [threading.Thread(target=form) for _ in range(2)]
            for one in forming:
                one.start()
            assert model.wait_for_requests(1)
            assert service.client().get("/readyz").status_code == 200
            assert service.client("ben").get("/v1/revision").status_code == 200
            assert statuses == []
            go_on.set()
            for one in forming:
                one.join()
        assert 200 in statuses


@pytest.mark.parametrize(("trusted", "counted"), [("", 1), ("10.0.0.0/8", 1), ("127.0.0.1", 9)])
def test_only_a_named_proxy_says_whom_a_request_comes_from(
    backend_url: str, open_store: Callable[..., Memory], trusted: str, counted: int
) -> None:
    """Else whoever guesses keys is somebody else with every guess."""
    store = open_store(
        backend_url, port=0, require_keys=True, rate_limit_per_minute=1, trusted_proxies=trusted
    )
    with running(store) as service:
        answers = [
            service.client(X_Forwarded_For=f"192.0.2.{number}").get("/v1/revision").status_code
            for number in range(9)
        ]
    assert (answers.count(401), answers.count(429)) == (counted, 9 - counted)


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("192.0.2.1", False),
        ("2001:db8::/64", True),
        ("2001:db8:1::/64", False),
        ("", False),
    ],
)
def test_which_places_are_those_of_proxies(place: str, named: bool) -> None:
    assert is_within(place, ["127.0.0.1", "10.0.0.0/8", "2001:db8::7"]) is named


def test_a_proxy_that_is_no_address(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    store = open_store(sqlite_url, port=0, trusted_proxies="127.0.0.1, gateway")
    with pytest.raises(InvalidValue, match="trusted_proxies: 'gateway' is no address"):
        serving(store, print)


def test_no_cache_keeps_what_the_api_answers(service: Service, keyed: Service) -> None:
    ana = service.client("ana")
    made = ana.post("/v1/memories", json={"content": "Drinks tea"})
    answers = [made, ana.get("/v1/memories"), ana.get("/v1/memories/999"), ana.get("/v1/nothing")]
    answers += [ana.post("/v1/memories", content=b"{"), ana.head("/v1/memories")]
    answers += [keyed.client().get("/v1/memories"), ana.get("/mcp"), ana.get("/ui/memories")]
    assert {one.headers.get("cache-control") for one in answers} == {"no-store"}
    assert "cache-control" not in ana.get("/healthz").headers


@pytest.mark.requirement("recall.reread")
def test_a_search_that_waits_for_a_thread_counts_as_under_way(
    open_store: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    run = Threads.run

    async def noting(self: Threads, work: Callable[[], Any]) -> Any:
        counts.append(under_way.get().count)
        return await run(self, work)

    monkeypatch.setattr(Threads, "run", noting)
    with running(open_store(":memory:", port=0, embedding_provider="none")) as service:
        service.client("ana").post("/v1/memories/search", json={"query": "tea"}).raise_for_status()
    assert counts == [1]
    assert under_way.get().count == 0
