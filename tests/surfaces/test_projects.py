"""A project can be named on every surface, and keeps what follows to it."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo import AsyncMemory, Memory, Tools, UserMemory
from tests.mcp.legs import in_process, over_http, value_of
from tests.support.commandline import Ran, ricordo
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("projects.surfaces")

SHOP, BLOG = "github.com/acme/shop", "github.com/acme/blog"


@pytest.fixture
def two(ana: UserMemory) -> dict[str, int]:
    """A memory of each of two projects."""
    return {one: ana.narrow(project=one).add(f"Deploys {one}").id for one in (SHOP, BLOG)}


@pytest.fixture
def service(store: Memory) -> Iterator[Service]:
    with running(store) as running_service:
        yield running_service


def test_the_command_line_names_a_project(
    cli: Callable[..., Ran], ana: UserMemory, two: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    added = cli("add", "Tests with pytest", "--project", SHOP, "--json").json["id"]
    assert ana.get(added).project_id == SHOP
    in_shop = cli("list", "--project", SHOP, "--json").json["items"]
    assert {one["id"] for one in in_shop} == {added, two[SHOP]}
    assert cli("get", two[BLOG], "--project", SHOP).code == 3
    monkeypatch.setenv("RICORDO_PROJECT", BLOG)
    assert [one["id"] for one in cli("list", "--json").json["items"]] == [two[BLOG]]
    assert "about all of a user's projects" in cli("counters").err
    everything = cli("list", "--project", "", "--json").json["items"]
    assert len(everything) == 3
    only = cli("search", "deploys", "--project", "", "--only-project", SHOP, "--json").json
    assert [one["id"] for one in only["results"]] == [two[SHOP]]


def test_projects_are_listed_by_the_command_line(
    cli: Callable[..., Ran], two: dict[str, int]
) -> None:
    listed = cli("projects", "--json").json
    assert {one["project_id"] for one in listed} == set(two)
    assert SHOP in cli("projects").out
    assert [one["project_id"] for one in cli("projects", "--project", SHOP, "--json").json] == [
        SHOP
    ]


def test_a_header_names_a_project(service: Service, ana: UserMemory, two: dict[str, int]) -> None:
    client = service.client("ana", X_Ricordo_Project=SHOP)
    listed = client.get("/v1/memories").json()["items"]
    assert [(one["id"], one["project_id"]) for one in listed] == [(two[SHOP], SHOP)]
    assert client.get(f"/v1/memories/{two[BLOG]}").status_code == 404
    made = client.post("/v1/memories", json={"content": "Tests with pytest"}).json()["id"]
    assert ana.get(made).project_id == SHOP
    turn = {"messages": [{"role": "user", "content": "Hello"}]}
    assert client.post("/v1/threads/t1/turns", json=turn).status_code == 201
    elsewhere = service.client("ana", X_Ricordo_Project=BLOG)
    refused = elsewhere.post("/v1/threads/t1/turns", json=turn)
    assert (refused.status_code, "another project" in refused.json()["detail"]) == (409, True)
    assert client.get("/v1/export").status_code == 403
    listed = service.client("ana").get("/v1/projects").json()
    assert {one["project_id"]: one["threads"] for one in listed} == {SHOP: 1, BLOG: 0}
    wrong = service.client("ana", X_Ricordo_Project="x" * 1000).get("/v1/memories")
    assert wrong.status_code == 422 or wrong.status_code == 400


def test_a_repeated_request_in_another_project_is_another(
    service: Service, ana: UserMemory
) -> None:
    for project in (SHOP, BLOG, SHOP):
        client = service.client("ana", X_Ricordo_Project=project, Idempotency_Key="once")
        assert client.post("/v1/memories", json={"content": "Same"}).status_code == 201
    assert {item.project_id for item in ana.list()} == {SHOP, BLOG}


def test_mcp_keeps_to_the_project(
    service: Service, ana: UserMemory, two: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def within() -> list[Any]:
        async with in_process(ana.narrow(project=SHOP)) as client:
            listed = value_of(await client.call_tool("memory_search", {"query": "deploys"}))
            uris = {str(one.uri) for one in (await client.list_resources()).resources}
            return [listed, uris]

    listed, uris = asyncio.run(within())
    assert [one["id"] for one in listed["results"]] == [two[SHOP]]
    assert "ricordo://memory.md" not in uris
    assert {"ricordo://changes", f"ricordo://memories/{two[SHOP]}"} <= uris

    async def by_header() -> Any:
        async with over_http(service.url, user="ana", project=BLOG) as client:
            return value_of(await client.call_tool("memory_search", {"query": "deploys"}))

    assert [one["id"] for one in asyncio.run(by_header())["results"]] == [two[BLOG]]


def test_tools_and_the_asynchronous_face_keep_to_it(
    store: Memory, ana: UserMemory, two: dict[str, int]
) -> None:
    tools = Tools(ana.narrow(project=SHOP))
    found = tools.run("memory_search", {"query": "deploys"}).value
    assert [one["id"] for one in found["results"]] == [two[SHOP]]

    async def narrowed() -> list[int]:
        whole = AsyncMemory(store)
        one = await whole.user("ana", project=BLOG).list()
        other = await whole.user("ana").narrow(project=SHOP).list()
        return [item.id for item in (*one, *other)]

    assert asyncio.run(narrowed()) == [two[BLOG], two[SHOP]]


def test_names_of_projects_are_completed(backend_url: str, two: dict[str, int]) -> None:
    if "://" in backend_url:
        pytest.skip("names on a server are not looked up while typing")
    from ricordo.cli.store import Named, names_in_store

    known = names_in_store(Named.PROJECT, ["--db", backend_url, "-u", "ana"])
    assert known == sorted(two)
    assert ricordo("list", "--help").out.count("--project") >= 1
