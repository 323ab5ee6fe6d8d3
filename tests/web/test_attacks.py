"""Forms do nothing that somebody else's page sends, whichever page they belong to."""

import base64
import hashlib
from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest
from starlette.routing import Route

from ricordo.access.grants import Grants
from ricordo.memory import Memory
from ricordo.model.scope import ApiKey
from ricordo.model.vocabulary import AccessScope
from ricordo.storage.access import StoredGrants
from ricordo.web.site import ROUTERS
from tests.support.service import Service, running
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("page.csrf")

POSTS: Final = sorted(
    {
        route.path
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, Route) and "POST" in (route.methods or ())
    }
)
"""Every route that takes forms, of whichever page."""
FIELDS: Final = {
    "/ui/settings/embeddings": {"provider": "none", "confirm": "1"},
    "/ui/settings/embeddings/rebuild": {"confirm": "1"},
    "/ui/settings/keys": {"name": "stolen", "form_id": "once"},
    "/ui/settings/keys/{id}/revoke": {"confirm": "1"},
    "/ui/who": {"user": "ben"},
    "/ui/memories/{id}/rate": {"verdict": "wrong"},
    "/ui/memories/{id}/pin": {"pinned": "1"},
    "/ui/memories/{id}/tags": {"tags": "stolen"},
}
"""What a form says that would do something."""
FOREIGN: Final = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


def lived(memory: Memory) -> Callable[[str], str]:
    """Something in a store that each form is about; the address of a route there."""
    ana = memory.user("ana")
    old = ana.add("Drinks green tea").id
    new = ana.add("Drinks black tea", supersedes=old).id
    ana.observe([{"role": "user", "content": "I am allergic to nuts"}], thread="t")
    ana.form("t")
    (proposal,) = ana.proposals()
    key = memory.create_key("phone", user="ana").key
    ids = {
        "/ui/memories/{id}/undo": new,
        "/ui/memories/{id}/rate": new,
        "/ui/memories/{id}/pin": new,
        "/ui/memories/{id}/tags": new,
        "/ui/memories/{id}/restore": old,
        "/ui/memories/{id}/archive": new,
        "/ui/memories/{id}/forget": new,
        "/ui/memories/{id}/unlink": new,
        "/ui/proposals/{id}/approve": proposal.id,
        "/ui/proposals/{id}/reject": proposal.id,
        "/ui/settings/keys/{id}/revoke": key.id,
        "/ui/settings/programs/{id}/revoke": granted(memory, key),
    }
    with_ids = {route for route in POSTS if "{id}" in route}
    assert with_ids == set(ids), "say here what a new form is about"
    return lambda route: route.replace("{id}", str(ids.get(route)))


def granted(memory: Memory, key: ApiKey) -> str:
    """A program that ana has let in."""
    grants = Grants(
        StoredGrants(memory.database), memory.database.clock, "https://memory.example/mcp"
    )
    at = "https://notes.example/back"
    program, proof = grants.register("Notes", [at]), "x" * 43
    shown = base64.urlsafe_b64encode(hashlib.sha256(proof.encode()).digest()).rstrip(b"=")
    code = grants.allow(
        key, "ana", program, [AccessScope.READ], redirect_uri=at, challenge=shown.decode()
    )
    grants.redeem(code, program.id, at, proof)
    return memory.user("ana").grants()[0].id


def everything(memory: Memory) -> list[object]:
    """All that a form could change."""
    ana = memory.user("ana")
    return [
        *memory.export_lines(),
        ana.embedding_status(),
        ana.proposals(state="any").items,
        memory.keys(include_revoked=True).items,
        *ana.grants(),
    ]


def admin_of(service: Service) -> Sender:
    made = service.memory.create_key("admin", permissions=["read_all", "manage"])
    return Sender(service, key=made.secret, user="ana")


def test_no_form_without_its_sessions_token(keyed_site: Service) -> None:
    where = lived(keyed_site.memory)
    visit, other = admin_of(keyed_site), admin_of(keyed_site)
    tokens = {"none": "", "made up": "x" * 32, "another session's": other.token()}
    before = everything(keyed_site.memory)
    for route in POSTS:
        for kind, token in tokens.items():
            refused = visit.post(where(route), token=token, **FIELDS.get(route, {}))
            assert refused.status_code == 403, (route, kind)
            assert "too old" in refused.text
    assert everything(keyed_site.memory) == before
    assert visit.is_in()


def test_a_form_with_its_token_is_taken(site: Service) -> None:
    """Else the refusals above would say nothing."""
    where = lived(site.memory)
    sender = Sender(site, user="ana")
    for route in POSTS:
        taken = sender.post(where(route), **FIELDS.get(route, {}))
        assert taken.status_code != 403, (route, taken.text)


