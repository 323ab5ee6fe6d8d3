"""Webhooks over HTTP: who may register them, and what is delivered by a service with workers."""

from collections.abc import Callable, Iterator

import pytest

from ricordo import Memory, Permission, verify_webhook
from ricordo.testing import ManualClock
from tests.support.receivers import Receiver, receiver
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("webhooks.isolation")


@pytest.fixture
def keyed(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    memory = open_store(backend_url, port=0, require_keys=True, webhook_loopback=True)
    with running(memory) as started:
        yield started


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as started:
        yield started


def test_users_and_operators_register_and_nobody_else_does(
    keyed: Service, hook: Receiver, clock: ManualClock
) -> None:
    make = keyed.memory.create_key
    ana, ben, agent, service, operator = (
        keyed.client(key=make("k", **given).secret)
        for given in (
            {"user": "ana"},
            {"user": "ben"},
            {"user": "ana", "agent": "planner"},
            {},
            {"permissions": [Permission.MANAGE, Permission.READ_ALL]},
        )
    )
    made = ana.post("/v1/webhooks", json={"url": hook.url, "events": ["ADD"]})
    assert made.status_code == 201
    path = f"/v1/webhooks/{made.json()['webhook']['id']}"
    assert "whsec_" not in str(ana.get("/v1/webhooks").json())
    assert ana.get(path).json()["events"] == ["ADD"]
    for stranger, status in ((ben, 404), (agent, 403), (service, 401)):
        assert stranger.get(path).status_code == status
        assert stranger.post(f"{path}/test").status_code == status
    assert agent.post("/v1/webhooks", json={"url": hook.url}).status_code == 403
    assert ana.post("/v1/admin/webhooks", json={"url": hook.url}).status_code == 403
    inside = ben.post("/v1/webhooks", json={"url": "https://169.254.169.254/"})
    assert (inside.status_code, inside.json()["type"]) == (422, "TargetRefused")

    every = operator.post("/v1/admin/webhooks", json={"url": hook.url}).json()
    listed = operator.get("/v1/admin/webhooks").json()
    assert {one["user_id"] for one in listed} == {"ana", None}
    ana.post("/v1/memories", json={"content": "Likes tea"})
    ben.post("/v1/memories", json={"content": "Likes coffee"})
    assert operator.post("/v1/admin/jobs/run").status_code == 200
    told = [(one.sent["data"]["webhook_id"], one.sent["data"]["user_id"]) for one in hook.received]
    mine = made.json()["webhook"]["id"]
    all_users = every["webhook"]["id"]
    assert sorted(told) == sorted([(mine, "ana"), (all_users, "ana"), (all_users, "ben")])
    for one in hook.received:
        used = made.json() if one.sent["data"]["webhook_id"] == mine else every
        verify_webhook(one.body, one.headers, used["secret"], now=clock())

    assert ana.post(f"{path}/test").json()["delivered"] is True
    rotated = ana.post(f"{path}/secret").json()
    assert rotated["secret"] != made.json()["secret"]
    paused = ana.patch(path, json={"paused": True})
    assert (paused.status_code, paused.json()["state"]) == (200, "paused")
    assert [one["type"] for one in ana.get(f"{path}/deliveries").json()] == [
        "webhook.ping",
        "memory.changes",
    ]
    assert operator.delete(f"/v1/admin{path.removeprefix('/v1')}").json()["id"] == mine
    assert ana.get(path).status_code == 404


def test_a_request_that_is_repeated_registers_once_and_keeps_no_secret(
    keyed: Service, hook: Receiver
) -> None:
    ana = keyed.client(key=keyed.memory.create_key("k", user="ana").secret)
    once = {"Idempotency-Key": "once"}
    answers = [
        ana.post("/v1/webhooks", json={"url": hook.url}, headers=once).status_code for _ in range(2)
    ]
    assert answers == [201, 409]
    with keyed.memory.database.read_all() as view:
        assert view.connection.exec_driver_sql("SELECT count(*) FROM kept_answers").scalar() == 0
