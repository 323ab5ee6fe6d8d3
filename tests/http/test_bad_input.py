"""Whatever is sent, the answer is a refusal that says what was wrong, and nothing was written."""

import json
from typing import Any

import httpx2
import pytest

from ricordo import limits
from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.problems")

JSON = {"Content-Type": "application/json"}
BAD_BODIES: list[tuple[str, bytes, int]] = [
    ("nothing", b"", 422),
    ("not JSON", b"{content: tea}", 400),
    ("cut off", b'{"content": "te', 400),
    ("not UTF-8", b'{"content": "\xff\xfe"}', 400),
    ("nested without end", b"[" * 100_000, 400),
    ("a number of 5000 digits", b'{"content": "x", "importance": %s}' % (b"9" * 5000), 400),
    ("a huge number", b'{"content": "x", "importance": 1e400}', 422),
    ("not a number", b'{"content": "x", "importance": NaN}', 422),
    ("a list", b"[]", 422),
    ("a text", b'"tea"', 422),
    ("null", b"null", 422),
    ("no content", b"{}", 422),
    ("no text", b'{"content": 5}', 422),
    ("an empty text", b'{"content": "  "}', 422),
    ("a text with NUL", b'{"content": "a\\u0000b"}', 422),
    ("half a character", b'{"content": "\\ud800"}', 422),
    ("a field named by half a character", b'{"content": "x", "\\ud800": 1}', 422),
    ("an unknown field", b'{"content": "x", "colour": "green"}', 422),
    ("an unknown type", b'{"content": "x", "type": "rumour"}', 422),
    ("a number for a truth", b'{"content": "x", "pinned": 1}', 422),
    ("a text for a number", b'{"content": "x", "importance": "3"}', 422),
    ("a truth for a number", b'{"content": "x", "importance": true}', 422),
    ("out of range", b'{"content": "x", "importance": 6}', 422),
    ("no time", b'{"content": "x", "valid_from": "soon"}', 422),
    ("a year too many", b'{"content": "x", "valid_from": "10000-01-01"}', 422),
    ("two headings", b'{"content": "x", "theme": "a", "category": "b"}', 422),
    ("an id beyond ids", b'{"content": "x", "supersedes": 9223372036854775808}', 422),
    ("a negative id", b'{"content": "x", "supersedes": -1}', 422),
    ("a text for a list", b'{"content": "x", "tags": "a"}', 422),
    ("control characters in an id", b'{"content": "x", "run_id": "a\\nb"}', 422),
]


def test_bad_bodies_are_refused(service: Service) -> None:
    client = service.client("ana")
    for what, body, status in BAD_BODIES:
        refused = client.post("/v1/memories", content=body, headers=JSON)
        assert problem(refused)[0] == status, what
        assert refused.json()["detail"], what
    assert client.get("/v1/memories", params={"status": "any"}).json()["items"] == []


def test_texts_that_are_too_long_are_refused(service: Service) -> None:
    client = service.client("ana")
    longest = {
        "content": limits.MAX_CONTENT_CHARS,
        "key": limits.MAX_KEY_CHARS,
        "theme": limits.MAX_THEME_CHARS,
        "source_context": limits.MAX_SOURCE_CONTEXT_CHARS,
        "thread_id": limits.MAX_REFERENCE_CHARS,
        "reason": limits.MAX_REASON_CHARS,
    }
    for name, maximum in longest.items():
        body: dict[str, Any] = {"content": "x", name: "y" * maximum}
        assert client.post("/v1/memories", json=body).status_code == 201, name
        body[name] += "y"
        assert problem(client.post("/v1/memories", json=body))[0] == 422, name
        client.post("/v1/memories/purge", json={"before_time": True})
        for item in client.get("/v1/memories").json()["items"]:
            client.delete(f"/v1/memories/{item['id']}")


