"""States of programs over HTTP."""

import json
from urllib.parse import quote

import httpx2
import pytest

from ricordo.model.record import plain
from ricordo.testing import ManualClock
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.checkpoints")

ROUTE = "/v1/checkpoints/trip"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def ana(service: Service) -> httpx2.Client:
    return service.client("ana")


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


def test_any_json_value_comes_back_exactly(service: Service, ana: httpx2.Client) -> None:
    names = ["trip", "a/b", "ümlaut?#&", "x" * 200]
    states = ["null", "-0.0", f"[{10**400}]", '"\\u0000\\u001f\u2028😀"', '{"state":{"version":9}}']
    for name, state in zip([*names, "last"], states, strict=True):
        address = f"/v1/checkpoints/{quote(name, safe='')}"
        saved = ana.put(address, content=state.encode(), headers=JSON)
        assert (saved.status_code, saved.json()["thread_id"]) == (201, name)
        loaded = ana.get(address)
        for answered in (saved, loaded):
            assert json.dumps(json.loads(answered.text)["state"]) == json.dumps(json.loads(state))
        assert saved.headers["etag"] == loaded.headers["etag"]
    again = ana.put(ROUTE, json={"step": 2})
    assert (again.status_code, again.json()["version"]) == (200, 2)
    assert ana.get(ROUTE).json() == plain(service.memory.user("ana").load_checkpoint("trip"))


def test_deleting(ana: httpx2.Client) -> None:
    assert ana.delete(ROUTE).status_code == 404
    assert ana.delete(ROUTE, headers={"If-Match": "*"}).status_code == 412
    first = ana.put(ROUTE, json=1).headers["etag"]
    second = ana.put(ROUTE, json=2).headers["etag"]
    assert ana.delete(ROUTE, headers={"If-Match": first}).status_code == 412
    deleted = ana.delete(ROUTE, headers={"If-Match": second})
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert ana.get(ROUTE).json()["type"] == "CheckpointNotFound"


def test_what_is_no_state(ana: httpx2.Client) -> None:
    for content, status, kind in (
        (b"{broken", 400, "NotJson"),
        (b'"\xff"', 400, "NotJson"),
        (b"[" * 100_000, 400, "NotJson"),
        (b"NaN", 422, "InvalidValue"),
        (b'"\\ud800"', 422, "InvalidValue"),
        (b"[" * 300 + b"]" * 300, 422, "InvalidValue"),
        (b'"' + b"x" * (8 * 1024 * 1024) + b'"', 422, "InvalidValue"),
        (b'"' + b"x" * (11 * 1024 * 1024) + b'"', 413, "RequestTooLarge"),
    ):
        answered = ana.put(ROUTE, content=content, headers=JSON)
        assert (answered.status_code, answered.json()["type"]) == (status, kind), content[:50]
    assert ana.get(ROUTE).status_code == 404
