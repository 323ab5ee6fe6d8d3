"""The OpenAPI tool server: its document, and calls made from it as its clients do."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from ricordo import Memory, Tools
from ricordo.tools.sets import chosen
from tests.support.problems import problem
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("tools.openapi")

STANDARD = tuple(tool.name for tool in chosen("standard"))
READING = ("memory_search", "memory_get", "memory_list_themes")
MOST_CHARS = {"operation": 300, "parameter": 700}  # that GPT actions allow a description


class ToolClient:
    """What Open WebUI makes of a tool server: it appends paths to the address that it was given,
    and sends the arguments as the body."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        answer = http.get("/tools/openapi.json")
        assert answer.status_code == 200, answer.text
        assert answer.headers["cache-control"] == "no-store"
        self.document: dict[str, Any] = answer.json()
        self.paths = {
            methods["post"]["operationId"]: (path, methods["post"])
            for path, methods in self.document["paths"].items()
        }

    def call(self, name: str, **arguments: Any) -> Any:
        path, operation = self.paths[name]
        assert arguments == {} or "requestBody" in operation
        answer = self._http.post(f"/tools{path}", json=arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()


def descriptions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("description"), str):
            yield value["description"]
        for inner in value.values():
            yield from descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from descriptions(inner)


def test_the_document_describes_the_standard_tools_alone(service: Service) -> None:
    client = ToolClient(service.client("ana"))
    OPENAPI_31_VALIDATOR.validate(client.document)
    assert client.document["openapi"].startswith("3.1.")
    assert client.document["servers"] == [{"url": f"{service.url}/tools"}]
    (scheme,) = client.document["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert tuple(client.paths) == STANDARD
    for tool in chosen("standard"):
        _, operation = client.paths[tool.name]
        assert operation["description"] == tool.description
        assert len(tool.description) <= MOST_CHARS["operation"]
        assert operation["x-openai-isConsequential"] == tool.destructive
        if tool.parameters:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert schema == tool.input_schema()
            assert all("type" in one for one in schema["properties"].values())
            longest = max(map(len, descriptions(schema)))
            assert longest <= MOST_CHARS["parameter"]


def test_each_tool_is_called_by_what_the_document_says(service: Service) -> None:
    tools = Tools(service.memory.user("ana"))
    client = ToolClient(service.client("ana"))
    assert client.call("memory_add", content="Has a cat", theme="pets") == {
        "id": 1,
        "status": "active",
    }
    for name, arguments in (
        ("memory_search", {"query": "*"}),
        ("memory_get", {"id": 1}),
        ("memory_list_themes", {}),
    ):
        assert client.call(name, **arguments) == tools.run(name, arguments).value
    assert client.call("memory_archive", id=1, reason="It ran off")["status"] == "archived"
    http = service.client("ana")
    assert http.post("/tools/memory_list_themes").json() == tools.run("memory_list_themes").value


def test_a_mistake_of_the_model_is_an_answer_for_it(service: Service) -> None:
    client = ToolClient(service.client("ana"))
    tools = Tools(service.memory.user("ana"))
    for arguments in ({"id": 7}, {"id": "seven"}, {}, {"number": 1}):
        told = client.call("memory_get", **arguments)
        assert told == tools.run("memory_get", arguments).value
        assert set(told["error"]) == {"type", "message", "hint"}
    http = service.client("ana")
    assert problem(http.post("/tools/memory", json={})) == (422, "UnknownField")
    assert problem(http.post("/tools/memory_get", json=[1]))[0] == 422
    assert problem(http.post("/tools/memory_get?id=1", json={}))[0] == 422
    service.memory.database.backend.close()
    assert problem(http.post("/tools/memory_list_themes", json={}))[0] == 503


def test_users_whom_open_webui_names_meet_no_others(keyed: Service) -> None:
    key = keyed.memory.create_key("open-webui").secret
    unnamed = ToolClient(keyed.client(key=key))  # as an administrator registers the server
    assert tuple(unnamed.paths) == STANDARD
    ana = ToolClient(keyed.client(key=key, X_OpenWebUI_User_Id="7f0c-ana"))
    ben = ToolClient(keyed.client(key=key, X_OpenWebUI_User_Id="9e1d-ben"))
    added = ana.call("memory_add", content="Has a cat")
    assert [one["id"] for one in ana.call("memory_search")["results"]] == [added["id"]]
    assert ben.call("memory_search")["results"] == []
    assert ben.call("memory_get", id=added["id"])["error"]["type"] == "MemoryNotFound"
    assert ben.call("memory_archive", id=added["id"])["error"]["type"] == "MemoryNotFound"
    nobody = keyed.client(key=key).post("/tools/memory_search", json={})
    assert problem(nobody) == (401, "NotAuthenticated")


def test_a_key_bounds_what_its_tools_reach(keyed: Service) -> None:
    own = keyed.memory.create_key("ana's", user="ana").secret
    assert ToolClient(keyed.client(key=own)).call("memory_search")["results"] == []
    other = keyed.client(key=own, X_OpenWebUI_User_Id="ben")
    assert problem(other.post("/tools/memory_search", json={})) == (403, "PermissionMissing")
    bot = keyed.memory.create_key("bot", user="ana", agent="bot", categories="work").secret
    confined = ToolClient(keyed.client(key=bot))
    refused = confined.call("memory_add", content="Has a cat", theme="pets")
    assert refused["error"]["type"] == "CategoryNotAllowed"
    assert confined.call("memory_add", content="Writes Python", theme="work")["status"] == "active"


def test_the_document_needs_no_key_and_its_tools_do(keyed: Service) -> None:
    assert tuple(ToolClient(keyed.client()).paths) == STANDARD
    for key in (None, "rk_wrong"):
        refused = keyed.client(key=key).post("/tools/memory_search", json={})
        assert problem(refused) == (401, "NotAuthenticated")
    told = keyed.client(key="rk_wrong").get("/tools/openapi.json")
    assert problem(told) == (401, "NotAuthenticated")


def test_who_only_reads_in_a_group_is_offered_what_reads(keyed: Service) -> None:
    keyed.memory.create_group("payments", manager="ana")
    keyed.memory.user("ana").set_member("payments", "ben", "read")
    key = keyed.memory.create_key("chat").secret
    offered = {
        name: tuple(
            ToolClient(
                keyed.client(key=key, X_OpenWebUI_User_Id=name, X_Ricordo_Group="payments")
            ).paths
        )
        for name in ("ana", "ben")
    }
    assert offered == {"ana": STANDARD, "ben": READING}
    stranger = keyed.client("mia", key=key, X_Ricordo_Group="payments")
    assert problem(stranger.get("/tools/openapi.json")) == (404, "GroupNotFound")


def test_a_browser_calls_from_pages_that_are_set(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    page = "https://chat.example.org"
    public = "https://memory.example.org"
    memory = open_store(backend_url, port=0, public_url=public, cors_origins=page)
    key = memory.create_key("ana's", user="ana").secret
    with running(memory) as service:
        for method, path in (("GET", "openapi.json"), ("POST", "memory_search")):
            asked = {
                "Origin": page,
                "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization,content-type,x-session-id",
            }
            allowed = service.client().options(f"/tools/{path}", headers=asked)
            assert allowed.status_code == 200
            assert allowed.headers["access-control-allow-origin"] == page
            other = {**asked, "Origin": "https://example.org"}
            refused = service.client().options(f"/tools/{path}", headers=other)
            assert "access-control-allow-origin" not in refused.headers
        client = ToolClient(service.client(key=key, Origin=page, X_Session_Id="s-1"))
        assert client.document["servers"] == [{"url": f"{public}/tools"}]
        assert client.call("memory_search")["results"] == []