def test_other_kinds_of_content_are_not_read(service: Service) -> None:
    client = service.client("ana")
    body = json.dumps({"content": "Prefers tea"}).encode()
    kinds = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
    for kind in kinds:  # what a form on somebody's page could send
        refused = client.post("/v1/memories", content=body, headers={"Content-Type": kind})
        assert problem(refused)[0] == 415
    without = httpx2.Request("POST", f"{service.url}/v1/memories", content=body)
    without.headers["X-Ricordo-User"] = "ana"
    without.headers.pop("content-type", None)
    assert problem(client.send(without))[0] == 415
    assert client.get("/v1/memories").json()["items"] == []
    charset = {"Content-Type": "application/json; charset=utf-8"}
    assert client.post("/v1/memories", content=body, headers=charset).status_code == 201


BAD_ADDRESSES = [
    "/v1/memories?colour=green",
    "/v1/memories?limit=ten",
    "/v1/memories?limit=1&limit=2",
    "/v1/memories?limit=99999999999999999999999999",
    "/v1/memories?pinned=perhaps",
    "/v1/memories?sort=colour",
    "/v1/memories?order=up",
    "/v1/memories?cursor=nonsense",
    "/v1/memories?status=lost",
    "/v1/memories?theme=",
    "/v1/memories?contains=%00",
    "/v1/memories?created_after=soon",
    "/v1/memories/0",
    "/v1/memories/-1",
    "/v1/memories/one",
    "/v1/memories/9223372036854775808",
    "/v1/memories/" + "9" * 5000,
    "/v1/memories/1?include_deleted=perhaps",
    "/v1/memories/1?colour=green",
    "/v1/memories/1/history?limit=0",
    "/v1/memories/1/related?limit=51",
    "/v1/memories/0/source-turn",
    "/v1/memories/0/lineage",
    "/v1/graph?limit=1",
    "/v1/graph?limit=201",
    "/v1/graph?theme=",
    "/v1/graph?colour=green",
    "/v1/memories/1/links?colour=green",
    "/v1/memories/search?threshold=2",
    "/v1/memories/search?threshold=nan",
    "/v1/memories/search?recency_days=-1",
    "/v1/memories/search?query=" + "x" * 1001,
    "/v1/themes?colour=green",
    "/v1/changes?since=-1",
    "/v1/changes?since=9223372036854775808",
    "/v1/revision?colour=green",
]


def test_bad_addresses_are_refused(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers tea"})
    for address in BAD_ADDRESSES:
        assert problem(client.get(address))[0] == 422, address


BAD_REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/memories/search", {"query": "x" * 1001}),
    ("POST", "/v1/memories/search", {"theme": 7}),
    ("POST", "/v1/memories/search", {"theme": []}),
    ("POST", "/v1/memories/search", {"colour": "green"}),
    ("POST", "/v1/memories/search", {"recency_days": 1, "created_after": "2025-01-01"}),
    ("POST", "/v1/memories/batch", {"memories": "many"}),
    ("POST", "/v1/memories/batch", {"memories": [{"content": "x", "supersedes": 1}]}),
    ("POST", "/v1/memories/1/archive", {"colour": "green"}),
    ("POST", "/v1/memories/1/pin", {"pinned": "yes"}),
    ("POST", "/v1/memories/forget", {"theme": "drinks"}),
    ("POST", "/v1/memories/merge", {"ids": [1], "content": "x"}),
    ("POST", "/v1/memories/merge", {"ids": [1, 1], "content": "x"}),
    ("POST", "/v1/memories/merge", {"ids": [1, True], "content": "x"}),
    ("POST", "/v1/memories/purge", {"before_time": "yes"}),
    ("PATCH", "/v1/themes/general", {"context": "some"}),
    ("PATCH", "/v1/themes/general", {"rag_length": 0}),
    ("POST", "/v1/query", {}),
    ("POST", "/v1/query", {"query": "tea", "filters": {"colour": "green"}}),
    ("POST", "/v1/query", {"query": "tea", "returns": "poems"}),
    ("POST", "/v1/query", {"query": "tea", "categories": ["a"], "filters": {"category": ["b"]}}),
    ("POST", "/v1/context", {"modes": ["guess"]}),
    ("POST", "/v1/context", {"modes": []}),
    ("POST", "/v1/context", {"budget_tokens": 1}),
    ("POST", "/v1/context", {"tools": [{"name": "a\x00b"}]}),
    ("POST", "/v1/context", {"message": "x " * 5000, "budget_tokens": 300}),
    ("POST", "/v1/feedback", {"recalled": [1], "used": [2]}),
    ("POST", "/v1/feedback", {"recalled": [1], "used": [1], "answer": "tea"}),
]


