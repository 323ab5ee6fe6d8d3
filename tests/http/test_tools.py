"""Tools over HTTP: what a model is told of them, and what it gets."""

import pytest

from ricordo import Tools
from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("tools.surfaces")


@pytest.mark.parametrize("form", ["openai", "openai_responses", "anthropic"])
def test_tools_are_listed_in_each_form_with_their_guide(service: Service, form: str) -> None:
    client = service.client("ana")
    told = client.get("/v1/tools", params={"sets": "profile, query", "form": form}).json()
    tools = Tools(service.memory.user("ana"), "profile", "query")
    assert told == {"tools": getattr(tools, form)(), "guide": tools.guide()}
    assert client.get("/v1/tools").json()["tools"] == Tools(service.memory.user("x")).openai()


def test_a_set_or_form_that_does_not_exist_is_a_problem(service: Service) -> None:
    client = service.client("ana")
    assert problem(client.get("/v1/tools?sets=all")) == (422, "InvalidValue")
    assert problem(client.get("/v1/tools?form=xml")) == (422, "InvalidValue")
    refused = client.post("/v1/tools/memory_get", json={"sets": ["all"]})
    assert problem(refused) == (422, "InvalidValue")


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


def test_a_fault_of_the_store_is_a_problem(service: Service) -> None:
    client = service.client("ana")
    service.memory.database.backend.close()
    assert problem(client.post("/v1/tools/memory_search", json={}))[0] == 503


def test_repeating_a_call_with_its_key_does_it_once(service: Service) -> None:
    client = service.client("ana")
    body = {"arguments": {"action": "save", "content": "Has a cat", "theme": "pets"}}
    first, again = (
        client.post("/v1/tools/memory", json=body, headers={"Idempotency-Key": "k"})
        for _ in range(2)
    )
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_call_is_about_the_user_of_the_key(keyed: Service) -> None:
    key = keyed.memory.create_key("ben's", user="ben").secret
    keyed.memory.user("ana").add("Ana has a cat")
    client = keyed.client(key=key)
    assert client.post("/v1/tools/memory_get", json={"arguments": {"id": 1}}).json()["is_error"]
    refused = client.post("/v1/tools/memory_get", json={}, headers={"X-Ricordo-User": "ana"})
    assert problem(refused) == (403, "PermissionMissing")
