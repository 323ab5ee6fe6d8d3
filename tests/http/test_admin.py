"""Administration over HTTP, and who may do it."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from ricordo.http.routes import ROUTERS
from ricordo.jobs.queue import JobQueue
from ricordo.memory import Memory
from ricordo.model.job import NewJob
from ricordo.model.record import plain
from ricordo.testing.clock import ManualClock
from ricordo.testing.model_server import ModelServer
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("http.admin")

READS = "read_all"
CHANGES = "manage"
BOTH = {READS, CHANGES}
NEEDS = {
    "list_users": READS,
    "erase_user": CHANGES,
    "read_all_counters": READS,
    "read_all_daily": READS,
    "test_model": READS,
    "purge_all": CHANGES,
    "reindex": CHANGES,
    "export_store": READS,
    "import_store": CHANGES,
    "list_jobs": READS,
    "read_job_stats": READS,
    "run_jobs": CHANGES,
    "retry_job": CHANGES,
    "cancel_job": CHANGES,
    "create_key": CHANGES,
    "list_keys": READS,
    "read_key": READS,
    "revoke_key": CHANGES,
    "list_all_memories": READS,
    "list_global_memories": READS,
    "add_global_memory": CHANGES,
    "get_global_memory": READS,
    "forget_global_memory": CHANGES,
}
BODIES = {
    "create_key": {"name": "another"},
    "add_global_memory": {"content": "The office is closed on Mondays"},
}
PARTS = {"{user:path}": "nobody", "{id}": "99999"}


def admin_routes() -> list[APIRoute]:
    routes = [route for router in ROUTERS for route in router.routes]
    return [
        route
        for route in routes
        if isinstance(route, APIRoute) and route.path.startswith("/v1/admin")
    ]


def ask(client: httpx2.Client, route: APIRoute) -> httpx2.Response:
    assert route.methods is not None
    (method,) = route.methods
    path = route.path
    for part, value in PARTS.items():
        path = path.replace(part, value)
    return client.request(method, path, json=BODIES.get(route.name))


# -- permissions ---------------------------------------------------------------------------


def test_every_route_of_administration_says_what_it_needs() -> None:
    assert {route.name for route in admin_routes()} == set(NEEDS)


def test_only_who_may_is_let_in(keyed: Service) -> None:
    make = keyed.memory.create_key
    callers: dict[str, tuple[httpx2.Client, set[str]]] = {
        "user": (keyed.client(key=make("u", user="ana").secret), set()),
        "agent": (keyed.client(key=make("a", user="ana", agent="helper").secret), set()),
        "service": (keyed.client("ana", key=make("s").secret), set()),
        "reader": (keyed.client(key=make("r", permissions=[READS]).secret), {READS}),
        "manager": (keyed.client(key=make("m", permissions=[CHANGES]).secret), {CHANGES}),
        "both": (keyed.client(key=make("b", permissions=list(BOTH)).secret), BOTH),
    }
    nobody = keyed.client("ana")
    for route in admin_routes():
        refused = ask(nobody, route)
        assert (refused.status_code, refused.json()["type"]) == (401, "NotAuthenticated")
        for name, (client, permissions) in callers.items():
            answered = ask(client, route)
            if NEEDS[route.name] in permissions:
                assert answered.status_code not in (401, 403), (name, route.name, answered.text)
            else:
                told = (answered.status_code, answered.json()["type"])
                assert told == (403, "PermissionMissing"), (name, route.name)


def test_a_refused_change_changes_nothing(keyed: Service) -> None:
    keyed.memory.user("ana").add("Likes tea")
    reader = keyed.client(key=keyed.memory.create_key("r", permissions=[READS]).secret)
    assert reader.delete("/v1/admin/users/ana").status_code == 403
    assert reader.post("/v1/admin/keys", json={"name": "mine"}).status_code == 403
    assert keyed.memory.users() == ("ana",)
    assert [one.name for one in keyed.memory.keys().items] == ["r"]


# -- users and memories --------------------------------------------------------------------


@pytest.fixture
def operator(service: Service) -> httpx2.Client:
    """Whoever calls a service that requires no keys is trusted."""
    return service.client()


def test_users_memories_and_counters(service: Service, operator: httpx2.Client) -> None:
    memory = service.memory
    for name in ("ana", "ben", "carla/x"):
        memory.user(name).add(f"About {name}", theme="drinks")
    assert operator.get("/v1/admin/users", params={"limit": 2}).json() == ["ana", "ben"]
    assert operator.get("/v1/admin/users", params={"after": "ben"}).json() == ["carla/x"]
    found = operator.get(
        "/v1/admin/memories", params={"theme": "drinks", "limit": 2, "order": "asc"}
    )
    assert found.json() == plain(memory.list(theme="drinks", limit=2, order="asc"))
    (of_ben,) = operator.get("/v1/admin/memories", params={"contains": "ben"}).json()["items"]
    assert of_ben["user_id"] == "ben"
    assert operator.get("/v1/admin/counters", params={"days": 2}).json() == plain(
        memory.counters(days=2)
    )
    daily = operator.get("/v1/admin/activity/daily", params={"days": 2}).json()
    assert daily == plain(memory.daily(days=2))
    assert [one["memories_added"] for one in daily] == [0, 3]
    assert operator.get("/v1/admin/activity/daily?days=367").status_code == 422
    for wrong in ("users?limit=0", "memories?sort=x", "memories?colour=x", "counters?days=-1"):
        assert operator.get(f"/v1/admin/{wrong}").status_code == 422


def test_erasing_a_user(service: Service, operator: httpx2.Client) -> None:
    service.memory.user("ana").add("Likes tea")
    service.memory.user("a/b").add("Likes jazz")
    receipt = operator.delete("/v1/admin/users/ana").json()
    assert (receipt["user_id"], receipt["removed"]["items"]) == ("ana", 1)
    assert operator.delete("/v1/admin/users/a%2Fb").json()["user_id"] == "a/b"
    assert service.memory.users() == ()
    again = operator.delete("/v1/admin/users/ana")
    assert (again.status_code, again.json()["type"]) == (404, "UserNotFound")


def test_of_an_erased_user_no_answer_is_kept(service: Service) -> None:
    service.memory.user("ana").add("Likes tea")
    client = service.client("ana", Idempotency_Key="once")
    assert client.delete("/v1/admin/users/ana").status_code == 200
    assert client.delete("/v1/admin/users/ana").status_code == 404
    assert service.memory.users() == ()


def test_purging_and_reindexing(service: Service, operator: httpx2.Client) -> None:
    ana = service.memory.user("ana")
    ana.forget(ana.add("Likes tea").id)
    assert operator.post("/v1/admin/purge").json() == {"purged": 0}
    assert operator.post("/v1/admin/purge", json={"before_time": True}).json() == {"purged": 1}
    ana.add("Likes jazz")
    assert operator.post("/v1/admin/reindex").json() == {"reindexed": 0}
    everything = operator.post("/v1/admin/reindex", json={"everything": True})
    # A service over PostgreSQL has a role that may not do that to tables it does not own.
    owns_tables = service.memory.database.backend.name == "sqlite"
    assert everything.status_code == (200 if owns_tables else 403), everything.text
    assert [hit.content_snippet for hit in ana.search("jazz")] == ["Likes jazz"]


def test_global_memories(service: Service, operator: httpx2.Client) -> None:
    route = "/v1/admin/global/memories"
    closed = {"content": "The office is closed on Mondays", "theme": "work"}
    added = operator.post(route, json=closed)
    assert (added.status_code, operator.post(route, json=closed).status_code) == (201, 200)
    known = added.json()["id"]
    assert operator.get(f"{route}/{known}").json()["content"] == closed["content"]
    listed = operator.get(route, params={"theme": "work"}).json()
    assert [one["id"] for one in listed["items"]] == [known]
    assert service.client("ana").get(f"/v1/memories/{known}").status_code == 200
    own = service.memory.user("ana").add("Likes tea").id
    for other in (own, 99_999):
        assert operator.get(f"{route}/{other}").status_code == 404
        assert operator.delete(f"{route}/{other}").status_code == 404
    forgotten = operator.delete(f"{route}/{known}", params={"reason": "moved"}).json()
    assert forgotten["status"] == "deleted"
    assert operator.get(f"{route}/{known}").status_code == 404
    assert operator.get(f"{route}/{known}", params={"include_deleted": True}).status_code == 200
    assert operator.post(route, json={"content": ""}).status_code == 422


def test_history_names_the_key_that_changed_a_global_memory(keyed: Service) -> None:
    created = keyed.memory.create_key("editor", permissions=[CHANGES])
    client = keyed.client(key=created.secret)
    added = client.post("/v1/admin/global/memories", json={"content": "Closed on Mondays"}).json()
    (change, *_) = keyed.memory.global_memories().history(added["id"])
    assert change.actor == created.key.id


# -- jobs ----------------------------------------------------------------------------------


def bury_a_job(memory: Memory) -> int:
    """Leave a job among the dead."""
    with memory.database.write("ana") as writing:
        writing.enqueue(
            NewJob(kind="lifecycle", user_id="ana", run_at=writing.now, unique_key="x", payload={})
        )
    queue = JobQueue(memory.database, timedelta(seconds=60))
    job = queue.claim(frozenset({"lifecycle"}))
    assert job is not None
    queue.fail(dataclasses.replace(job, attempts=job.max_attempts), "ValueError: no")
    return job.id


def test_jobs(service: Service, operator: httpx2.Client, clock: ManualClock) -> None:
    memory = service.memory
    memory.user("ana").observe([{"role": "user", "content": "I love jazz"}], thread="t")
    dead = bury_a_job(memory)
    listed = operator.get(
        "/v1/admin/jobs", params={"state": "dead", "kind": "lifecycle", "limit": 5}
    )
    assert listed.json() == [one.to_dict() for one in memory.jobs(state="dead")]
    assert "lease_token" not in listed.text
    assert operator.get("/v1/admin/jobs/stats").json() == plain(memory.job_stats())
    assert operator.post(f"/v1/admin/jobs/{dead}/retry").status_code == 204
    assert operator.post(f"/v1/admin/jobs/{dead}/retry").status_code == 409
    assert operator.post(f"/v1/admin/jobs/{dead}/cancel").status_code == 204
    assert operator.post("/v1/admin/jobs/99999/cancel").status_code == 404
    clock.advance(hours=1)
    assert operator.post("/v1/admin/jobs/run", json={"limit": 1}).json() == {"ran": 1}
    assert operator.post("/v1/admin/jobs/run").status_code == 200
    for wrong in ("state=asleep", "limit=0"):
        assert operator.get(f"/v1/admin/jobs?{wrong}").status_code == 422


# -- keys ----------------------------------------------------------------------------------


def test_keys_are_made_listed_and_revoked(keyed: Service) -> None:
    permissions = [READS, CHANGES]
    admin = keyed.client(key=keyed.memory.create_key("admin", permissions=permissions).secret)
    asked = {
        "name": "helper of ana",
        "user": "ana",
        "agent": "helper",
        "categories": ["Drinks"],
        "expires_days": 30,
    }
    made = admin.post("/v1/admin/keys", json=asked)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    key, secret = made.json()["key"], made.json()["secret"]
    assert (key["kind"], key["categories"]) == ("agent", ["drinks"])
    agent = keyed.client(key=secret)
    assert agent.post("/v1/memories", json={"content": "Tea", "theme": "drinks"}).status_code == 201
    listed = admin.get("/v1/admin/keys", params={"user": "ana"})
    assert [one["id"] for one in listed.json()["items"]] == [key["id"]]
    assert secret not in listed.text
    shown = admin.get(f"/v1/admin/keys/{key['id']}")
    assert (shown.status_code, shown.json()["name"]) == (200, "helper of ana")
    assert secret not in shown.text
    page = admin.get("/v1/admin/keys", params={"limit": 1}).json()
    rest = admin.get("/v1/admin/keys", params={"cursor": page["next_cursor"]}).json()
    assert len(page["items"]) == len(rest["items"]) == 1
    revoked = admin.delete(f"/v1/admin/keys/{key['id']}").json()
    assert revoked["revoked_at"] is not None
    assert agent.get("/v1/themes").status_code == 401
    assert admin.get("/v1/admin/keys", params={"user": "ana"}).json()["items"] == []
    with_revoked = admin.get("/v1/admin/keys", params={"user": "ana", "include_revoked": True})
    assert len(with_revoked.json()["items"]) == 1
    ended = admin.get(f"/v1/admin/keys/{key['id']}").json()
    assert ended["revoked_at"] == revoked["revoked_at"]
    for ask_for in (admin.get, admin.delete):
        unknown = ask_for("/v1/admin/keys/aaaaaaaaaaaa")
        assert (unknown.status_code, unknown.json()["type"]) == (404, "KeyNotFound")


def test_a_secret_is_kept_nowhere(service: Service) -> None:
    client = service.client(Idempotency_Key="once")
    first, second = (client.post("/v1/admin/keys", json={"name": "x"}) for _ in range(2))
    assert first.json()["secret"] != second.json()["secret"]
    assert "idempotent-replayed" not in second.headers


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"name": ""},
        {"name": "x", "permissions": ["everything"]},
        {"name": "x", "user": "ana", "permissions": [READS]},
        {"name": "x", "agent": "helper"},
        {"name": "x", "expires_days": 0},
        {"name": "x", "secret": "rk_mine"},
    ],
)
def test_keys_that_cannot_be(service: Service, asked: dict[str, Any]) -> None:
    refused = service.client().post("/v1/admin/keys", json=asked)
    assert (refused.status_code, refused.json()["type"]) == (422, "InvalidValue"), refused.text
    assert len(service.memory.keys()) == 0


def test_nobody_gives_permissions_that_they_do_not_have(keyed: Service) -> None:
    manager = keyed.client(key=keyed.memory.create_key("m", permissions=[CHANGES]).secret)
    refused = manager.post("/v1/admin/keys", json={"name": "x", "permissions": [READS]})
    assert (refused.status_code, refused.json()["type"]) == (403, "PermissionMissing")
    allowed = manager.post("/v1/admin/keys", json={"name": "x", "permissions": [CHANGES]})
    assert allowed.status_code == 201


# -- the language model --------------------------------------------------------------------


def test_the_model_is_tried(backend_url: str, open_store: Callable[..., Memory]) -> None:
    with ModelServer() as model:
        model.answer({"hour": 9, "destination": "the coast"})
        store = open_store(
            backend_url,
            port=0,
            model_provider="custom_http",
            model_base_url=model.base_url,
            model_name="test-model",
        )
        with running(store) as service:
            report = service.client().get("/v1/admin/model/test").json()
    assert (report["ok"], report["problem"]) == (True, None)


def test_without_a_model_there_is_nothing_to_try(operator: httpx2.Client) -> None:
    refused = operator.get("/v1/admin/model/test")
    assert (refused.status_code, refused.json()["type"]) == (422, "InvalidValue")
