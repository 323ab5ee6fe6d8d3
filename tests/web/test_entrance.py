"""Signing in and out, and the session in between."""

import base64
import json
import time
from collections.abc import Callable

import httpx2
import pytest
from cryptography.fernet import Fernet
from playwright.sync_api import expect

from ricordo.memory import Memory
from ricordo.storage.access import session_has_ended
from ricordo.testing import ManualClock
from tests.support.service import Service, running
from tests.web.browsing import Browsing
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("page.sign_in")

HOUR = 3_600
REFUSED = r"console error: Failed to load resource: .* 401 "


def key_of(service: Service, **more: object) -> str:
    return service.memory.create_key("laptop", user="ana", **more).secret


def box(service: Service) -> Fernet:
    """What seals the sessions of a service."""
    secrets = service.memory.recall.embedders.secrets
    return Fernet(secrets.key_for("ricordo web session"))


def attributes(answer: httpx2.Response) -> set[str]:
    (cookie,) = answer.headers.get_list("set-cookie")
    return {part.strip().lower() for part in cookie.split(";")[1:]}


def test_the_cookie_says_nothing(keyed_site: Service) -> None:
    made = keyed_site.memory.create_key("laptop", user="ana")
    visit = Sender(keyed_site, key=made.secret)
    _, value = visit.cookie()
    opened = base64.urlsafe_b64decode(value)
    for known in ("ana", "laptop", made.key.id, made.secret, "key_id", "token"):
        assert known.encode() not in opened
    kept = json.loads(box(keyed_site).decrypt(value.encode()))
    assert kept["key_id"] == made.key.id
    assert made.secret not in json.dumps(kept)


def test_signing_in_begins_a_session_of_its_own(keyed_site: Service) -> None:
    visit = Sender(keyed_site)
    before = visit.token()
    _, old = visit.cookie()
    assert visit.sign_in(key_of(keyed_site)).status_code == 303
    assert visit.token() != before
    assert visit.post("/ui/sign-out", token=before).status_code == 403
    assert visit.is_in()
    visit.bring(old)
    assert not visit.is_in()


def test_a_revoked_key_ends_the_session_at_once(keyed_site: Service) -> None:
    made = keyed_site.memory.create_key("laptop", user="ana")
    visit, other = (Sender(keyed_site, key=made.secret) for _ in range(2))
    token = visit.token()
    keyed_site.memory.revoke_key(made.key.id)
    assert not visit.is_in()
    refused = other.post("/ui/sign-out", token=token)
    assert (refused.status_code, refused.headers["location"]) == (303, "/ui/sign-in")
    part = other.get("/ui/memories", HX_Request="true")
    assert part.headers["hx-redirect"].startswith("/ui/sign-in")
    assert part.text == ""


@pytest.mark.both_databases
def test_signing_out_ends_a_copied_cookie_everywhere(
    keyed_site: Service, backend_url: str, open_store: Callable[..., Memory]
) -> None:
    secret = keyed_site.memory.create_key("assistant").secret
    visit, other, thief = (Sender(keyed_site, key=secret, user="ana") for _ in range(3))
    _, copied = visit.cookie()
    thief.bring(copied)
    assert thief.is_in()
    visit.post("/ui/sign-out")
    assert not thief.is_in() and not visit.is_in()
    assert other.is_in()  # a session of its own, with the same key
    elsewhere = open_store(backend_url)
    assert session_has_ended(elsewhere.database, json.loads(box(keyed_site).decrypt(copied))["id"])


def test_using_a_session_does_not_make_it_last(keyed_site: Service) -> None:
    service_key = keyed_site.memory.create_key("assistant").secret
    visit = Sender(keyed_site, key=service_key, user="ana")
    sealing = box(keyed_site)
    _, value = visit.cookie()
    began = int(time.time()) - 20 * HOUR
    visit.bring(sealing.encrypt_at_time(sealing.decrypt(value.encode()), began).decode())
    renewed = visit.post("/ui/who", user="ben")
    _, value = visit.cookie()
    assert sealing.extract_timestamp(value.encode()) == began
    (age,) = [one for one in attributes(renewed) if one.startswith("max-age=")]
    assert 3 * HOUR < int(age.partition("=")[2]) <= 4 * HOUR


def test_wrong_keys_are_counted_and_limited(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    settings = {"port": 0, "require_keys": True, "rate_limit_per_minute": 3}
    with running(open_store(backend_url, **settings)) as service:
        visit = Sender(service)
        token = visit.token()
        made = service.memory.create_key("laptop", user="ana")
        wrong = ["rk_guessed", "", made.secret[:-1] + ("A" if made.secret[-1] != "A" else "B")]
        answers = [visit.post("/ui/sign-in", token=token, key=key) for key in wrong]
        assert [answer.status_code for answer in answers] == [401, 401, 401]
        assert all(made.key.id not in answer.text for answer in answers)
        limited = visit.post("/ui/sign-in", token=token, key="rk_guessed")
        assert limited.status_code == 429
        assert int(limited.headers["retry-after"]) >= 1
        assert "too many requests" in limited.text
        assert not visit.is_in()
        admin = service.memory.create_key("admin", permissions=["read_all"]).secret
        measured = service.client(key=admin).get("/metrics").text
        assert "ricordo_authentication_failures_total 4.0" in measured


def test_a_cookie_that_was_changed_or_made_up_is_none(keyed_site: Service) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site))
    name, value = visit.cookie()
    changed = [
        value[:place] + ("A" if value[place] != "A" else "B") + value[place + 1 :]
        for place in (0, 12, 40, len(value) - 8)
    ]
    others = Fernet(Fernet.generate_key()).encrypt(box(keyed_site).decrypt(value.encode()))
    client = keyed_site.client()
    for made_up in (*changed, others.decode(), "", "é", "null", "a.b.c"):
        cookie = f"{name}={made_up}".encode()
        answer = client.get("/ui/memories", headers=[(b"cookie", cookie)])
        assert "/ui/sign-in" in answer.headers["location"], made_up
    assert visit.is_in()


