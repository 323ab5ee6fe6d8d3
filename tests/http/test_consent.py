"""Proposals, the profile, and what tells of a user's memory, over HTTP."""

import httpx2
import pytest

from ricordo.model.record import plain
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.proposals")


@pytest.fixture
def ana(service: Service) -> httpx2.Client:
    return service.client("ana")


@pytest.fixture
def proposed(ana: httpx2.Client) -> list[int]:
    """What waits for ana's consent."""
    texts = ("I live in Bekasi", "I am allergic to nuts")
    said = [{"role": "user", "content": text} for text in texts]
    ana.post("/v1/threads/t/turns", json={"messages": said})
    ana.post("/v1/form")
    return [one["id"] for one in ana.get("/v1/proposals").json()["items"]]


def test_proposals_are_listed_approved_and_rejected(
    service: Service, ana: httpx2.Client, proposed: list[int]
) -> None:
    user = service.memory.user("ana")
    assert ana.get("/v1/proposals").json() == plain(user.proposals())
    approved, rejected, *_ = proposed
    added = ana.post(f"/v1/proposals/{approved}/approve", json={"reason": "asked"})
    assert (added.status_code, added.json()["duplicate"]) == (200, False)
    assert user.get(added.json()["id"]).content
    assert "asked" in [change.reason for change in user.history(added.json()["id"])]
    turned_down = ana.post(f"/v1/proposals/{rejected}/reject").json()
    assert (turned_down["state"], turned_down["content"]) == ("rejected", None)
    listed = ana.get("/v1/proposals", params={"state": "any", "limit": 1}).json()
    rest = ana.get("/v1/proposals", params={"state": "any", "cursor": listed["next_cursor"]}).json()
    assert [one["id"] for one in (*listed["items"], *rest["items"])] == proposed
    again = ana.post(f"/v1/proposals/{approved}/approve")
    assert (again.status_code, again.json()["type"]) == (409, "AlreadyDecided")


def test_the_profile(service: Service, ana: httpx2.Client) -> None:
    assert ana.get("/v1/profile").json() == {"fields": [], "problems": []}
    brief = {"fields": {"tone": "brief"}, "explicit": True, "reason": "r"}
    done = ana.patch("/v1/profile", json=brief)
    assert [one["outcome"] for one in done.json()["fields"]] == ["applied"]
    waits = ana.patch("/v1/profile", json={"fields": {"city": "Bekasi", "tone": "long"}}).json()
    assert [one["outcome"] for one in waits["fields"]] == ["proposed", "waiting"]
    shown = ana.get("/v1/profile").json()
    assert shown == plain(service.memory.user("ana").user_profile())
    assert [(one["key"], one["value"]) for one in shown["fields"]] == [("tone", "brief")]
    assert service.memory.user("ana").history(shown["fields"][0]["item_id"])[0].reason == "r"
    ana.patch("/v1/profile", json={"fields": {"tone": None}})
    assert ana.get("/v1/profile").json()["fields"] == []
    refused = ana.patch("/v1/profile", json={"fields": {"a:b": "x"}})
    assert (refused.status_code, refused.json()["type"]) == (422, "InvalidValue")


def test_what_is_known_in_short(service: Service, ana: httpx2.Client) -> None:
    none = ana.get("/v1/summary")
    assert (none.status_code, none.json()) == (200, None)
    ana.post("/v1/threads/t/turns", json={"messages": [{"role": "user", "content": "I love jazz"}]})
    ana.post("/v1/form")
    service.memory.run_jobs()
    assert ana.get("/v1/summary").json() == plain(service.memory.user("ana").summary())
    assert "jazz" in ana.get("/v1/summary").json()["content"]


def test_audit_events_and_counters(service: Service, ana: httpx2.Client) -> None:
    user = service.memory.user("ana")
    user.add("Has a cat")
    user.observe([{"role": "user", "content": "I love jazz"}], thread="t")
    user.form()
    assert ana.get("/v1/audit", params={"limit": 5}).json() == plain(user.audit(limit=5))
    said = {"messages": [{"role": "user", "content": "Remember: how far is the moon?"}]}
    ana.post("/v1/threads/u/turns", json=said)
    (refused,) = ana.post("/v1/threads/u/form").json()["decisions"]
    assert (refused["action"], refused["reason"]) == ("reject", "not_kept: a question or a task")
    wanted = {"thread": "u", "action": "reject"}
    (listed,) = ana.get("/v1/audit", params=wanted).json()["decisions"]
    assert (listed["thread_id"], listed["reason"]) == ("u", "not_kept: a question or a task")
    assert ana.get("/v1/audit?action=maybe").status_code == 422
    assert len(ana.get("/v1/events?thread=u").json()["items"]) == 1
    page = ana.get("/v1/events", params={"limit": 1}).json()
    assert page["items"]
    assert page == plain(user.events(limit=1))
    counted = ana.get("/v1/counters", params={"days": 1}).json()
    assert counted == plain(user.counters(days=1))
    assert counted["memory_total_count"] == 2
    assert ana.get("/v1/events?cursor=x").status_code == 422


@pytest.mark.requirement("activity.daily")
def test_what_happened_by_the_day(service: Service, ana: httpx2.Client) -> None:
    user = service.memory.user("ana")
    user.add("Has a cat")
    assert ana.post("/v1/memories/search", json={"query": "cat"}).status_code == 200
    service.memory.recall.accesses.flush()
    found = ana.get("/v1/activity/daily", params={"days": 2}).json()
    assert found == plain(user.daily(days=2))
    assert [(one["memories_added"], one["recalls"]) for one in found] == [(0, 0), (1, 1)]
    assert len(ana.get("/v1/activity/daily").json()) == 30
    of_ben = service.client("ben").get("/v1/activity/daily", params={"days": 1}).json()
    assert (of_ben[0]["memories_added"], of_ben[0]["recalls"]) == (0, 0)
    assert ana.get("/v1/activity/daily?days=367").status_code == 422


def test_upkeep_and_consolidation_now(service: Service, ana: httpx2.Client) -> None:
    user = service.memory.user("ana")
    user.add("Likes green tea in the morning")
    user.add("Likes green tea in the mornings")
    assert ana.post("/v1/upkeep").json()["forgotten"] == 0
    tried = ana.post("/v1/consolidate", json={"dry_run": True}).json()
    assert tried["dry_run"] is True
    assert len(user.list()) == 2
    done = ana.post("/v1/consolidate").json()
    assert done["dry_run"] is False
    assert done["merged"] + done["superseded"] + done["linked"] + done["pairs"] >= 1
    assert ana.post("/v1/consolidate", json={"try": True}).status_code == 422