def test_no_form_of_a_foreign_page_where_no_key_is_needed(site: Service) -> None:
    where = lived(site.memory)
    visit = Sender(site, user="ana")
    token = visit.token()
    before = everything(site.memory)
    for route in POSTS:
        for headers in (FOREIGN, {"Origin": "null"}, {"Host": "evil.example"}):
            refused = visit.post(
                where(route), token=token, headers=headers, **FIELDS.get(route, {})
            )
            assert refused.status_code == 403, (route, headers)
    assert everything(site.memory) == before


def test_nobody_without_a_key_gets_as_far_as_a_form(keyed_site: Service) -> None:
    where = lived(keyed_site.memory)
    visit = Sender(keyed_site)
    token = visit.token()
    before = everything(keyed_site.memory)
    for route in POSTS:
        if route == "/ui/sign-in":
            continue
        led = visit.post(where(route), token=token, **FIELDS.get(route, {}))
        assert (led.status_code, led.headers["location"]) == (303, "/ui/sign-in"), route
    assert everything(keyed_site.memory) == before


FORM = "application/x-www-form-urlencoded"


@pytest.mark.requirement("page.csrf")
def test_a_form_of_another_site_signs_nobody_out(keyed_site: Service) -> None:
    """Browsers send no cookie with it, but would keep the one that an answer brings."""
    where = lived(keyed_site.memory)
    for route in POSTS:
        answer = keyed_site.client().post(where(route), data={"token": "x"})
        assert answer.status_code in (303, 403), route
        assert "set-cookie" not in answer.headers, route


