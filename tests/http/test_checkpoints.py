"""States of programs over HTTP."""

import json
import threading
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from ricordo.model.record import plain
from ricordo.testing.clock import ManualClock
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.checkpoints")

ROUTE = "/v1/checkpoints/trip"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def ana(service: Service) -> httpx2.Client:
    return service.client("ana")


@pytest.mark.parametrize(
    "state",
    [
        "null",
        '""',
        "0",
        "false",
        "-0.0",
        "1e-320",
        "[]",
        '{"b":1,"a":{"":[]}}',
        f"[{10**400}]",
        '"\\u0000\\u001f\u2028😀"',
        '{"state":{"version":9}}',
    ],
)
def test_any_json_value_comes_back_exactly(ana: httpx2.Client, state: str) -> None:
    saved = ana.put(ROUTE, content=state.encode(), headers=JSON)
    assert saved.status_code == 201
    loaded = ana.get(ROUTE)
    for answered in (saved, loaded):
        assert json.dumps(json.loads(answered.text)["state"]) == json.dumps(json.loads(state))
    assert saved.headers["etag"] == loaded.headers["etag"]


def test_saving_again_makes_another_version(service: Service, ana: httpx2.Client) -> None:
    first = ana.put(ROUTE, json={"step": 1})
    second = ana.put(ROUTE, json={"step": 2})
    assert (first.status_code, second.status_code) == (201, 200)
    assert (first.json()["version"], second.json()["version"]) == (1, 2)
    assert first.headers["etag"] != second.headers["etag"]
    assert ana.get(ROUTE).json() == plain(service.memory.user("ana").load_checkpoint("trip"))


def test_nobodys_save_is_overwritten_unseen(ana: httpx2.Client) -> None:
    new = {"If-None-Match": "*"}
    first = ana.put(ROUTE, json=1, headers=new)
    assert first.status_code == 201
    assert ana.put(ROUTE, json=2, headers=new).status_code == 412
    seen = {"If-Match": first.headers["etag"]}
    second = ana.put(ROUTE, json=2, headers=seen)
    assert second.status_code == 200
    late = ana.put(ROUTE, json=3, headers=seen)
    assert (late.status_code, late.json()["type"]) == (412, "PreconditionFailed")
    either = f'"other", {second.headers["etag"]}'
    assert ana.put(ROUTE, json=4, headers={"If-Match": either}).status_code == 200
    assert ana.put(ROUTE, json=5, headers={"If-Match": "*"}).json()["version"] == 4
    assert ana.put("/v1/checkpoints/new", json=1, headers={"If-Match": "*"}).status_code == 412
    assert ana.get(ROUTE).json()["state"] == 5


def test_of_many_who_save_at_once_one_wins(service: Service, ana: httpx2.Client) -> None:
    etag = ana.put(ROUTE, json=0).headers["etag"]
    statuses: list[int] = []
    together = threading.Barrier(6)

    def save(number: int) -> None:
        client = service.client("ana")
        together.wait()
        statuses.append(client.put(ROUTE, json=number, headers={"If-Match": etag}).status_code)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + 5 * [412]


