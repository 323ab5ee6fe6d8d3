"""Conversations over HTTP."""

from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from ricordo.limits import MAX_TURN_CHARS
from ricordo.model.record import plain
from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.threads")

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "I live in Bekasi", "id": "m1", "actor": "ana"},
    {"role": "assistant", "content": "Nice!", "at": "2026-01-02T03:04:05Z"},
    {"role": "user", "content": "I love jazz music"},
    {"role": "assistant", "tool_calls": [{"name": "look", "arguments": {"deep": [1.5]}}]},
]
MANY = [{"role": "user", "content": f"On day {day} I planted a tree"} for day in range(60)]


@pytest.fixture
def ana(service: Service) -> httpx2.Client:
    return service.client("ana")


def tell(client: httpx2.Client, thread: str = "monday", **more: Any) -> httpx2.Response:
    return client.post(f"/v1/threads/{thread}/turns", json={"messages": SAID, **more})


def test_what_is_said_is_recorded_once_and_read_in_order(
    service: Service, ana: httpx2.Client
) -> None:
    first = tell(ana, title="A move")
    assert (first.status_code, first.json()) == (
        201,
        {"thread_id": "monday", "recorded": 4, "known": 0},
    )
    again = ana.post("/v1/threads/monday/turns", json={"messages": SAID[:1]})
    assert again.json() == {"thread_id": "monday", "recorded": 0, "known": 1}
    page = ana.get("/v1/threads/monday/turns", params={"limit": 3}).json()
    rest = ana.get(
        "/v1/threads/monday/turns", params={"limit": 3, "cursor": page["next_cursor"]}
    ).json()
    turns = [*page["items"], *rest["items"]]
    assert turns == plain(service.memory.user("ana").turns("monday").items)
    assert [turn["message_id"] for turn in turns] == ["m1", None, None, None]
    assert turns[1]["at"] == "2026-01-02T03:04:05.000000+00:00"
    assert turns[3]["tool_calls"] == SAID[3]["tool_calls"]
    assert rest["next_cursor"] is None


@pytest.mark.requirement("turns.formed")
@pytest.mark.requirement("memories.source_turn")
def test_what_memories_come_from(service: Service, ana: httpx2.Client) -> None:
    tell(ana)
    ana.post("/v1/threads/monday/form")
    user = service.memory.user("ana")
    (jazz,) = user.list()
    source = ana.get(f"/v1/memories/{jazz.id}/source-turn").json()
    assert source == plain(user.source_turn(jazz.id))
    assert source["content"] == "I love jazz music"
    by_hand = user.add("Has a cat").id
    assert ana.get(f"/v1/memories/{by_hand}/source-turn").json() is None
    formed = ana.get("/v1/threads/monday/formed").json()
    assert formed == plain(user.formed_turns("monday"))
    assert [[one["id"] for one in turn["memories"]] for turn in formed["items"]] == [
        [],
        [],
        [jazz.id],
        [],
    ]
    page = ana.get("/v1/threads/monday/formed", params={"from_position": 2, "limit": 1}).json()
    rest = ana.get("/v1/threads/monday/formed", params={"cursor": page["next_cursor"]}).json()
    assert [*page["items"], *rest["items"]] == formed["items"][1:]
    assert service.client("ben").get("/v1/threads/monday/formed").status_code == 404


def test_turns_are_searched(service: Service, ana: httpx2.Client) -> None:
    tell(ana, "monday")
    tell(ana, "tuesday")
    asked = {
        "query": "where do I live",
        "limit": 3,
        "thread": "monday",
        "role": "user",
        "actor": "ana",
        "since": "2020-01-01",
        "until": "2030-01-01T00:00:00Z",
        "threshold": 0,
        "explain": True,
    }
    found = ana.post("/v1/turns/search", json=asked).json()
    expected = dict(asked)
    hits = service.memory.user("ana").search_turns(str(expected.pop("query")), **expected)  # type: ignore[arg-type]
    assert found["results"] == plain(hits.results)
    assert found["results"][0]["content_snippet"] == "I live in Bekasi"
    assert found["results"][0]["explanation"]
    assert service.client("ben").post("/v1/turns/search", json=asked).json()["results"] == []


