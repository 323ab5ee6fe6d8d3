"""MCP in the service: behind its keys, limits and guards, for the user of each request."""

import asyncio
import contextlib
import json
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest

from ricordo import InvalidValue, Memory, Tools
from ricordo.http.app import create_app
from ricordo.limits import MAX_REQUEST_BYTES
from tests.mcp.legs import MODES, done, each_mode, over_http, refused, text_at, value_of
from tests.mcp.test_progress import settings_of
from tests.support.endpoints import EmbeddingServer
from tests.support.served import served
from tests.support.service import Service, running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("mcp.http")

ACCEPTED = {"Accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def service(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    with running(open_store(backend_url, port=0)) as started:
        yield started


@pytest.fixture
def keyed(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    with running(open_store(backend_url, port=0, require_keys=True)) as started:
        yield started


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def post(client: httpx2.Client, message: object = LIST, **headers: str) -> httpx2.Response:
    """A message as a client of an earlier version sends it."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post("/mcp", json=message, headers={**ACCEPTED, **given})


def answered(response: httpx2.Response) -> dict[str, Any]:
    """The one message of a stream of events."""
    assert response.status_code == 200, response.text
    (line,) = (one for one in response.text.splitlines() if one.startswith("data: "))
    found: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return found


@each_mode
def test_a_client_reaches_everything(service: Service, mode: str) -> None:
    async def talk() -> None:
        async with over_http(service.url, user="ana", mode=mode) as client:
            listed = [one.name for one in (await client.list_tools()).tools]
            assert listed == list(Tools(service.memory.user("ana")).names)
            added = await done(client, "memory_add", content="Drinks green tea. 🍵")
            seen = await done(client, "memory_search", query="tea")
            assert [one["id"] for one in seen["results"]] == [added["id"]]
            mistaken = await client.call_tool("memory_add", {"content": ""})
            assert (
                value_of(mistaken)
                == Tools(service.memory.user("ana")).run("memory_add", {"content": ""}).value
            )
            assert "🍵" in await text_at(client, "ricordo://memory.md")
            assert len((await client.list_resources()).resources) == 4
            assert len((await client.get_prompt("memory_guide")).messages) == 1
            assert (await refused(client, "ricordo://memories/99")).message == "no memory 99"

    asyncio.run(talk())


def test_the_address_or_a_setting_names_the_sets_of_tools(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url, port=0, mcp_tools="query, profile")
    with running(memory) as service:
        client = service.client("ana")
        for query, sets in (
            ("", ("query", "profile")),
            ("?tools=profile,query", ("profile", "query")),
            ("?tools=single", ("single",)),
        ):
            response = client.post(f"/mcp{query}", json=LIST, headers=ACCEPTED)
            listed = [one["name"] for one in answered(response)["result"]["tools"]]
            assert listed == list(Tools(memory.user("ana"), *sets).names)
        for query, kind in (
            ("?tools=swimming", "InvalidValue"),
            ("?tools=single&tools=query", "InvalidValue"),
            ("?tool=single", "UnknownField"),
        ):
            refusal = client.post(f"/mcp{query}", json=LIST, headers=ACCEPTED)
            assert (refusal.status_code, refusal.json()["type"]) == (422, kind)
            assert "tools" in refusal.json()["detail"]
    with pytest.raises(InvalidValue, match="setting mcp_tools: there is no set 'swimming'"):
        create_app(open_store(sqlite_url, mcp_tools="swimming"))


def test_what_is_no_message_is_refused_and_harms_nobody(service: Service) -> None:
    client = service.client("ana")
    for method in ("GET", "DELETE", "PUT"):  # no stream is kept open
        refusal = client.request(method, "/mcp", headers=ACCEPTED)
        assert (refusal.status_code, refusal.headers["allow"]) == (405, "POST")
        assert refusal.headers["content-type"] == "application/problem+json"
    headers = {**ACCEPTED, "Content-Type": "application/json"}
    for body in (b"", b"{", b"[]", b"7", b"\xff\xfe", b'{"jsonrpc": "1.0"}'):
        assert client.post("/mcp", content=body, headers=headers).status_code == 400
    assert answered(post(client))["result"]["tools"]


def test_who_is_not_let_in_hears_a_problem(keyed: Service) -> None:
    for client in (keyed.client("ana"), keyed.client(key="rk_wrong")):
        refusal = post(client)
        assert (refusal.status_code, refusal.json()["type"]) == (401, "NotAuthenticated")
        assert refusal.headers["www-authenticate"] == "Bearer"
    anyone = keyed.memory.create_key("service").secret
    refusal = post(keyed.client(key=anyone))
    assert (refusal.status_code, refusal.json()["type"]) == (401, "NotAuthenticated")
    mine = keyed.memory.create_key("mine", user="ana").secret
    refusal = post(keyed.client("ben", key=mine))
    assert (refusal.status_code, refusal.json()["type"]) == (403, "PermissionMissing")
    assert answered(post(keyed.client(key=mine)))["result"]["tools"]


@pytest.mark.requirement("mcp.isolation")
@each_mode
def test_each_key_reaches_its_own(keyed: Service, mode: str) -> None:
    make = keyed.memory.create_key
    ana, ben = keyed.memory.user("ana"), keyed.memory.user("ben")
    tea, money = ana.add("Drinks tea.", theme="food"), ana.add("Earns much.", theme="money")
    theirs = ben.add("Ben's own.")
    callers: list[tuple[dict[str, Any], set[int]]] = [
        ({"key": make("user", user="ana").secret}, {tea.id, money.id}),
        ({"key": make("service").secret, "user": "ana"}, {tea.id, money.id}),
        ({"key": make("service").secret, "user": "ben"}, {theirs.id}),
        (
            {"key": make("cook", user="ana", agent="cook", categories=["food"]).secret},
            {tea.id},
        ),
    ]

    async def seen(caller: dict[str, Any]) -> set[int]:
        async with over_http(keyed.url, mode=mode, **caller) as client:
            found = await done(client, "memory_search", query="*")
            listed = {one.uri for one in (await client.list_resources()).resources}
            readable = set()
            for one in (tea.id, money.id, theirs.id):
                with contextlib.suppress(Exception):
                    readable.add(
                        json.loads(await text_at(client, f"ricordo://memories/{one}"))["id"]
                    )
            assert {f"ricordo://memories/{one}" for one in readable} <= listed
            assert {one["id"] for one in found["results"]} == readable
            return readable

    for caller, expected in callers:
        assert asyncio.run(seen(caller)) == expected


@pytest.mark.requirement("mcp.isolation")
def test_callers_at_once_never_get_anothers(keyed: Service) -> None:
    users = [f"user-{number}" for number in range(3)]
    key = keyed.memory.create_key("service").secret
    for user in users:
        keyed.memory.user(user).add(f"This is of {user}.")

    async def ask(user: str, mode: str) -> None:
        async with over_http(keyed.url, key=key, user=user, mode=mode) as client:
            for _ in range(2):
                found = await done(client, "memory_search", query="*")
                assert [one["content"] for one in found["results"]] == [f"This is of {user}."]

    async def all_at_once() -> None:
        async with anyio.create_task_group() as tasks:
            for user in users:
                for mode in MODES:
                    tasks.start_soon(ask, user, mode)

    asyncio.run(all_at_once())


@pytest.mark.requirement("mcp.isolation")
def test_no_session_is_handed_out_and_a_made_up_one_means_nothing(keyed: Service) -> None:
    make = keyed.memory.create_key
    keyed.memory.user("ana").add("Ana's secret.")
    ana = keyed.client(key=make("ana", user="ana").secret)
    opened = post(ana, HELLO)
    assert answered(opened)["result"]["serverInfo"]["name"] == "ricordo"
    assert "mcp-session-id" not in opened.headers
    others = {
        "another user": keyed.client(key=make("ben", user="ben").secret),
        "a service for another": keyed.client("ben", key=make("service").secret),
        "another agent": keyed.client(
            key=make("cook", user="ana", agent="cook", categories=["food"]).secret
        ),
    }
    search = call("memory_search", query="*")
    for given in ("", "0" * 32, opened.headers["x-request-id"]):
        for whose, client in others.items():
            told = answered(post(client, search, Mcp_Session_Id=given))["result"]
            assert told["structuredContent"]["results"] == [], whose
        mine = answered(post(ana, search, Mcp_Session_Id=given))["result"]
        assert len(mine["structuredContent"]["results"]) == 1
        assert post(keyed.client(), search, Mcp_Session_Id=given).status_code == 401


def test_a_revoked_key_is_refused_from_the_next_request_on(keyed: Service) -> None:
    made = keyed.memory.create_key("mine", user="ana")
    client = keyed.client(key=made.secret)
    assert answered(post(client))["result"]["tools"]
    keyed.memory.revoke_key(made.key.id)
    assert post(client).status_code == 401


def test_pages_of_others_are_kept_away(service: Service) -> None:
    for headers in ({"Origin": "https://elsewhere.example"}, {"Host": "elsewhere.example"}):
        refusal = post(service.client("ana"), **headers)
        assert (refusal.status_code, refusal.json()["type"]) == (403, "ForeignPage")
    origin = service.url
    assert post(service.client("ana"), Origin=origin).status_code == 200


@pytest.mark.requirement("packaging.bare")
def test_without_the_library_the_answer_says_what_to_install(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    refusal = post(service.client("ana"))
    assert (refusal.status_code, refusal.json()["type"]) == (501, "NotImplemented")
    said = "/mcp needs the mcp extra: pip install 'ricordo[mcp]'"
    assert refusal.json()["detail"] == said


def test_too_many_requests_are_refused(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(sqlite_url, port=0, require_keys=True, rate_limit_per_minute=3)
    with running(memory) as service:
        client = service.client(key=memory.create_key("mine", user="ana").secret)
        statuses = [post(client).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert post(client).headers["retry-after"]


def test_a_request_that_is_too_large_is_refused(service: Service) -> None:
    refusal = post(service.client("ana"), call("memory_add", content="x" * MAX_REQUEST_BYTES))
    assert (refusal.status_code, refusal.json()["type"]) == (413, "RequestTooLarge")


def test_requests_are_counted_and_logged_without_content(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    client = service.client("ana")
    counted = 'ricordo_http_requests_total{method="POST",route="/mcp",status="2xx"} 2.0'
    with caplog.at_level(logging.DEBUG, logger="ricordo"):
        answered(post(client, call("memory_add", content="Xylophone lessons")))
        answered(post(client, call("memory_get", id="Xylophone")))
        wait_until(lambda: counted in client.get("/metrics").text)  # counted after the answer
    told = [str(vars(one)) for one in caplog.records if one.name == "ricordo.requests"]
    kept, refused = (one for one in told if "/mcp" in one)
    assert "InvalidValue" in refused  # a call that fails is status 200, and an error in the log
    assert "InvalidValue" not in kept
    assert [one for one in caplog.records if "Xylophone" in str(vars(one))] == []


@pytest.mark.slow
@each_mode
def test_stopping_waits_for_calls_and_for_nothing_else(sqlite_url: str, mode: str) -> None:
    """A call under way is answered; a connection that only stays open holds nothing up."""
    with EmbeddingServer() as embedder:
        go_on = threading.Event()
        embedder.hang_until(go_on)
        environment = {
            f"RICORDO_{name.upper()}": str(value) for name, value in settings_of(embedder).items()
        }
        found: list[Any] = []
        told: list[float] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)

        async def search(url: str) -> None:
            async with over_http(url, user="ana", mode=mode) as client:
                await client.list_tools()  # else it does after the call, when nobody answers
                found.append(await client.call_tool("memory_search", {"query": "tea"}, None, hear))

        with served(sqlite_url, **environment) as store, httpx2.Client(base_url=store.url) as idle:
            assert "/mcp" not in idle.get("/openapi.json").json()["paths"]
            calling = threading.Thread(target=lambda: asyncio.run(search(store.url)))
            calling.start()
            try:
                wait_until(lambda: ["tea"] in embedder.embedded)
                store.ask_to_stop()
                wait_until(lambda: not takes_connections(store.url))
                heard = len(told)
                wait_until(lambda: len(told) >= heard + 2)  # it goes on, and so does its stream
            finally:
                go_on.set()
            assert store.ended() == 0
            calling.join()
    assert [value_of(one)["results"] for one in found] == [[]]


def takes_connections(url: str) -> bool:
    place = urlsplit(url)
    try:
        socket.create_connection((place.hostname, place.port)).close()
    except OSError:
        return False
    return True