def test_bad_requests_are_refused(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers tea"})
    before = client.get("/v1/changes").json()
    for method, address, body in BAD_REQUESTS:
        refused = client.request(method, address, json=body)
        assert problem(refused)[0] == 422, (address, body)
    assert client.get("/v1/changes").json() == before


def test_no_such_route_and_no_such_method(service: Service) -> None:
    client = service.client("ana")
    assert problem(client.get("/v1/nothing")) == (404, "NotFound")
    assert problem(client.get("/v1/memories/")) == (404, "NotFound")
    refused = client.put("/v1/memories")
    assert problem(refused) == (405, "MethodNotAllowed")
    assert refused.headers["allow"]


def test_strange_names_of_users_and_agents(service: Service) -> None:
    client = service.client()
    url = f"{service.url}/v1/memories"
    for name in (b"*", b"a" * 201, b"a\tb", "zero\u200bwidth".encode()):
        assert problem(client.get(url, headers={b"X-Ricordo-User": name}))[0] == 422, name
    agent = {b"X-Ricordo-User": b"ana", b"X-Ricordo-Agent": b"a\tb"}
    assert problem(client.get(url, headers=agent))[0] == 422
    umlaut = {b"X-Ricordo-User": "jürgen".encode()}
    client.post(url, json={"content": "Prefers tea"}, headers=umlaut)
    assert service.memory.users() == ("jürgen",)
    nobody = client.get(url)
    assert problem(nobody) == (401, "NotAuthenticated")
    assert nobody.headers["www-authenticate"] == "Bearer"


EACH_ROUTE = [
    ("GET", "", None),
    ("GET", "/history", None),
    ("GET", "/related", None),
    ("GET", "/source-turn", None),
    ("GET", "/lineage", None),
    ("GET", "/links", None),
    ("POST", "/archive", None),
    ("POST", "/restore", {"reason": "x"}),
    ("POST", "/pin", None),
    ("POST", "/verify", None),
    ("POST", "/undo", None),
    ("DELETE", "", None),
    ("PUT", "/links/cem", None),
    ("DELETE", "/links/cem", None),
]


def test_other_users_memories_are_like_none(service: Service) -> None:
    ana, ben = service.client("ana"), service.client("ben")
    ana.post("/v1/memories", json={"content": "Prefers tea", "key": "drink"})
    ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink"})
    ben.post("/v1/memories", json={"content": "Has a cat"})
    mine = ben.get("/v1/memories").json()["items"][0]["id"]
    before = ana.get("/v1/changes").json()

    def told(response: httpx2.Response, number: int) -> str:
        assert problem(response) == (404, "MemoryNotFound")
        assert str(number) in response.text
        return response.text.replace(response.headers["x-request-id"], "ID").replace(
            f" {number}", " N"
        )

    for method, address, body in EACH_ROUTE:
        for headers in ({}, {"If-Match": "*"}):
            asked = {"json": body} if body else {}
            theirs = ben.request(method, f"/v1/memories/1{address}", headers=headers, **asked)
            none = ben.request(method, f"/v1/memories/999{address}", headers=headers, **asked)
            assert told(theirs, 1) == told(none, 999), (method, address)
    for body in ({"supersedes": 1}, {"supersedes": 999}):
        refused = ben.post("/v1/memories", json={"content": "x", **body})
        assert problem(refused) == (404, "MemoryNotFound")
    for other in (1, 999):
        refused = ben.post("/v1/memories/merge", json={"ids": [mine, other], "content": "x"})
        assert problem(refused) == (404, "MemoryNotFound")
        refused = ben.post("/v1/feedback", json={"recalled": [other], "used": []})
        assert problem(refused) == (404, "MemoryNotFound")
    refused = ben.post("/v1/memories/forget", json={"key": "drink"})
    assert problem(refused) == (404, "MemoryNotFound")
    assert ana.get("/v1/changes").json() == before
    assert [one["id"] for one in ben.get("/v1/memories").json()["items"]] == [mine]