def test_the_cookie_is_for_the_pages_alone(
    keyed_site: Service, backend_url: str, open_store: Callable[..., Memory]
) -> None:
    visit = Sender(keyed_site)
    plain = attributes(visit.sign_in(key_of(keyed_site)))
    assert {"httponly", "samesite=lax", "path=/ui", f"max-age={24 * HOUR}"} <= plain
    assert "secure" not in plain
    trusting = open_store(backend_url, port=0, require_keys=True, trusted_proxies="127.0.0.1")
    with running(trusting) as behind_a_proxy:
        for site, is_secure in ((behind_a_proxy, True), (keyed_site, False)):
            forwarded = {"X-Forwarded-Proto": "https"}
            safe = Sender(site).post("/ui/sign-in", key=key_of(site), headers=forwarded)
            assert ("secure" in attributes(safe)) is is_secure
    name, value = visit.cookie()
    api = keyed_site.client().get("/v1/memories", headers={"Cookie": f"{name}={value}"})
    assert api.status_code == 401
    assert "max-age=0" in attributes(visit.post("/ui/sign-out"))
    assert not visit.client.cookies
    assert not visit.is_in()


def test_a_key_that_expired_or_whose_user_is_erased_ends_the_session(
    keyed_site: Service, clock: ManualClock
) -> None:
    brief, lasting = key_of(keyed_site, expires_days=1), key_of(keyed_site)
    visits = [Sender(keyed_site, key=key) for key in (brief, lasting)]
    clock.advance(days=1)
    assert [visit.is_in() for visit in visits] == [False, True]
    keyed_site.memory.user("ana").add("Drinks green tea")
    keyed_site.memory.erase_user("ana")
    assert not visits[1].is_in()


def test_a_session_ends_when_its_time_is_up(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    settings = {"port": 0, "require_keys": True, "page_session_hours": 2}
    with running(open_store(backend_url, **settings)) as service:
        visit = Sender(service)
        assert f"max-age={2 * HOUR}" in attributes(visit.sign_in(key_of(service)))
        sealing, now = box(service), int(time.time())
        kept = sealing.decrypt(visit.cookie()[1].encode())
        visit.bring(sealing.encrypt_at_time(kept, now - HOUR).decode())
        assert visit.is_in()
        visit.bring(sealing.encrypt_at_time(kept, now - 2 * HOUR - 1).decode())
        assert not visit.is_in()


ELSEWHERE = (
    *("//evil.example", "/\\evil.example", "https://evil.example/ui/", "https:evil.example"),
    *("javascript:alert(1)", "/ui/../v1/memories", "/ui/%2e%2E/v1/memories", "/ui/.%2e?x"),
    *("/ui/..#x", "/ui/./..", "/ui\\..\\v1", "/ui/\\evil.example", "/ui/\r\nSet-Cookie: a=b"),
    *("/uix", "/v1/memories", "ui/memories", ""),
)


def test_signing_in_leads_back_and_to_no_other_place(keyed_site: Service, site: Service) -> None:
    key = key_of(keyed_site)
    assistant = keyed_site.memory.create_key("assistant").secret
    visit, chosen = Sender(keyed_site), Sender(keyed_site, key=assistant)
    for path in ("/ui/memories", "/ui/settings/keys", "/ui/nowhere"):
        answer = visit.get(path)
        assert (answer.status_code, answer.text) == (303, "")
        assert answer.headers["location"].startswith("/ui/sign-in?next=")
    for elsewhere in ELSEWHERE:
        shown = visit.get("/ui/sign-in?" + str(httpx2.QueryParams({"next": elsewhere})))
        assert 'name="next" value="/ui/memories"' in shown.text, elsewhere
        led = chosen.post("/ui/who", user="ana", next=elsewhere)
        assert led.headers["location"] == "/ui/memories", elsewhere
    led = visit.sign_in(key, next=ELSEWHERE[0])
    assert (led.status_code, led.headers["location"]) == (303, "/ui/memories")
    for page in ("/ui/themes", "/ui/memories?theme=a..b", "/ui/conversations/thread?id=../x"):
        assert visit.sign_in(key, next=page).headers["location"] == page
    assert Sender(site).get("/ui/sign-in").status_code == 303, "no key is needed there"


@pytest.mark.browser
@pytest.mark.parametrize("javascript", [True, False])
def test_signing_in_and_out(keyed_site: Service, browse: Browsing, javascript: bool) -> None:
    keyed_site.memory.user("ana").add("Drinks green tea")
    page = browse(f"{keyed_site.url}/ui/memories", javascript=javascript)
    browse.watch(page).expect(REFUSED)
    page.get_by_label("Key").fill("rk_wrong_key")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    expect(page.get_by_label("Key")).to_have_value("")
    page.get_by_label("Key").fill(key_of(keyed_site))
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("main")).to_contain_text("Drinks green tea")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{keyed_site.url}/ui/memories")
    assert "/ui/sign-in" in page.url
    assert not [url for url in browse.watch(page).requested if "rk_" in url]
