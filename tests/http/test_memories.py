"""Memories over HTTP: adding, reading, listing, finding; each says what the library says."""

from typing import Any

import pytest

from ricordo.model.record import plain
from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.memories")

EVERY_FIELD = {
    "content": "Uses vi",
    "theme": "work",
    "type": "preference",
    "key": "editor",
    "tags": ["a", "b"],
    "source": "tool_call",
    "source_context": "said during set-up",
    "thread_id": "t1",
    "message_id": "m1",
    "agent_id": "helper",
    "run_id": "r1",
    "actor_id": "ana-laptop",
    "role": "user",
    "confidence": 55,
    "importance": 4,
    "pinned": True,
    "valid_from": "2025-06-01T00:00:00+02:00",
    "valid_to": "2037-01-01",
    "expires_at": "2038-01-01T00:00:00+00:00",
    "created_at": "2025-06-02",
}


def test_add_takes_every_field(service: Service) -> None:
    client = service.client("ana")
    added = client.post("/v1/memories", json={**EVERY_FIELD, "reason": "asked to"})
    assert (added.status_code, added.headers["location"]) == (201, "/v1/memories/1")
    assert added.json() == {"id": 1, "status": "active", "duplicate": False, "updated": False} | {
        "embedding": "ready"
    }
    item = client.get(added.headers["location"]).json()
    for name in ("valid_from", "valid_to", "expires_at", "created_at"):
        assert item[name] == plain(getattr(service.memory.user("ana").get(1), name))
    times = {"valid_from", "valid_to", "expires_at", "created_at"}
    same = {name: value for name, value in EVERY_FIELD.items() if name not in times}
    assert {name: item[name] for name in same} == same
    assert item["valid_from"] == "2025-05-31T22:00:00.000000+00:00"
    (change,) = client.get("/v1/memories/1/history").json()
    assert (change["event"], change["reason"]) == ("ADD", "asked to")
    client.delete("/v1/memories/1")
    assert problem(client.get("/v1/memories/1")) == (404, "MemoryNotFound")
    found = client.get("/v1/memories/1", params={"include_deleted": True})
    assert found.json() == plain(service.memory.user("ana").get(1, include_deleted=True))


def test_what_is_there_already_is_told_as_such(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers tea", "category": "drinks"})
    again = client.post("/v1/memories", json={"content": "prefers TEA", "theme": "drinks"})
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert "location" not in again.headers
    client.post("/v1/memories", json={"content": "Bekasi", "key": "home"})
    moved = client.post("/v1/memories", json={"content": "Jakarta", "key": "home"})
    assert (moved.status_code, moved.json()["updated"]) == (200, True)
    added = client.post("/v1/memories", json={"content": "Prefers mate", "supersedes": 1})
    assert added.status_code == 201
    assert client.get("/v1/memories/1").json()["status"] == "superseded"


def test_many_are_added_in_order(service: Service) -> None:
    client = service.client("ana")
    memories = [{"content": "Prefers tea"}, {"content": "Has a cat"}, {"content": "prefers tea"}]
    added = client.post("/v1/memories/batch", json={"memories": memories, "reason": "moved"})
    assert added.status_code == 200
    assert [one["duplicate"] for one in added.json()] == [False, False, True]
    assert client.get("/v1/memories/2/history").json()[0]["reason"] == "moved"
    bad = {"memories": [{"content": "Has a dog"}, {"content": "Has fish", "importance": 9}]}
    refused = client.post("/v1/memories/batch", json=bad)
    assert problem(refused) == (422, "InvalidValue")
    assert refused.json()["detail"].startswith("memories[1].importance: ")
    assert len(client.get("/v1/memories").json()["items"]) == 2


FILTERED: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [1, 2, 3]),
    ({"theme": ["work", "drinks"]}, [1, 2]),
    ({"category": "work"}, [1]),
    ({"status": "any"}, [1, 2, 3, 4]),
    ({"status": ["active", "archived"]}, [1, 2, 3, 4]),
    ({"type": "preference", "source": "tool_call", "key": "editor", "role": "user"}, [1]),
    ({"tags": ["a", "b"], "source_context": "said during set-up"}, [1]),
    ({"tags": "c"}, []),
    ({"contains": "TÉA"}, [2]),
    ({"thread_id": "t1", "message_id": "m1", "run_id": "r1"}, [1]),
    ({"agent_id": "helper", "actor_id": "ana-laptop"}, [1]),
    ({"pinned": False}, [2, 3]),
    ({"importance_min": 3}, [1]),
    ({"importance_max": 3, "confidence_min": 60}, [2, 3]),
    ({"created_after": "2025-12-01", "updated_after": "2025-12-01"}, [2, 3]),
    ({"created_before": "2025-12-01", "updated_before": "2025-12-01"}, [1]),
    ({"as_of": "2025-07-01"}, [1]),
]


