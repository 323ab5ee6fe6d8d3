"""How much, how often and from where: the limits of the service, one by one."""

import asyncio
from collections.abc import Callable

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from ricordo.http.addresses import is_loopback, url_of
from ricordo.http.bodies import BodyLimit
from ricordo.http.limiting import RateLimiter
from ricordo.http.problems import TooManyRequests
from ricordo.limits import MAX_RATE_BUCKETS, MAX_REQUEST_BYTES
from ricordo.memory import Memory
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


# -- how often ---------------------------------------------------------------------------------


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


def test_it_says_when_to_try_again() -> None:
    time = Time()
    limiter = RateLimiter(6, time)
    left(limiter, "ana")
    with pytest.raises(TooManyRequests) as refused:
        limiter.count("ana")
    assert refused.value.retry_after == 10
    time.now += refused.value.retry_after
    limiter.count("ana")


def test_callers_are_counted_apart() -> None:
    limiter = RateLimiter(3, Time())
    assert left(limiter, "ana") == 3
    assert left(limiter, "ben") == 3


def test_without_a_limit_nothing_is_counted() -> None:
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


def test_a_key_has_its_own_share(backend_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(backend_url, port=0, require_keys=True, rate_limit_per_minute=3)
    with running(memory) as service:
        one, two = (
            service.client(key=memory.create_key(name, user="ana").secret)
            for name in ("one", "two")
        )
        assert [one.get("/v1/revision").status_code for _ in range(3)] == [200] * 3
        refused = one.get("/v1/revision")
        assert problem(refused) == (429, "TooManyRequests")
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert two.get("/v1/revision").status_code == 200
        assert one.get("/healthz").status_code == 200


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
        assert good.get("/v1/revision").status_code == 200


def test_on_a_loopback_address_without_keys_nobody_is_counted(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(backend_url, port=0, rate_limit_per_minute=1)
    with running(memory) as service:
        client = service.client("ana")
        assert [client.get("/v1/revision").status_code for _ in range(3)] == [200] * 3


# -- how much ----------------------------------------------------------------------------------


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


# -- from where --------------------------------------------------------------------------------


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
        assert asked_as(service, **allowed).status_code == 200
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


def test_no_page_is_let_in_by_default(service: Service) -> None:
    answered = asked_as(service)
    assert not [name for name in answered.headers if name.startswith("access-control-")]


def test_where_keys_are_required_any_name_will_do(keyed: Service) -> None:
    key = keyed.memory.create_key("one", user="ana").secret
    asked = keyed.client(key=key, Host="memory.example.org").get("/v1/revision")
    assert asked.status_code == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.4", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_how_addresses_are_written() -> None:
    assert url_of("127.0.0.1", 8377) == "http://127.0.0.1:8377"
    assert url_of("::1", 8377) == "http://[::1]:8377"


# -- who ---------------------------------------------------------------------------------------


@pytest.mark.requirement("access.keys")
@pytest.mark.parametrize(
    "route", ["/v1/memories", "/v1/query", "/v1/admin/keys", "/v1/admin/purge", "/v1/import"]
)
def test_what_strangers_send_is_not_read(keyed: Service, route: str) -> None:
    broken = {"Content-Type": "application/json"}
    for client in (keyed.client("ana"), keyed.client("ana", key="rk_nothing")):
        refused = client.post(route, content=b'{"content": ', headers=broken)
        assert problem(refused) == (401, "NotAuthenticated")


@pytest.mark.requirement("access.keys")
def test_who_names_two_users_is_refused(keyed: Service) -> None:
    """A front end that adds its own to what it passes on would else act for the wrong one."""
    client = keyed.client(key=keyed.memory.create_key("service").secret)
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
