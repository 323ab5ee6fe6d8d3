"""Every error of the library has its status, and what nobody foresaw gives nothing away."""

import inspect
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ricordo import errors
from ricordo.http import problems
from ricordo.http.problems import EVERYWHERE, STATUS_OF, problem_of, status_of
from ricordo.memory import Memory
from ricordo.user_memory import UserMemory
from tests.support.commandline import ricordo
from tests.support.problems import problem
from tests.support.service import Service, running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("http.problems")

KINDS = [
    kind
    for module in (errors, problems)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, errors.RicordoError) and kind.__module__ == module.__name__
]
STATUS_OF_KIND = {
    "RicordoError": 500,
    "InvalidPolicy": 503,
    "RequestTooLarge": 413,
    "NotAuthenticated": 401,
    "PreconditionFailed": 412,
    "Changed": 412,
    "TooManyRequests": 429,
    "TooManyTransfers": 429,
    "StorageFull": 507,
    "EmbedderUnavailable": 503,
    "IssuerUnavailable": 503,
    "ModelUnavailable": 503,
    "BudgetExhausted": 429,
}
STATUS_OF_FAMILY = {
    errors.InvalidInput: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.AccessDenied: 403,
    errors.StorageError: 503,
    errors.FilesUnavailable: 503,
    errors.EmbeddingError: 502,
    errors.LanguageModelError: 502,
}
ERRORS_PAGE = Path(__file__).parents[2] / "docs" / "howto" / "errors.md"


def made(kind: type[errors.RicordoError]) -> errors.RicordoError:
    """An error of a kind, whatever its constructor wants."""
    error = kind.__new__(kind)
    Exception.__init__(error, "it went wrong")
    error.retry_after = 7  # type: ignore[attr-defined]
    return error


def test_every_error_has_its_status() -> None:
    for kind in KINDS:
        families = [
            number for family, number in STATUS_OF_FAMILY.items() if issubclass(kind, family)
        ]
        expected = STATUS_OF_KIND.get(kind.__name__) or families[0]
        response = problem_of(made(kind))
        assert status_of(made(kind)) == response.status_code == expected, kind
        assert (response.headers.get("www-authenticate") == "Bearer") is (expected == 401)
        assert (
            "retry-after" in response.headers or expected != 429 or kind is errors.BudgetExhausted
        )


def test_the_table_has_no_error_that_does_not_exist() -> None:
    assert set(STATUS_OF) <= set(KINDS)
    documented = {int(status) for status in EVERYWHERE}
    told = {int(status) for status in STATUS_OF.values()}
    # A route says itself where it can answer 412; 500 is a mistake of ours, and promised nowhere.
    assert told - documented == {412, 500}


def test_the_page_on_errors_has_the_status_of_each() -> None:
    rows = re.findall(r"^\| (`.+?) \| \d+ \| (\d+) \|", ERRORS_PAGE.read_text(), re.MULTILINE)
    said = {name: int(status) for names, status in rows for name in re.findall(r"`(\w+)`", names)}
    ours = {kind.__name__: kind for kind in KINDS if kind.__module__ == errors.__name__}
    leaves = {
        name: int(status_of(made(kind))) for name, kind in ours.items() if not kind.__subclasses__()
    }
    assert {name: said.get(name) for name in leaves} == leaves
    assert {name: int(status_of(made(ours[name]))) for name in said} == said


def test_what_nobody_foresaw_gives_nothing_away(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_given: object, **_named: object) -> None:
        raise ZeroDivisionError("ana drinks tea")

    def busy(*_given: object, **_named: object) -> None:
        raise errors.StorageBusy("locked; try again")

    monkeypatch.setattr(UserMemory, "revision", fail)
    with caplog.at_level(logging.ERROR):
        failed = service.client("ana").get("/v1/revision")
        wait_until(lambda: "ZeroDivisionError" in caplog.text)  # logged after it was answered
    assert problem(failed) == (500, "Unexpected")
    assert "tea" not in failed.text
    monkeypatch.setattr(UserMemory, "revision", busy)
    refused = service.client("ana").get("/v1/revision")
    assert problem(refused) == (503, "StorageBusy")
    assert int(refused.headers["retry-after"]) >= 1