def test_every_filter_filters_in_lists_and_searches(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json=EVERY_FIELD)
    client.post("/v1/memories", json={"content": "Prefers tea", "theme": "drinks"})
    client.post("/v1/memories", json={"content": "Has a cat"})
    client.post("/v1/memories", json={"content": "Had a dog"})
    client.post("/v1/memories/4/archive")
    for given, expected in FILTERED:
        listed = client.get("/v1/memories", params=given)
        assert sorted(one["id"] for one in listed.json()["items"]) == expected, given
        searched = client.get("/v1/memories/search", params=given)
        assert sorted(one["id"] for one in searched.json()["results"]) == expected, given
        body = {
            name: [value] if name in _SEVERAL and isinstance(value, str) else value
            for name, value in given.items()
        }
        found = client.post("/v1/memories/search", json=body)
        assert sorted(one["id"] for one in found.json()["results"]) == expected, given


_SEVERAL = {"status", "theme", "category", "type", "source", "tags"}


@pytest.mark.requirement("http.pages")
def test_pages_show_everything_exactly_once(service: Service) -> None:
    client = service.client("ana")
    memories = [
        {"content": f"Statement {number}", "importance": number % 5 + 1} for number in range(23)
    ]
    client.post("/v1/memories/batch", json={"memories": memories})
    for sort in ("created_at", "importance", "key"):
        seen: list[int] = []
        asked: dict[str, Any] = {"limit": 5, "sort": sort, "order": "asc"}
        while True:
            page = client.get("/v1/memories", params=asked).json()
            seen += [one["id"] for one in page["items"]]
            if page["next_cursor"] is None:
                break
            asked["cursor"] = page["next_cursor"]
        assert sorted(seen) == list(range(1, 24)), sort
    other = client.get("/v1/memories", params={**asked, "sort": "id"})
    assert problem(other) == (422, "InvalidCursor")


@pytest.mark.requirement("memories.get_many")
def test_several_are_read_at_once(service: Service) -> None:
    client, user = service.client("ana"), service.memory.user("ana")
    first, second, gone = (one.id for one in user.add_many(["Has a cat", "Has a dog", "Has fish"]))
    user.forget(gone)
    theirs = service.memory.user("ben").add("Has a bird").id
    asked = [second, theirs, gone, 987_654, first, second]
    found = client.post("/v1/memories/get", json={"ids": asked})
    assert (found.status_code, found.json()) == (200, plain(user.get_many(asked)))
    also = client.post("/v1/memories/get", json={"ids": asked, "include_deleted": True}).json()
    assert [item["id"] for item in also] == [second, gone, first]
    refused = client.post("/v1/memories/get", json={"ids": list(range(1, 1_002))})
    assert problem(refused)[0] == 422


@pytest.mark.requirement("memories.lineage")
def test_which_memory_took_the_place_of_which(service: Service) -> None:
    client, user = service.client("ana"), service.memory.user("ana")
    old = user.add("Plays the viola").id
    new = user.add("Plays the cello", supersedes=old).id
    for item_id in (old, new):
        lineage = client.get(f"/v1/memories/{item_id}/lineage").json()
        assert lineage == plain(user.lineage(item_id))
        assert lineage["undoable"] == "replacement"
    client.post(f"/v1/memories/{new}/undo")
    nothing = {"successor": None, "predecessors": [], "undoable": None}
    assert client.get(f"/v1/memories/{new}/lineage").json() == nothing
    assert service.client("ben").get(f"/v1/memories/{new}/lineage").status_code == 404


