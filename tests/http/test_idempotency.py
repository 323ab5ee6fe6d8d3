"""Requests that are sent again: done once, answered the same."""

import threading
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from ricordo.limits import IDEMPOTENCY_HOURS, IDEMPOTENCY_LEASE_SECONDS, MAX_IDEMPOTENCY_KEY_CHARS
from ricordo.storage import idempotency, tables
from ricordo.testing import ManualClock
from tests.support.problems import problem
from tests.support.service import Service

pytestmark = pytest.mark.requirement("http.idempotency")

PATH = "/v1/memories"
TEA = {"content": "Prefers tea"}
ONCE = {"Idempotency-Key": "k1"}


def contents(client: httpx2.Client) -> list[str]:
    items = client.get(PATH, params={"sort": "id", "order": "asc"}).json()["items"]
    return [one["content"] for one in items]


def test_the_same_request_is_done_once_and_answered_the_same(service: Service) -> None:
    client = service.client("ana")
    first = client.post(PATH, json=TEA, headers=ONCE)
    again = client.post(PATH, json=TEA, headers=ONCE)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content  # not "duplicate", as without the key
    for name in ("location", "content-type"):
        assert first.headers[name] == again.headers[name]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert first.headers["x-request-id"] != again.headers["x-request-id"]
    assert contents(client) == ["Prefers tea"]


def test_every_kind_of_write_can_be_repeated(service: Service) -> None:
    client = service.client("ana")
    client.post(PATH, json={**TEA, "theme": "drinks"})
    writes: list[tuple[str, str, Any]] = [
        ("POST", f"{PATH}/1/verify", None),
        ("PATCH", "/v1/themes/drinks", {"description": "what she drinks"}),
        ("PUT", f"{PATH}/1/links/ben", None),
        ("DELETE", f"{PATH}/1/links/ben", None),
        ("DELETE", f"{PATH}/1", None),
    ]
    for number, (method, path, body) in enumerate(writes):
        asked = {} if body is None else {"json": body}
        once = {"Idempotency-Key": f"write-{number}"}
        first = client.request(method, path, headers=once, **asked)
        again = client.request(method, path, headers=once, **asked)
        assert first.status_code in (200, 204), path
        assert (first.status_code, first.content) == (again.status_code, again.content), path
        assert first.headers.get("etag") == again.headers.get("etag")
        assert again.headers["idempotent-replayed"] == "true"
    events = [one["event"] for one in client.get("/v1/changes").json()["changes"]]
    assert events == ["ADD", "VERIFY", "CONSENT", "CONSENT", "DELETE"]


def test_another_request_under_the_same_key_is_refused(service: Service) -> None:
    client = service.client("ana")
    client.post(PATH, json=TEA, headers=ONCE)
    client.post(PATH, json={"content": "Has a cat"})
    others = [
        ("POST", PATH, {"json": {"content": "Prefers mate"}}),
        ("POST", f"{PATH}/search", {"json": TEA}),
        ("DELETE", f"{PATH}/1?reason=x", {}),
        ("DELETE", f"{PATH}/2", {}),
    ]
    for method, path, asked in others:
        refused = client.request(method, path, headers=ONCE, **asked)
        assert problem(refused) == (422, "InvalidValue")
        assert refused.json()["detail"].startswith("Idempotency-Key: ")
    assert contents(client) == ["Prefers tea", "Has a cat"]


def test_a_request_that_failed_frees_its_key(service: Service) -> None:
    client = service.client("ana")
    for bad in ({"content": ""}, {"content": "x", "supersedes": 9}, {"content": 5}):
        assert problem(client.post(PATH, json=bad, headers=ONCE))[0] in (404, 422)
    assert client.post(PATH, json=TEA, headers=ONCE).status_code == 201


def test_answers_are_kept_for_a_day(service: Service, clock: ManualClock) -> None:
    client = service.client("ana")
    client.post(PATH, json=TEA, headers=ONCE)
    clock.advance(hours=IDEMPOTENCY_HOURS)
    again = client.post(PATH, json=TEA, headers=ONCE)
    assert again.headers["idempotent-replayed"] == "true"
    clock.advance(seconds=1)
    anew = client.post(PATH, json=TEA, headers=ONCE)
    assert (anew.status_code, anew.json()["duplicate"]) == (200, True)