def test_a_closed_store_is_unavailable(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(sqlite_url, port=0)
    with running(memory) as service:
        client = service.client("ana")
        assert client.get("/readyz").status_code == 200
        memory.close()
        assert problem(client.get("/readyz")) == (503, "StorageClosed")
        refused = client.get("/v1/revision")
        assert problem(refused) == (503, "StorageClosed")
        assert memory.database.backend.location not in refused.text  # that is the operator's
        assert client.get("/healthz").status_code == 200


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
    ("no content", b"{}", 422),
    ("a text with NUL", b'{"content": "a\\u0000b"}', 422),
    ("half a character", b'{"content": "\\ud800"}', 422),
    ("an unknown field", b'{"content": "x", "colour": "green"}', 422),
    ("a number for a truth", b'{"content": "x", "pinned": 1}', 422),
    ("a text for a number", b'{"content": "x", "importance": "3"}', 422),
    ("two headings", b'{"content": "x", "theme": "a", "category": "b"}', 422),
    ("an id beyond ids", b'{"content": "x", "supersedes": 9223372036854775808}', 422),
    ("control characters in an id", b'{"content": "x", "run_id": "a\\nb"}', 422),
]


def test_bad_bodies_are_refused(service: Service) -> None:
    client = service.client("ana")
    for what, body, status in BAD_BODIES:
        refused = client.post("/v1/memories", content=body, headers=JSON)
        assert problem(refused)[0] == status, what
        assert refused.json()["detail"], what
    assert client.get("/v1/memories", params={"status": "any"}).json()["items"] == []


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
    "/v1/memories?limit=1&limit=2",
    "/v1/memories?limit=99999999999999999999999999",
    "/v1/memories?pinned=perhaps",
    "/v1/memories?cursor=nonsense",
    "/v1/memories?contains=%00",
    "/v1/memories/one",
    "/v1/memories/9223372036854775808",
    "/v1/memories/" + "9" * 5000,
    "/v1/memories/1/history?limit=0",
    "/v1/graph?limit=201",
    "/v1/memories/search?threshold=nan",
    "/v1/memories/search?query=" + "x" * 1001,
    "/v1/changes?since=9223372036854775808",
]


def test_bad_addresses_are_refused(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers tea"})
    for address in BAD_ADDRESSES:
        assert problem(client.get(address))[0] == 422, address


BAD_REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/memories/search", {"recency_days": 1, "created_after": "2025-01-01"}),
    ("POST", "/v1/memories/batch", {"memories": [{"content": "x", "supersedes": 1}]}),
    ("POST", "/v1/memories/1/pin", {"pinned": "yes"}),
    ("POST", "/v1/memories/forget", {"theme": "drinks"}),
    ("POST", "/v1/memories/merge", {"ids": [1, True], "content": "x"}),
    ("PATCH", "/v1/themes/general", {"context": "some"}),
    ("POST", "/v1/query", {"query": "tea", "filters": {"colour": "green"}}),
    ("POST", "/v1/query", {"query": "tea", "categories": ["a"], "filters": {"category": ["b"]}}),
    ("POST", "/v1/context", {"modes": ["guess"]}),
    ("POST", "/v1/context", {"tools": [{"name": "a\x00b"}]}),
    ("POST", "/v1/context", {"message": "x " * 5000, "budget_tokens": 300}),
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


NOWHERE = "http://127.0.0.1:9/v1"


@pytest.mark.requirement("security.secrets-in-logs")
def test_errors_do_not_tell_users_where_the_operators_models_are(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(
        sqlite_url,
        port=0,
        embedder=None,
        embedding_provider="custom_http",
        embedding_model="m",
        embedding_base_url=NOWHERE,
        model_provider="custom_http",
        model_name="m",
        model_base_url=NOWHERE,
    )
    memory.user("ana").add("Prefers tea")
    memory.user("ana").observe([{"role": "user", "content": "I love tea"}], thread="t")
    with running(memory) as service:
        client = service.client("ana")
        found = client.post("/v1/memories/search", json={"query": "tea"})
        formed = client.post("/v1/form", json={})
        told = [
            found.text,
            formed.text,
            client.get("/v1/settings/embeddings").text,
            client.post("/v1/settings/embeddings/test", json={}).text,
            client.post("/v1/settings/embeddings/fill", json={}).text,
            client.get("/ui/settings").text,
        ]
    assert found.json()["degraded"].startswith("custom_http is not available")
    assert formed.status_code == 503
    assert [text for text in told if "127.0.0.1:9" in text] == []


@pytest.mark.requirement("doctor.checks")
def test_the_operator_is_told_by_doctor(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "custom_http")
    monkeypatch.setenv("RICORDO_EMBEDDING_MODEL", "m")
    monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", NOWHERE)
    ran = ricordo("doctor", "--json", "--db", sqlite_url)
    found = {one["check"]: one["found"] for one in ran.json}
    assert found["embedder"].startswith(f"custom_http at {NOWHERE}: ")
