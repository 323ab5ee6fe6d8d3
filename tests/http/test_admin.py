"""Administration over HTTP, and who may do it."""

import dataclasses
from collections.abc import Callable

import httpx2
import pytest
from fastapi.routing import APIRoute

from ricordo.http.app import all_routers
from ricordo.memory import Memory
from ricordo.model.record import plain
from ricordo.testing import ManualClock
from tests.support.endpoints import FaultyModel
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("http.admin")

READS = "read_all"
CHANGES = "manage"
BOTH = {READS, CHANGES}
BODIES = {
    "create_key": {"name": "another"},
    "create_group": {"group": "another"},
    "set_member_of_group": {"role": "read"},
    "add_global_memory": {"content": "The office is closed on Mondays"},
}
PARTS = {
    "{user:path}": "nobody",
    "{member:path}": "nobody",
    "{group}": "nothing",
    "{id}": "99999",
}


def admin_routes() -> list[APIRoute]:
    routes = [route for router in all_routers() for route in router.routes]
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


@pytest.mark.requirement("access.permissions")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param({"list_users", "list_jobs", "create_key", "retry_job"}, id="some"),
        pytest.param({route.name for route in admin_routes()}, id="all", marks=pytest.mark.slow),
    ],
)
def test_only_who_may_is_let_in(keyed: Service, names: set[str]) -> None:
    """Reading needs one permission, all else the other."""
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
    for route in (one for one in admin_routes() if one.name in names):
        needed = READS if route.methods == {"GET"} else CHANGES
        refused = ask(nobody, route)
        assert (refused.status_code, refused.json()["type"]) == (401, "NotAuthenticated")
        for name, (client, permissions) in callers.items():
            answered = ask(client, route)
            if needed in permissions:
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

    assert operator.get("/v1/admin/memories?colour=x").status_code == 422


def test_erasing_a_user(service: Service, operator: httpx2.Client) -> None:
    service.memory.user("ana").add("Likes tea")
    service.memory.user("a/b").add("Likes jazz")
    receipt = operator.delete("/v1/admin/users/ana").json()
    assert (receipt["user_id"], receipt["removed"]["items"]) == ("ana", 1)
    assert operator.delete("/v1/admin/users/a%2Fb").json()["user_id"] == "a/b"
    assert service.memory.users() == ()
    again = operator.delete("/v1/admin/users/ana")
    assert (again.status_code, again.json()["type"]) == (404, "UserNotFound")


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


def test_jobs(service: Service, operator: httpx2.Client, clock: ManualClock) -> None:
    memory = service.memory
    for thread in ("t", "u"):
        memory.user("ana").observe([{"role": "user", "content": "I love jazz"}], thread=thread)
    clock.advance(hours=1)
    queue = memory.runner.queue
    job = queue.claim(frozenset({"form"}))
    assert job is not None
    queue.fail(dataclasses.replace(job, attempts=job.max_attempts), "ValueError: no")
    listed = operator.get("/v1/admin/jobs", params={"state": "dead", "kind": "form", "limit": 5})
    assert listed.json() == [one.to_dict() for one in memory.jobs(state="dead")]
    assert "lease_token" not in listed.text
    assert operator.get("/v1/admin/jobs/stats").json() == plain(memory.job_stats())
    assert operator.post(f"/v1/admin/jobs/{job.id}/retry").status_code == 204
    assert operator.post(f"/v1/admin/jobs/{job.id}/retry").status_code == 409
    assert operator.post(f"/v1/admin/jobs/{job.id}/cancel").status_code == 204
    assert operator.post("/v1/admin/jobs/99999/cancel").status_code == 404
    assert operator.post("/v1/admin/jobs/run", json={"limit": 1}).json() == {"ran": 1}
    assert operator.get("/v1/admin/jobs?state=asleep").status_code == 422


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

    unknown = admin.get("/v1/admin/keys/aaaaaaaaaaaa")
    assert (unknown.status_code, unknown.json()["type"]) == (404, "KeyNotFound")


def test_a_secret_is_kept_nowhere(service: Service) -> None:
    client = service.client(Idempotency_Key="once")
    first, second = (client.post("/v1/admin/keys", json={"name": "x"}) for _ in range(2))
    assert first.json()["secret"] != second.json()["secret"]
    assert "idempotent-replayed" not in second.headers


def test_keys_that_cannot_be(service: Service) -> None:
    for asked in (
        {},
        {"name": "x", "permissions": ["everything"]},
        {"name": "x", "user": "ana", "permissions": [READS]},
        {"name": "x", "secret": "rk_mine"},
    ):
        refused = service.client().post("/v1/admin/keys", json=asked)
        assert (refused.status_code, refused.json()["type"]) == (422, "InvalidValue"), asked
    assert len(service.memory.keys()) == 0


def test_nobody_gives_permissions_that_they_do_not_have(keyed: Service) -> None:
    manager = keyed.client(key=keyed.memory.create_key("m", permissions=[CHANGES]).secret)
    refused = manager.post("/v1/admin/keys", json={"name": "x", "permissions": [READS]})
    assert (refused.status_code, refused.json()["type"]) == (403, "PermissionMissing")
    allowed = manager.post("/v1/admin/keys", json={"name": "x", "permissions": [CHANGES]})
    assert allowed.status_code == 201


def test_the_model_is_tried(backend_url: str, open_store: Callable[..., Memory]) -> None:
    with FaultyModel() as model:
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