def test_a_request_that_was_cut_off_frees_its_key_after_a_while(
    service: Service, clock: ManualClock
) -> None:
    """As when the server is killed between taking the key and keeping the answer."""
    client = service.client("ana")
    first = client.post(PATH, json=TEA, headers=ONCE)
    database = service.memory.database
    stored = idempotency.reserve(database, "ana", "local//k1", "anything")
    assert stored is not None
    assert idempotency.reserve(database, "ana", "local//k2", stored.request_hash) is None
    second = {"Idempotency-Key": "k2"}
    assert problem(client.post(PATH, json=TEA, headers=second)) == (409, "Conflict")
    clock.advance(seconds=IDEMPOTENCY_LEASE_SECONDS)
    assert problem(client.post(PATH, json=TEA, headers=second)) == (409, "Conflict")
    clock.advance(seconds=1)
    again = client.post(PATH, json=TEA, headers=second)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])


def test_bad_keys_are_refused(service: Service) -> None:
    client = service.client("ana")
    for key in ("", "x" * (MAX_IDEMPOTENCY_KEY_CHARS + 1)):
        refused = client.post(PATH, json=TEA, headers={"Idempotency-Key": key})
        assert problem(refused) == (422, "InvalidValue")
    longest = {"Idempotency-Key": "x" * MAX_IDEMPOTENCY_KEY_CHARS}
    assert client.post(PATH, json=TEA, headers=longest).status_code == 201


def test_who_may_not_come_in_gets_no_kept_answer(keyed: Service) -> None:
    made = keyed.memory.create_key("one", user="ana")
    client = keyed.client(key=made.secret)
    client.post(PATH, json=TEA, headers=ONCE)
    keyed.memory.revoke_key(made.key.id)
    assert problem(client.post(PATH, json=TEA, headers=ONCE)) == (401, "NotAuthenticated")
    assert problem(keyed.client().post(PATH, json=TEA, headers=ONCE)) == (401, "NotAuthenticated")


def test_what_one_agent_was_answered_is_not_for_another(keyed: Service) -> None:
    """One key of a service may stand for many agents, and each of them reaches other things."""
    key = keyed.memory.create_key("service").secret
    asked = {"X_Ricordo_User": "ana"}
    everything = keyed.client(key=key, **asked)
    everything.post(PATH, json={**TEA, "theme": "drinks"})
    assert everything.post(f"{PATH}/1/verify", headers=ONCE).status_code == 200
    agents = [keyed.client(key=key, **asked, X_Ricordo_Agent=name) for name in ("a", "a/b", "b")]
    for agent in agents:
        own = agent.post(f"{PATH}/1/verify", headers=ONCE)
        assert "idempotent-replayed" not in own.headers
        assert agent.post(f"{PATH}/1/verify", headers=ONCE).headers["idempotent-replayed"] == "true"


def test_what_is_removed_for_good_is_in_no_kept_answer(service: Service) -> None:
    client = service.client("ana")
    client.post(PATH, json=TEA)
    assert TEA["content"] in client.post(f"{PATH}/1/archive", headers=ONCE).text
    client.delete(f"{PATH}/1")
    purge = {"Idempotency-Key": "purge"}
    purged = client.post(f"{PATH}/purge", json={"before_time": True}, headers=purge)
    assert purged.json() == {"purged": 1}
    again = client.post(f"{PATH}/1/archive", headers=ONCE)
    assert problem(again) == (404, "MemoryNotFound")
    with service.memory.database.read_all() as view:
        bodies = view.connection.execute(sa.select(tables.kept_answers.c.body)).scalars().all()
    assert bodies == [purged.content]


def test_users_and_keys_are_apart(keyed: Service) -> None:
    for name, user in (("one", "ana"), ("two", "ana"), ("three", "ben")):
        client = keyed.client(key=keyed.memory.create_key(name, user=user).secret)
        said = client.post(PATH, json={"content": f"From {name}"}, headers=ONCE)
        assert said.status_code == 201
        assert "idempotent-replayed" not in said.headers
        assert "idempotent-replayed" not in client.get(PATH, headers=ONCE).headers
    assert contents(client) == ["From three"]


def test_twins_at_the_same_time_write_once(service: Service) -> None:
    together = threading.Barrier(8)
    answers: list[httpx2.Response] = []

    def send() -> None:
        client = service.client("ana")
        together.wait()
        answers.append(client.post(PATH, json=TEA, headers=ONCE))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [one for one in answers if one.status_code == 201]
    assert len({one.content for one in done}) == 1
    waiting = [problem(one) for one in answers if one.status_code != 201]
    assert set(waiting) <= {(409, "Conflict")}
    client = service.client("ana")
    assert client.get("/v1/revision").json() == {"revision": 1}
    assert client.post(PATH, json=TEA, headers=ONCE).content == done[0].content