@pytest.mark.requirement("page.csrf")
def test_only_plain_forms_with_the_token_in_them_are_taken(site: Service) -> None:
    where = lived(site.memory)
    visit = Sender(site, user="ana")
    token = visit.token()
    before = everything(site.memory)
    multipart = "multipart/form-data; boundary=b"
    for route in POSTS:
        fields = {"token": token, **FIELDS.get(route, {})}
        parts = [
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        in_parts, plain = "".join([*parts, "--b--\r\n"]), urlencode(fields)
        for kind, body in (
            (multipart, in_parts),
            (f"{multipart}; charset=unicode_escape", in_parts),
            ("application/json", plain),
            ("", plain),
        ):
            refused = visit.client.post(where(route), content=body, headers={"Content-Type": kind})
            assert refused.status_code == 422, (route, kind)
        sent = {"Content-Type": FORM, "X-CSRF-Token": token, "X-HTTP-Method-Override": "GET"}
        path = f"{where(route)}?{urlencode({'token': token})}"
        elsewhere = visit.client.post(path, content=urlencode(FIELDS.get(route, {})), headers=sent)
        assert elsewhere.status_code == 403, route
    assert everything(site.memory) == before


def test_nobody_makes_the_service_read_for_long(keyed_site: Service) -> None:
    """A form of ten megabytes of nothing took the parser seconds, in which it answered nobody."""
    client = keyed_site.client()
    for body in (b"&" * 300_000, b"key=" + b"%00" * 100_000):
        announced = client.post("/ui/sign-in", content=body, headers={"Content-Type": FORM})
        assert announced.status_code == 413
        parts = (body[at : at + 65_536] for at in range(0, len(body), 65_536))
        unannounced = client.post("/ui/sign-in", content=parts, headers={"Content-Type": FORM})
        assert unannounced.status_code == 413


@pytest.mark.requirement("page.sign_in")
def test_a_session_of_another_store_with_the_same_secret_opens_nothing(
    open_store: Callable[..., Memory], backend_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = "A" * 43 + "="
    other_url = str(tmp_path_factory.mktemp("other") / "ricordo.db")
    settings = {"port": 0, "secret_key": secret}
    with (
        running(open_store(backend_url, **settings, require_keys=True)) as keyed,
        running(open_store(other_url, **settings, require_keys=True)) as other,
        running(open_store(other_url, **settings)) as trusting,
    ):
        keyed.memory.user("ana").add("Drinks green tea")
        keyed.memory.create_key("laptop", user="ana")
        brought = [
            Sender(other, key=other.memory.create_key("laptop", user="ana").secret).cookie(),
            Sender(trusting, user="ana").cookie(),
        ]
        name = f"ricordo_session_{urlsplit(keyed.url).port}"
        for _, value in brought:
            answer = keyed.client().get("/ui/memories", headers={"Cookie": f"{name}={value}"})
            assert answer.headers["location"].startswith("/ui/sign-in"), answer.text


@pytest.mark.requirement("page.isolation")
def test_users_are_listed_only_for_who_may_see_all(keyed_site: Service) -> None:
    store = keyed_site.memory
    store.user("ana-of-the-list").add("Drinks green tea")
    seen = {
        permissions: "ana-of-the-list"
        in Sender(keyed_site, key=store.create_key("s", permissions=permissions).secret)
        .get("/ui/who")
        .text
        for permissions in ((), ("manage",), ("read_all",))
    }
    assert seen == {(): False, ("manage",): False, ("read_all",): True}


SECRET = "zqhidden"
GETS = (
    *("/ui/memories", "/ui/memories?theme=health", "/ui/memories?status=any&sort=theme-asc"),
    *("/ui/memories?status=deleted", "/ui/themes", "/ui/graph", "/ui/graph?theme=health"),
    *("/ui/conversations", f"/ui/conversations/thread?id={SECRET}-thread", "/ui/changes"),
    *("/ui/changes/newer?after=0", "/ui/proposals", "/ui/proposals?state=any", "/ui/activity"),
    *("/ui/activity?whose=everybody", "/ui/settings", "/ui/settings/embeddings/progress"),
    *("/ui/settings/keys", "/ui/who", "/ui/nowhere"),
)


def _kept_to_food(service: Service) -> tuple[Sender, list[int]]:
    """An agent that may touch food alone, and all that it might ask for by its number."""
    ana = service.memory.user("ana")
    told = {"tags": [SECRET], "reason": f"because {SECRET}"}
    ids = [
        ana.add(f"Takes {SECRET} with green tea", theme="health", **told).id,
        ana.add(f"Took {SECRET} with black tea", theme="health", **told).id,
        ana.add("Drinks green tea with milk", theme="food").id,
        ana.add("Drinks black tea with milk", theme="food").id,
    ]
    ids.append(ana.add(f"Takes {SECRET} with milk", theme="health", supersedes=ids[1], **told).id)
    moved = ana.add("Eats porridge in the morning", theme="food").id
    ids += [moved, ana.add(f"Eats {SECRET} daily", theme="health", supersedes=moved, **told).id]
    forgotten = ana.add(f"Forgot {SECRET} once", theme="health", **told).id
    ana.forget(forgotten, reason=f"because {SECRET}")
    said = {"role": "user", "content": f"I have asthma and take {SECRET}.", "id": "m1"}
    ana.observe([said], thread=f"{SECRET}-thread", title=f"About {SECRET}")
    ana.form(f"{SECRET}-thread")
    ids += [forgotten, *(one.id for one in ana.proposals(state="any"))]
    key = service.memory.create_key("helper", user="ana", agent="kitchen", categories=["food"])
    return Sender(service, key=key.secret), ids


@pytest.mark.requirement("page.isolation")
@pytest.mark.slow
def test_who_is_kept_to_categories_is_told_nothing_of_others(keyed_site: Service) -> None:
    agent, ids = _kept_to_food(keyed_site)
    answers: list[httpx2.Response] = []
    for path in (*GETS, *(f"/ui/memories/{one}" for one in ids)):
        answers += [agent.get(path), agent.get(path, HX_Request="true")]
    shown = agent.get("/ui/memories/3")
    token = shown.text.partition('name="token" value="')[2].partition('"')[0]
    for asked in ({}, {"theme": "health"}, {"status": "any"}, {"archived": "1"}):
        answers.append(agent.post("/ui/memories", token=token, q="takes tea daily", **asked))
    assert "green tea with milk" in answers[0].text
    for path in ("/ui/memories", "/ui/themes", "/ui/graph"):
        assert f'"><a href="{path}"' in shown.text
    for path in (
        "/ui/conversations",
        "/ui/changes",
        "/ui/proposals",
        "/ui/activity",
        "/ui/settings",
    ):
        assert f'"><a href="{path}"' not in shown.text
        assert agent.get(path).status_code == 403, path
    assert "green tea with milk" in answers[-4].text, "else the search would say nothing"
    for answer in answers:
        assert SECRET not in answer.text, answer.url
        assert SECRET not in str(answer.headers), answer.url


@pytest.mark.requirement("page.isolation")
def test_who_is_kept_to_categories_changes_nothing_of_others(keyed_site: Service) -> None:
    agent, ids = _kept_to_food(keyed_site)
    token = agent.get("/ui/memories").text.partition('name="token" value="')[2].partition('"')[0]
    before = everything(keyed_site.memory)
    for route in POSTS:
        if route in ("/ui/sign-in", "/ui/sign-out", "/ui/memories"):
            continue
        for one in ids[::2] if "{id}" in route else ids[:1]:
            if route.endswith(("/rate", "/pin", "/tags", "/archive", "/forget")) and one == ids[2]:
                continue  # of food, which it may change
            path = route.replace("{id}", str(one))
            refused = agent.post(path, token=token, **FIELDS.get(route, {}))
            assert refused.status_code >= 400, path
            assert SECRET not in refused.text, path
    assert everything(keyed_site.memory) == before
