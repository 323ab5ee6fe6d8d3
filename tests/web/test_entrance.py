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
from ricordo.testing.clock import ManualClock
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


# -- in the browser ------------------------------------------------------------------------


@pytest.mark.parametrize("javascript", [True, False])
def test_signing_in_and_out(keyed_site: Service, browse: Browsing, javascript: bool) -> None:
    keyed_site.memory.user("ana").add("Drinks green tea")
    page = browse(f"{keyed_site.url}/ui/themes", javascript=javascript)
    assert "/ui/sign-in" in page.url
    browse.watch(page).expect(REFUSED)
    page.get_by_label("Key").fill("rk_wrong_key")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("no valid key")
    expect(page.get_by_label("Key")).to_have_value("")
    page.get_by_label("Key").fill(key_of(keyed_site))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/ui/themes")
    page.goto(f"{keyed_site.url}/ui/memories")
    expect(page.locator("main")).to_contain_text("Drinks green tea")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{keyed_site.url}/ui/memories")
    assert "/ui/sign-in" in page.url
    asked = browse.watch(page).requested
    assert not [url for url in asked if "rk_" in url]


def test_nobody_signs_in_where_no_key_is_needed(site: Service, browse: Browsing) -> None:
    page = browse(f"{site.url}/")
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
    page.goto(f"{site.url}/ui/sign-in")
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_have_count(0)


# -- the cookie ----------------------------------------------------------------------------


def attributes(answer: httpx2.Response) -> set[str]:
    (cookie,) = answer.headers.get_list("set-cookie")
    return {part.strip().lower() for part in cookie.split(";")[1:]}


def test_the_cookie_is_for_the_pages_alone(keyed_site: Service) -> None:
    visit = Sender(keyed_site)
    plain = attributes(visit.sign_in(key_of(keyed_site)))
    assert {"httponly", "samesite=lax", "path=/ui", f"max-age={24 * HOUR}"} <= plain
    assert "secure" not in plain
    behind = Sender(keyed_site)
    token = behind.token()
    safe = behind.post(
        "/ui/sign-in",
        token=token,
        key=key_of(keyed_site),
        headers={"X-Forwarded-Proto": "https"},
    )
    assert "secure" in attributes(safe)
    name, value = visit.cookie()
    api = keyed_site.client().get("/v1/memories", headers={"Cookie": f"{name}={value}"})
    assert api.status_code == 401


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


def test_a_cookie_that_was_changed_is_none(keyed_site: Service) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site))
    _, value = visit.cookie()
    for place in (0, 12, 40, len(value) - 8):
        letter = "A" if value[place] != "A" else "B"
        visit.bring(value[:place] + letter + value[place + 1 :])
        assert not visit.is_in(), place
    visit.bring(value)
    assert visit.is_in()


def test_a_cookie_that_was_made_up_is_none(keyed_site: Service) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site))
    name, value = visit.cookie()
    others = Fernet(Fernet.generate_key()).encrypt(box(keyed_site).decrypt(value.encode()))
    client = keyed_site.client()
    for made_up in (others.decode(), "", "x", "é", "null", "{}", "a.b.c"):
        cookie = f"{name}={made_up}".encode()
        answer = client.get("/ui/memories", headers=[(b"cookie", cookie)])
        assert "/ui/sign-in" in answer.headers["location"], made_up


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


def test_signing_out_drops_the_cookie(keyed_site: Service) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site))
    dropped = visit.post("/ui/sign-out")
    assert "max-age=0" in attributes(dropped)
    assert not visit.client.cookies
    assert not visit.is_in()


# -- when it ends --------------------------------------------------------------------------


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


def test_an_expired_key_ends_the_session(keyed_site: Service, clock: ManualClock) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site, expires_days=1))
    assert visit.is_in()
    clock.advance(days=1)
    assert not visit.is_in()


def test_the_key_of_an_erased_user_ends_the_session(keyed_site: Service) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site))
    keyed_site.memory.user("ana").add("Drinks green tea")
    keyed_site.memory.erase_user("ana")
    assert not visit.is_in()


def test_a_session_ends_when_its_time_is_up(keyed_site: Service) -> None:
    visit = Sender(keyed_site, key=key_of(keyed_site))
    sealing = box(keyed_site)
    _, value = visit.cookie()
    kept = sealing.decrypt(value.encode())
    now = int(time.time())
    visit.bring(sealing.encrypt_at_time(kept, now - 23 * HOUR).decode())
    assert visit.is_in()
    visit.bring(sealing.encrypt_at_time(kept, now - 24 * HOUR - 1).decode())
    assert not visit.is_in()


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


def test_a_session_lasts_as_long_as_is_set(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    settings = {"port": 0, "require_keys": True, "page_session_hours": 1}
    with running(open_store(backend_url, **settings)) as service:
        visit = Sender(service)
        assert f"max-age={HOUR}" in attributes(visit.sign_in(key_of(service)))
        sealing = box(service)
        kept = sealing.decrypt(visit.cookie()[1].encode())
        visit.bring(sealing.encrypt_at_time(kept, int(time.time()) - HOUR - 1).decode())
        assert not visit.is_in()


# -- guessing ------------------------------------------------------------------------------


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


# -- where signing in leads ----------------------------------------------------------------


ELSEWHERE = (
    "//evil.example",
    "/\\evil.example",
    "https://evil.example/ui/",
    "https:evil.example",
    "javascript:alert(1)",
    "/ui/../v1/memories",
    "/ui/%2e%2E/v1/memories",
    "/ui/.%2e?x",
    "/ui/..#x",
    "/ui/./..",
    "/ui\\..\\v1",
    "/ui/\\evil.example",
    "/ui/\r\nSet-Cookie: a=b",
    "/uix",
    "/v1/memories",
    "ui/memories",
    "",
)


def test_signing_in_leads_to_no_other_place(keyed_site: Service) -> None:
    key = key_of(keyed_site)
    assistant = keyed_site.memory.create_key("assistant").secret
    visit, chosen = Sender(keyed_site), Sender(keyed_site, key=assistant)
    for elsewhere in ELSEWHERE:
        shown = visit.get("/ui/sign-in?" + str(httpx2.QueryParams({"next": elsewhere})))
        assert 'name="next" value="/ui/memories"' in shown.text, elsewhere
        led = visit.sign_in(key, next=elsewhere)
        assert (led.status_code, led.headers["location"]) == (303, "/ui/memories"), elsewhere
        led = chosen.post("/ui/who", user="ana", next=elsewhere)
        assert led.headers["location"] == "/ui/memories", elsewhere


def test_signing_in_leads_back(keyed_site: Service) -> None:
    visit, key = Sender(keyed_site), key_of(keyed_site)
    for page in ("/ui/themes", "/ui/memories?theme=a..b", "/ui/conversations/thread?id=../x"):
        assert visit.sign_in(key, next=page).headers["location"] == page


def test_whoever_is_not_in_is_led_to_the_door(keyed_site: Service) -> None:
    visit = Sender(keyed_site)
    for path in ("/ui/memories", "/ui/settings", "/ui/settings/keys", "/ui/nowhere"):
        answer = visit.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui/sign-in?next=")
        assert answer.text == ""