def test_who_has_the_state_is_not_sent_it_again(ana: httpx2.Client) -> None:
    etag = ana.put(ROUTE, json=1).headers["etag"]
    unchanged = ana.get(ROUTE, headers={"If-None-Match": etag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    ana.put(ROUTE, json=2)
    assert ana.get(ROUTE, headers={"If-None-Match": etag}).json()["state"] == 2


def test_a_state_saved_anew_is_not_taken_for_the_one_before(
    ana: httpx2.Client, clock: ManualClock
) -> None:
    before = ana.put(ROUTE, json="old").headers["etag"]
    ana.delete(ROUTE)
    clock.advance(seconds=1)
    ana.put(ROUTE, json="new")
    assert ana.get(ROUTE, headers={"If-None-Match": before}).json()["state"] == "new"
    assert ana.put(ROUTE, json="lost", headers={"If-Match": before}).status_code == 412
    assert ana.delete(ROUTE, headers={"If-Match": before}).status_code == 412
    assert ana.get(ROUTE).json()["state"] == "new"


def test_deleting(ana: httpx2.Client) -> None:
    assert ana.delete(ROUTE).status_code == 404
    assert ana.delete(ROUTE, headers={"If-Match": "*"}).status_code == 412
    first = ana.put(ROUTE, json=1).headers["etag"]
    second = ana.put(ROUTE, json=2).headers["etag"]
    assert ana.delete(ROUTE, headers={"If-Match": first}).status_code == 412
    deleted = ana.delete(ROUTE, headers={"If-Match": second})
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert ana.get(ROUTE).json()["type"] == "CheckpointNotFound"


def test_lists_are_paged(service: Service, ana: httpx2.Client, clock: ManualClock) -> None:
    for number in range(3):
        ana.put(f"/v1/checkpoints/t{number}", json=number)
        clock.advance(minutes=1)
    page = ana.get("/v1/checkpoints", params={"limit": 2}).json()
    assert page == plain(service.memory.user("ana").checkpoints(limit=2))
    rest = ana.get("/v1/checkpoints", params={"cursor": page["next_cursor"]}).json()
    assert [one["thread_id"] for one in (*page["items"], *rest["items"])] == ["t2", "t1", "t0"]
    assert service.client("ben").get("/v1/checkpoints").json()["items"] == []


@pytest.mark.parametrize("thread", ["a/b", "ümlaut?#&", "x" * 200])
def test_any_name_can_be_in_an_address(ana: httpx2.Client, thread: str) -> None:
    address = f"/v1/checkpoints/{quote(thread, safe='')}"
    assert ana.put(address, json=1).json()["thread_id"] == thread
    assert ana.get(address).json()["thread_id"] == thread


@pytest.mark.parametrize(
    ("content", "status", "kind"),
    [
        ("", 400, "NotJson"),
        ("{broken", 400, "NotJson"),
        ("[" * 100_000, 400, "NotJson"),
        ("[" + "1" * 5_000 + "]", 400, "NotJson"),
        ("NaN", 422, "InvalidValue"),
        ("1e999", 422, "InvalidValue"),
        ('"\\ud800"', 422, "InvalidValue"),
        ("[" * 300 + "]" * 300, 422, "InvalidValue"),
        ('"' + "x" * (8 * 1024 * 1024) + '"', 422, "InvalidValue"),
        ('"' + "x" * (11 * 1024 * 1024) + '"', 413, "RequestTooLarge"),
    ],
)
def test_what_is_no_state(ana: httpx2.Client, content: str, status: int, kind: str) -> None:
    answered = ana.put(ROUTE, content=content.encode(), headers=JSON)
    assert (answered.status_code, answered.json()["type"]) == (status, kind), answered.text[:500]
    assert ana.get(ROUTE).status_code == 404


def test_bytes_that_are_no_text(ana: httpx2.Client) -> None:
    answered = ana.put(ROUTE, content=b'"\xff"', headers=JSON)
    assert (answered.status_code, answered.json()["type"]) == (400, "NotJson")


def test_other_users_states_are_like_none(service: Service, ana: httpx2.Client) -> None:
    ana.put(ROUTE, json="ana's")
    ben = service.client("ben")
    for method in ("GET", "DELETE"):
        theirs = ben.request(method, ROUTE)
        unknown = ben.request(method, "/v1/checkpoints/none")
        assert theirs.status_code == unknown.status_code == 404
        assert _told(theirs) == _told(unknown)
    assert ben.put(ROUTE, json="ben's", headers={"If-None-Match": "*"}).status_code == 201
    assert ana.get(ROUTE).json()["state"] == "ana's"


def _told(answered: httpx2.Response) -> dict[str, Any]:
    told: dict[str, Any] = answered.json()
    return {**told, "detail": told["detail"].replace("trip", "none"), "request_id": None}