@pytest.mark.requirement("graph.relations")
def test_a_graph_is_read(service: Service) -> None:
    client = service.client("ana")
    for what in ("honey", "milk", "lemon"):
        memory = {"content": f"Prefers green tea with {what}", "theme": "drinks"}
        client.post("/v1/memories", json=memory)
    user = service.memory.user("ana")
    related = client.get("/v1/memories/1/related", params={"limit": 1}).json()
    assert related == plain(user.related(1, limit=1))
    assert len(related) == 1
    assert client.get("/v1/graph").json() == plain(user.relation_graph())
    found = client.get("/v1/graph", params={"theme": "drinks", "limit": 2}).json()
    assert found == plain(user.relation_graph("drinks", limit=2))
    assert (len(found["memories"]), len(found["relations"]), found["more"]) == (2, 1, True)


def test_themes_changes_and_revision(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers tea", "theme": "Hot Drinks"})
    (theme,) = client.get("/v1/themes").json()
    assert (theme["slug"], theme["active_count"]) == ("hot-drinks", 1)
    described = client.patch(
        "/v1/themes/Hot%20Drinks",
        json={"display_name": "Drinks", "context": "all", "rag_length": 3, "description": "x"},
    )
    assert described.status_code == 200
    assert client.get("/v1/themes").json() == [described.json()]
    assert problem(client.patch("/v1/themes/other", json={"description": "x"})) == (
        404,
        "ThemeNotFound",
    )
    assert problem(client.patch("/v1/themes/hot-drinks", json={})) == (422, "InvalidValue")
    client.post("/v1/memories/1/pin")
    assert client.get("/v1/revision").json() == {"revision": 2}
    first = client.get("/v1/changes", params={"limit": 1}).json()
    assert ([one["event"] for one in first["changes"]], first["more"]) == (["ADD"], True)
    rest = client.get("/v1/changes", params={"since": 1}).json()
    assert ([one["event"] for one in rest["changes"]], rest["revision"]) == (["PIN"], 2)


def test_query_context_and_feedback(service: Service) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers green tea", "theme": "drinks"})
    client.post("/v1/memories", json={"content": "Drinks tea at noon", "theme": "habits"})
    answered = client.post(
        "/v1/query",
        json={
            "query": "tea",
            "agent": "planner",
            "categories": ["drinks"],
            "filters": {"pinned": False, "type": ["fact"], "importance_min": 1},
            "top_k": 5,
            "returns": "full",
            "budget_tokens": 200,
            "threshold": 0.0,
            "related": 1,
        },
    ).json()
    assert [one["id"] for one in answered["items"]] == [1]
    assert answered["bullets"] == []
    other = client.post("/v1/query", json={"query": "tea", "filters": {"user_id": "ben"}})
    assert problem(other) == (403, "ScopeWidened")
    built = client.post(
        "/v1/context",
        json={"message": "tea?", "modes": ["recall"], "budget_tokens": 1000, "reply_tokens": 100},
    ).json()
    assert {one["id"] for one in built["memories"]} == {1, 2}
    assert built["messages"][-1] == {"role": "user", "content": "tea?"}
    assert built["tokens"]["total"] <= 1000
    asked = {"query": "tea", "limit": 1, "explain": True, "threshold": 0.1, "recency_days": 3}
    found = client.post("/v1/memories/search", json=asked).json()["results"]
    assert len(found) == 1
    assert found[0]["explanation"]
    forgotten = client.post("/v1/memories/search", json={"status": ["deleted"]})
    assert problem(forgotten) == (422, "InvalidValue")
    told = client.post("/v1/feedback", json={"recalled": [1, 2], "used": [2]})
    assert told.json() == {"recalled": [1, 2], "used": [2], "hit_rate": 0.5}
    assert problem(client.post("/v1/feedback", json={"recalled": [1]})) == (422, "InvalidValue")
