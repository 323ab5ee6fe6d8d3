"""Changing memories over HTTP, and only in the state that the caller saw."""

import threading
from typing import Any

import httpx2
import pytest

from tests.support.problems import problem
from tests.support.service import Service

ITEM = "/v1/memories/1"


@pytest.fixture
def ana(service: Service) -> httpx2.Client:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "Prefers tea", "key": "drink"})
    return client


@pytest.mark.requirement("http.memories")
def test_each_change_answers_with_the_memory_as_it_stands(ana: httpx2.Client) -> None:
    def changed(response: httpx2.Response) -> dict[str, Any]:
        assert response.status_code == 200
        item = response.json()
        now = ana.get(f"{ITEM}?include_deleted=true")
        assert now.headers["etag"] == response.headers["etag"]
        assert now.json() == {**item, "embedding": now.json()["embedding"]}
        return dict(item)

    assert changed(ana.post(f"{ITEM}/archive", json={"reason": "old"}))["status"] == "archived"
    assert changed(ana.post(f"{ITEM}/restore"))["status"] == "active"
    assert changed(ana.post(f"{ITEM}/pin"))["pinned"] is True
    assert changed(ana.post(f"{ITEM}/pin", json={"pinned": False}))["pinned"] is False
    assert changed(ana.post(f"{ITEM}/verify"))["last_verified_at"] is not None
    rated = changed(
        ana.post(f"{ITEM}/rate", json={"verdict": "wrong", "reason": "no", "query": "?"})
    )
    assert (rated["status"], rated["ratings"][0]["query"]) == ("superseded", "?")
    assert changed(ana.post(f"{ITEM}/rate", json={"verdict": "withdrawn"}))["ratings"] == []
    ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink"})
    assert changed(ana.post(f"{ITEM}/undo", json={"reason": "wrong"}))["content"] == "Prefers tea"
    assert changed(ana.delete(ITEM, params={"reason": "asked to"}))["status"] == "deleted"
    history = ana.get(f"{ITEM}/history").json()
    events = ["ADD", "ARCHIVE", "RESTORE", "PIN", "PIN", "VERIFY"]
    events += ["RATE", "SUPERSEDE", "RATE", "UNDO", "UPDATE", "UNDO", "DELETE"]
    assert [one["event"] for one in history] == events
    assert (history[1]["reason"], history[-1]["reason"]) == ("old", "asked to")


@pytest.mark.requirement("http.memories")
def test_forgetting_by_key_merging_and_purging(ana: httpx2.Client) -> None:
    ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink", "theme": "work"})
    forgotten = ana.post("/v1/memories/forget", json={"key": "drink", "theme": "work"})
    assert [one["id"] for one in forgotten.json()] == [2]
    assert problem(ana.post("/v1/memories/forget", json={"key": "x"})) == (404, "MemoryNotFound")
    assert ana.post("/v1/memories/purge").json() == {"purged": 0}
    assert ana.post("/v1/memories/purge", json={"before_time": True}).json() == {"purged": 1}
    ana.post("/v1/memories", json={"content": "Likes tea"})
    merged = ana.post(
        "/v1/memories/merge",
        json={"ids": [1, 3], "content": "Likes tea most", "tags": ["x"], "reason": "the same"},
    )
    assert (merged.status_code, merged.headers["location"]) == (201, "/v1/memories/4")
    assert ana.get("/v1/memories/4").json()["tags"] == ["x"]
    assert {ana.get(f"/v1/memories/{old}").json()["status"] for old in (1, 3)} == {"superseded"}
    assert ana.post("/v1/memories/4/undo").json()["status"] == "active"


@pytest.mark.requirement("http.memories")
def test_what_the_state_does_not_allow_is_a_conflict(ana: httpx2.Client) -> None:
    assert problem(ana.post(f"{ITEM}/restore")) == (409, "IllegalTransition")
    assert problem(ana.post(f"{ITEM}/undo")) == (409, "NothingToUndo")
    ana.post(f"{ITEM}/archive")
    ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink"})
    assert problem(ana.post(f"{ITEM}/restore")) == (409, "Occupied")


@pytest.mark.requirement("http.etag")
def test_who_has_the_present_state_is_told_so(ana: httpx2.Client, service: Service) -> None:
    first = ana.get(ITEM)
    etag = first.headers["etag"]
    for given in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = ana.get(ITEM, headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert ana.get(ITEM, headers={"If-None-Match": '"other"'}).json() == first.json()
    # What is shown has changed, though nobody changed the memory: it was recalled.
    ana.post("/v1/memories/search", json={"query": "tea"})
    service.memory.recall.accesses.flush()
    recalled = ana.get(ITEM, headers={"If-None-Match": etag})
    assert (recalled.status_code, recalled.json()["access_count"]) == (200, 1)
    assert _do(ana, "pin", etag).status_code == 200, "a recall stands in no change's way"


STEPS = ("archive", "restore", "pin", "verify", "undo", "forget")


def _do(client: httpx2.Client, step: str, if_match: str, item: str = ITEM) -> httpx2.Response:
    headers = {"If-Match": if_match}
    if step == "forget":
        return client.delete(item, headers=headers)
    return client.post(f"{item}/{step}", headers=headers)


@pytest.mark.requirement("http.etag")
def test_a_change_is_made_only_in_the_state_that_was_seen(service: Service) -> None:
    for step in STEPS:
        client = service.client(f"user of {step}")
        tea = {"content": "Prefers tea", "key": "drink"}
        item = client.post("/v1/memories", json=tea).headers["location"]
        if step == "restore":
            client.post(f"{item}/archive")
        if step == "undo":
            client.post("/v1/memories", json={**tea, "content": "Prefers mate"})
        seen = client.get(item).headers["etag"]
        client.post(f"{item}/verify")
        before = client.get(item).json()
        assert problem(_do(client, step, seen, item)) == (412, "Changed"), step
        assert client.get(item).json() == before
        for given in ('"nonsense"', "1", '"99999999999999999-0000000000000000"', ""):
            assert problem(_do(client, step, given, item))[0] == 412
        assert problem(_do(client, step, f'{seen}, "other"', item)) == (422, "InvalidValue")
        assert _do(client, step, client.get(item).headers["etag"], item).status_code == 200


@pytest.mark.requirement("http.etag")
def test_any_state_will_do(ana: httpx2.Client) -> None:
    for step in ("pin", "archive"):
        assert _do(ana, step, "*").status_code == 200
    unknown = ana.post("/v1/memories/99/pin", headers={"If-Match": "*"})
    assert problem(unknown) == (404, "MemoryNotFound")
    weak = f"W/{ana.get(ITEM).headers['etag']}"  # a proxy that compresses answers makes it so
    assert _do(ana, "verify", weak).status_code == 200


@pytest.mark.requirement("http.etag")
def test_of_many_who_saw_the_same_state_one_changes_it(
    ana: httpx2.Client, service: Service
) -> None:
    seen = ana.get(ITEM).headers["etag"]
    together = threading.Barrier(8)
    statuses: list[int] = []

    def verify() -> None:
        client = service.client("ana")
        together.wait()
        response = client.post(f"{ITEM}/verify", headers={"If-Match": seen})
        statuses.append(response.status_code)

    threads = [threading.Thread(target=verify) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [412] * 7
    assert [one["event"] for one in ana.get(f"{ITEM}/history").json()] == ["ADD", "VERIFY"]
