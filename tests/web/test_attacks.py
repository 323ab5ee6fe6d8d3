"""What somebody hostile sends to the pages: nothing of it does, shows or breaks anything."""

import logging
import socket
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from ricordo.memory import Memory
from tests.support.service import Service, running
from tests.support.waiting import wait_until
from tests.web.form_sending import Sender
from tests.web.test_forms import FIELDS, POSTS, everything, lived

FORM = "application/x-www-form-urlencoded"


# -- forms ---------------------------------------------------------------------------------


@pytest.mark.requirement("page.csrf")
def test_a_form_of_another_site_signs_nobody_out(keyed_site: Service) -> None:
    """Browsers send no cookie with it, but would keep the one that an answer brings."""
    where = lived(keyed_site.memory)
    for route in POSTS:
        answer = keyed_site.client().post(where(route), data={"token": "x"})
        assert answer.status_code in (303, 403), route
        assert "set-cookie" not in answer.headers, route


@pytest.mark.requirement("page.csrf")
@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data; boundary=b",
        "multipart/form-data; boundary=b; charset=undefined",
        "multipart/form-data; boundary=b; charset=unicode_escape",
        "application/json",
        "text/plain",
        "",
    ],
)
def test_only_plain_forms_are_taken(site: Service, kind: str) -> None:
    where = lived(site.memory)
    visit = Sender(site, user="ana")
    token = visit.token()
    before = everything(site.memory)
    for route in POSTS:
        fields = {"token": token, **FIELDS.get(route, {})}
        parts = [
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        body = "".join([*parts, "--b--\r\n"]) if "multipart" in kind else urlencode(fields)
        refused = visit.client.post(where(route), content=body, headers={"Content-Type": kind})
        assert refused.status_code == 422, route
    assert everything(site.memory) == before


@pytest.mark.requirement("page.csrf")
def test_a_token_in_the_address_or_a_header_is_none(site: Service) -> None:
    where = lived(site.memory)
    visit = Sender(site, user="ana")
    token = visit.token()
    before = everything(site.memory)
    for route in POSTS:
        sent = {"Content-Type": FORM, "X-CSRF-Token": token, "X-HTTP-Method-Override": "GET"}
        path = f"{where(route)}?{urlencode({'token': token})}"
        body = urlencode(FIELDS.get(route, {}))
        refused = visit.client.post(path, content=body, headers=sent)
        assert refused.status_code == 403, route
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


def test_who_goes_away_while_a_form_is_read_is_no_failure(
    keyed_site: Service, caplog: pytest.LogCaptureFixture
) -> None:
    admin = keyed_site.memory.create_key("admin", permissions=["read_all"])
    measuring = keyed_site.client(key=admin.secret)
    place = urlsplit(keyed_site.url)
    head = (
        f"POST /ui/sign-in HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: {FORM}\r\n"
        "Content-Length: 1000\r\n\r\nkey=rk_"
    )

    def counted() -> str:
        lines = measuring.get("/metrics").text.splitlines()
        wanted = 'ricordo_http_requests_total{method="POST",route="/ui/sign-in"'
        return "".join(line for line in lines if line.startswith(wanted))

    with socket.create_connection((place.hostname, place.port)) as caller:
        caller.sendall(head.encode())
    wait_until(counted)
    assert "5xx" not in counted()
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_odd_places_to_go_on_to_fit_into_a_header(site: Service) -> None:
    visit = Sender(site, user="ana")
    for headers in ({}, {"HX-Request": "true"}):
        led = visit.post("/ui/who", user="ana", next="/ui/memories?theme=茶", headers=headers)
        where = led.headers.get("hx-redirect") or led.headers["location"]
        assert where == "/ui/memories?theme=%E8%8C%B6"


# -- signing in ----------------------------------------------------------------------------


@pytest.mark.requirement("page.sign_in")
def test_signing_in_counts_for_the_key(backend_url: str, open_store: Callable[..., Memory]) -> None:
    settings = {"port": 0, "require_keys": True, "rate_limit_per_minute": 3}
    with running(open_store(backend_url, **settings)) as service:
        key = service.memory.create_key("laptop", user="ana").secret
        came = []
        for _ in range(4):
            visit = Sender(service)
            came.append(visit.sign_in(key).status_code)
        assert came == [303, 303, 303, 429]


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


@pytest.mark.requirement("page.sign_in")
def test_the_longest_names_fit_into_a_cookie(site: Service) -> None:
    """Browsers keep no cookie of more than 4096 bytes, name and value together."""
    name = "\N{GRINNING FACE}" * 200
    visit = Sender(site)
    assert visit.post("/ui/who", user=name).status_code == 303
    visit.post("/ui/settings/embeddings/retry")
    assert len("".join(visit.cookie())) <= 4_096
    assert name in visit.get("/ui/memories").text


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


# -- who is kept to some categories --------------------------------------------------------


SECRET = "zqhidden"
GETS = (
    "/ui/memories",
    "/ui/memories?theme=health",
    "/ui/memories?status=any&sort=theme-asc",
    "/ui/memories?status=deleted",
    "/ui/themes",
    "/ui/graph",
    "/ui/graph?theme=health",
    "/ui/conversations",
    f"/ui/conversations/thread?id={SECRET}-thread",
    "/ui/changes",
    "/ui/changes/newer?after=0",
    "/ui/choices",
    "/ui/choices?state=any",
    "/ui/activity",
    "/ui/activity?whose=everybody",
    "/ui/settings",
    "/ui/settings/embeddings/progress",
    "/ui/settings/keys",
    "/ui/who",
    "/ui/nowhere",
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
        for one in ids if "{id}" in route else ids[:1]:
            path = route.replace("{id}", str(one))
            refused = agent.post(path, token=token, **FIELDS.get(route, {}))
            assert refused.status_code >= 400, path
            assert SECRET not in refused.text, path
    assert everything(keyed_site.memory) == before


@pytest.mark.requirement("page.isolation")
def test_the_pages_of_who_is_kept_to_categories_lead_to_what_they_may_see(
    keyed_site: Service,
) -> None:
    agent, _ = _kept_to_food(keyed_site)
    shown = agent.get("/ui/memories").text
    for path in ("/ui/memories", "/ui/themes", "/ui/graph"):
        assert f'<li><a href="{path}"' in shown
    for path in ("/ui/conversations", "/ui/changes", "/ui/choices", "/ui/activity", "/ui/settings"):
        assert f'<li><a href="{path}"' not in shown
        assert agent.get(path).status_code == 403, path