@pytest.mark.requirement("recall.long_turns")
def test_the_longest_turn_comes_through_and_is_found_by_its_piece(ana: httpx2.Client) -> None:
    lines = "\n".join(["語 served a request"] * 60_000)[: MAX_TURN_CHARS - 100]
    said = f"{lines}\nThe oak is called Bartholomew"
    sent = {"messages": [{"role": "user", "content": said, "id": "log"}]}
    assert ana.post("/v1/threads/log/turns", json=sent).json()["recorded"] == 1
    answer = ana.post("/v1/turns/search", json={"query": "Bartholomew"})
    hit = answer.json()["results"][0]
    assert hit["message_id"] == "log"
    assert said[hit["part"]["start"] : hit["part"]["end"]].endswith("called Bartholomew")
    assert len(answer.content) < 10_000


def test_a_long_conversation_is_shown_in_short(service: Service, ana: httpx2.Client) -> None:
    ana.post("/v1/threads/long/turns", json={"messages": MANY})
    report = ana.post("/v1/threads/long/compact").json()
    assert report["compactions"] >= 1
    assert report["turns"] + report["open_turns"] == 60
    window = ana.get("/v1/threads/long/window").json()
    assert window == plain(service.memory.user("ana").window("long"))
    assert len(window["turns"]) == report["open_turns"]
    assert window["bridge"]
    resumed = ana.post("/v1/threads/long/resume").json()
    assert resumed["turns"]
    today = ana.get("/v1/log").json()
    assert today["entries"]
    assert ana.get(f"/v1/log/{today['day']}").json() == today
    assert today == plain(service.memory.user("ana").day_log())
    assert ana.get("/v1/log/2001-02-03").json() == {"day": "2001-02-03", "entries": []}


def test_an_agent_kept_to_categories_tells_what_was_said_and_reads_none_of_it(
    keyed: Service,
) -> None:
    made = keyed.memory.create_key("a", user="ana", agent="helper", categories=["work"])
    agent = keyed.client(key=made.secret)
    assert tell(agent).status_code == 201
    for route in (
        "/v1/threads",
        "/v1/threads/monday/turns",
        "/v1/log",
        "/v1/export",
        "/v1/summary",
    ):
        refused = agent.get(route)
        assert (refused.status_code, refused.json()["type"]) == (403, "PermissionMissing")


@pytest.mark.requirement("conversations.thread")
def test_how_far_a_conversation_has_come_whatever_its_name(
    service: Service, ana: httpx2.Client
) -> None:
    for thread in ("monday", "a/standing", "a/turns", "ümlaut & ?#", "standing", "x" * 200):
        address = f"/v1/threads/{quote(thread, safe='')}"
        told = tell(ana, quote(thread, safe=""), title="A move")
        assert told.json()["thread_id"] == thread
        waiting = ana.get(f"{address}/standing").json()
        assert waiting == plain(service.memory.user("ana").thread(thread))
        assert (waiting["thread_id"], waiting["turn_count"]) == (thread, 4)
        found = ana.get(f"{address}/turns").json()
        assert {turn["thread_id"] for turn in found["items"]} == {thread}
        ana.post(f"{address}/form")
        formed = ana.get(f"{address}/standing").json()
        assert (waiting["formed_position"], formed["formed_position"]) == (0, 4)
        assert formed in ana.get("/v1/threads").json()["items"]


def test_memories_are_formed_now(service: Service, ana: httpx2.Client) -> None:
    for client, route in ((ana, "/v1/threads/monday/form"), (service.client("ben"), "/v1/form")):
        tell(client)
        report = client.post(route).json()
        assert sorted(one["action"] for one in report["decisions"]) == ["add", "propose"]
        assert report["threads"] == 1
        assert len(client.get("/v1/memories").json()["items"]) == 1
        assert client.post(route).json()["turns"] == 0


def test_mistakes_are_told(ana: httpx2.Client) -> None:
    said = {"messages": [{"role": "user", "content": "x", "name": "y"}]}
    for method, route, body, expected in (
        ("GET", "/v1/threads/none/turns", None, (404, "ThreadNotFound")),
        ("GET", "/v1/threads/none/formed?from_position=0", None, (422, "InvalidValue")),
        ("POST", "/v1/threads/none/compact", None, (404, "ThreadNotFound")),
        ("GET", "/v1/threads?cursor=x", None, (422, "InvalidCursor")),
        ("GET", "/v1/threads?other=1", None, (422, "UnknownField")),
        ("POST", "/v1/threads/t/turns", said, (422, "UnknownField")),
        ("POST", "/v1/turns/search", {"query": "x", "since": "soon"}, (422, "InvalidValue")),
        ("GET", "/v1/log/yesterday", None, (422, "InvalidValue")),
    ):
        assert problem(ana.request(method, route, json=body)) == expected, route
