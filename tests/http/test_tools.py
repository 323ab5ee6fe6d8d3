"""Tools over HTTP: what a model is told of them, and what it gets."""

import pytest

from ricordo import Tools
from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("tools.surfaces")


def test_a_call_answers_what_the_library_answers(service: Service) -> None:
    tools = Tools(service.memory.user("ana"))
    client = service.client("ana")
    added = client.post("/v1/tools/memory_add", json={"arguments": {"content": "Has a cat"}})
    assert added.json() == {"result": {"id": 1, "status": "active"}, "is_error": False}
    for arguments in ({"query": "*"}, '{"query":"*"}'):
        found = client.post("/v1/tools/memory_search", json={"arguments": arguments})
        assert found.json()["result"] == tools.run("memory_search", arguments).value


def test_a_mistake_of_the_model_is_an_answer_for_it(service: Service) -> None:
    client = service.client("ana")
    for name, arguments in (
        ("memory_get", {"id": 7}),
        ("memory_get", "{oops"),
        ("memory_eat", {}),
        ("memory_get", None),
    ):
        answer = client.post(f"/v1/tools/{name}", json={"arguments": arguments})
        assert answer.status_code == 200
        expected = Tools(service.memory.user("ana"), "standard", "single", "query", "profile").run(
            name, arguments
        )
        assert answer.json() == {"result": expected.value, "is_error": True}
    offered = client.post("/v1/tools/memory_store", json={"sets": ["standard"]}).json()
    assert offered["result"]["error"]["type"] == "UnknownField"


def test_a_call_is_about_the_user_of_the_key(keyed: Service) -> None:
    key = keyed.memory.create_key("ben's", user="ben").secret
    keyed.memory.user("ana").add("Ana has a cat")
    client = keyed.client(key=key)
    assert client.post("/v1/tools/memory_get", json={"arguments": {"id": 1}}).json()["is_error"]
    refused = client.post("/v1/tools/memory_get", json={}, headers={"X-Ricordo-User": "ana"})
    assert problem(refused) == (403, "PermissionMissing")


def test_tools_are_listed_in_each_form_with_their_guide(service: Service) -> None:
    client = service.client("ana")
    tools = Tools(service.memory.user("ana"), "profile", "query")
    for form in ("openai", "openai_responses", "anthropic"):
        told = client.get("/v1/tools", params={"sets": "profile, query", "form": form}).json()
        assert told == {"tools": getattr(tools, form)(), "guide": tools.guide()}
    assert client.get("/v1/tools").json()["tools"] == Tools(service.memory.user("x")).openai()
    for wrong in ("sets=all", "form=xml"):
        assert problem(client.get(f"/v1/tools?{wrong}")) == (422, "InvalidValue")
    service.memory.database.backend.close()
    assert problem(client.post("/v1/tools/memory_search", json={}))[0] == 503
