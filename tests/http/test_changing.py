"""Changing memories over HTTP, and only in the state that the caller saw."""

import threading
from typing import Any

import httpx2
import pytest

from ricordo.testing.clock import ManualClock
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
        assert (now.json(), now.headers["etag"]) == (item, response.headers["etag"])
        return dict(item)

    assert changed(ana.post(f"{ITEM}/archive", json={"reason": "old"}))["status"] == "archived"
    assert changed(ana.post(f"{ITEM}/restore"))["status"] == "active"
    assert changed(ana.post(f"{ITEM}/pin"))["pinned"] is True
    assert changed(ana.post(f"{ITEM}/pin", json={"pinned": False}))["pinned"] is False
    assert changed(ana.post(f"{ITEM}/verify"))["last_verified_at"] is not None
    ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink"})
    assert changed(ana.post(f"{ITEM}/undo", json={"reason": "wrong"}))["content"] == "Prefers tea"
    assert changed(ana.delete(ITEM, params={"reason": "asked to"}))["status"] == "deleted"
    history = ana.get(f"{ITEM}/history").json()
    events = ["ADD", "ARCHIVE", "RESTORE", "PIN", "PIN", "VERIFY", "UPDATE", "UNDO", "DELETE"]
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


@pytest.mark.requirement("http.etag")
def test_every_change_makes_another_state_however_quickly(ana: httpx2.Client) -> None:
    """The clock stands still, and yet no two states have the same tag."""
    seen = [ana.get(ITEM).headers["etag"]]
    for step in ("pin", "verify", "verify", "archive", "restore"):
        seen.append(ana.post(f"{ITEM}/{step}").headers["etag"])
    ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink"})
    seen.append(ana.get(ITEM).headers["etag"])
    seen.append(ana.post(f"{ITEM}/undo").headers["etag"])
    seen.append(ana.delete(ITEM).headers["etag"])
    moments = [one.partition("-")[0] for one in seen]
    assert len(set(moments)) == len(seen) == 9


STEPS = ("archive", "restore", "pin", "verify", "undo", "forget")


def _prepared(ana: httpx2.Client, step: str) -> str:
    """A state in which the step is possible; its tag."""
    if step == "restore":
        ana.post(f"{ITEM}/archive")
    if step == "undo":
        ana.post("/v1/memories", json={"content": "Prefers mate", "key": "drink"})
    tag: str = ana.get(ITEM).headers["etag"]
    return tag


def _do(ana: httpx2.Client, step: str, if_match: str) -> httpx2.Response:
    headers = {"If-Match": if_match}
    if step == "forget":
        return ana.delete(ITEM, headers=headers)
    return ana.post(f"{ITEM}/{step}", headers=headers)


@pytest.mark.requirement("http.etag")
@pytest.mark.parametrize("step", STEPS)
def test_a_change_is_made_only_in_the_state_that_was_seen(ana: httpx2.Client, step: str) -> None:
    seen = _prepared(ana, step)
    ana.post(f"{ITEM}/verify")
    before = ana.get(ITEM).json()
    refused = _do(ana, step, seen)
    assert problem(refused) == (412, "Changed")
    assert ana.get(ITEM).json() == before
    for given in ('"nonsense"', "1", '"99999999999999999-0000000000000000"', ""):
        assert problem(_do(ana, step, given))[0] == 412
    two = f'{seen}, "other"'
    assert problem(_do(ana, step, two)) == (422, "InvalidValue")
    assert _do(ana, step, ana.get(ITEM).headers["etag"]).status_code == 200


@pytest.mark.requirement("http.etag")
def test_any_state_will_do(ana: httpx2.Client) -> None:
    for step in ("pin", "archive"):
        assert _do(ana, step, "*").status_code == 200
    unknown = ana.post("/v1/memories/99/pin", headers={"If-Match": "*"})
    assert problem(unknown) == (404, "MemoryNotFound")
    weak = f"W/{ana.get(ITEM).headers['etag']}"  # a proxy that compresses answers makes it so
    assert _do(ana, "verify", weak).status_code == 200


@pytest.mark.requirement("http.etag")
def test_recalls_do_not_stand_in_the_way_of_a_change(ana: httpx2.Client, service: Service) -> None:
    seen = ana.get(ITEM).headers["etag"]
    ana.post("/v1/memories/search", json={"query": "tea"})
    service.memory.recall.accesses.flush()
    assert ana.get(ITEM).headers["etag"] != seen
    assert _do(ana, "pin", seen).status_code == 200


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


@pytest.mark.requirement("http.etag")
def test_a_memory_that_has_expired_is_not_what_was_seen(
    service: Service, clock: ManualClock
) -> None:
    client = service.client("ana")
    client.post("/v1/memories", json={"content": "In Paris", "expires_at": "2026-01-02"})
    seen = client.get(ITEM).headers["etag"]
    clock.advance(days=2)
    assert problem(_do(client, "restore", seen)) == (412, "Changed")
    assert client.post(f"{ITEM}/restore").status_code == 200


@pytest.mark.requirement("http.etag")
def test_a_memory_dated_to_the_end_of_time_can_be_changed(service: Service) -> None:
    client = service.client("ana")
    late = {"content": "Far off", "created_at": "9999-12-31T23:59:59.999999Z"}
    client.post("/v1/memories", json=late)
    client.post("/v1/memories", json={"content": "Long ago", "created_at": "0001-01-01"})
    for number in (1, 2):
        seen = client.get(f"/v1/memories/{number}").headers["etag"]
        for _ in range(2):
            changed = client.post(f"/v1/memories/{number}/verify", headers={"If-Match": seen})
            assert changed.status_code == 200
            seen = changed.headers["etag"]
