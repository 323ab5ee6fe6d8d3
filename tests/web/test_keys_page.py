"""Keys of the service, made and revoked by clicking."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from ricordo.web.forms import OneTimeForms
from tests.support.service import Service
from tests.web.browsing import Browsing
from tests.web.form_sending import Sender
from tests.web.visiting import main_text

pytestmark = pytest.mark.requirement("page.keys")

KEYS = "/ui/settings/keys"
FORM_ID = re.compile(r'name="form_id" value="([^"]+)"')
SECRET = re.compile(r"rk_[0-9a-z]+_[0-9A-Za-z_-]+")


def admin_key(service: Service) -> str:
    return service.memory.create_key("admin", permissions=["read_all", "manage"]).secret


def form_id(sender: Sender) -> str:
    found = FORM_ID.search(sender.get(KEYS).text)
    assert found is not None
    return found[1]


def test_a_secret_is_in_one_answer_and_nowhere_else(
    keyed_site: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    sender = Sender(keyed_site, key=admin_key(keyed_site), user="ana")
    made = sender.post(KEYS, form_id=form_id(sender), name="laptop", user="ana")
    assert made.status_code == 200
    assert made.headers["cache-control"] == "no-store"
    (secret,) = set(SECRET.findall(made.text))
    assert keyed_site.memory.authenticate(secret).name == "laptop"
    for path in (KEYS, f"{KEYS}?revoked=1", "/ui/settings", "/ui/memories", "/ui/changes"):
        sender.get(path)
    assert [answer for answer in sender.answers if secret in answer.text] == [made]
    for answer in sender.answers:
        assert secret not in str(answer.headers)
        assert secret not in str(answer.url)
    random_part = secret.rpartition("_")[2]
    assert random_part not in caplog.text
    assert not [line for line in keyed_site.memory.export_lines() if random_part in str(line)]


def test_nothing_is_revoked_unconfirmed(keyed_site: Service) -> None:
    phone = keyed_site.memory.create_key("phone", user="ana").key
    sender = Sender(keyed_site, key=admin_key(keyed_site), user="ana")
    led = sender.post(f"{KEYS}/{phone.id}/revoke")
    assert (led.status_code, led.headers["location"]) == (303, f"{KEYS}/{phone.id}")
    assert keyed_site.memory.key(phone.id).revoked_at is None
    for path in (f"{KEYS}/unknown", f"{KEYS}/unknown/revoke"):
        answer = sender.post(path, confirm="1") if path.endswith("revoke") else sender.get(path)
        assert answer.status_code == 404


def test_others_are_refused(keyed_site: Service) -> None:
    store = keyed_site.memory
    phone = store.create_key("phone", user="ana")
    refused = {
        "user": phone.secret,
        "agent": store.create_key("agent", user="ana", agent="a").secret,
        "service": store.create_key("service").secret,
        "reader": store.create_key("reader", permissions=["read_all"]).secret,
    }
    for kind, secret in refused.items():
        sender = Sender(keyed_site, key=secret)
        answers = [
            sender.get(KEYS),
            sender.get(f"{KEYS}/{phone.key.id}"),
            sender.post(KEYS, name="stolen", form_id="x" * 20),
            sender.post(f"{KEYS}/{phone.key.id}/revoke", confirm="1"),
        ]
        assert [answer.status_code for answer in answers] == [403] * 4, kind
        assert "permission manage" in answers[0].text
    assert len(store.keys(include_revoked=True)) == 4
    assert store.key(phone.key.id).revoked_at is None


def test_nobody_gives_or_sees_more_than_they_have(keyed_site: Service) -> None:
    store = keyed_site.memory
    theirs = store.create_key("secret project", user="ben").key
    sender = Sender(keyed_site, key=store.create_key("m", permissions=["manage"]).secret)
    page = sender.get(KEYS)
    assert page.status_code == 200
    assert "secret project" not in page.text
    assert 'value="read_all"' not in page.text
    one = sender.get(f"{KEYS}/{theirs.id}")
    assert "Revoke this key" in one.text
    assert "secret project" not in one.text
    assert "ben" not in one.text
    fields = {"name": "more", "permissions": ["read_all", "manage"]}
    refused = sender.post(KEYS, form_id=form_id(sender), **fields)
    assert refused.status_code == 403
    assert "your own key does not have: read_all" in refused.text
    made = sender.post(KEYS, form_id=form_id(sender), name="same", permissions="manage")
    assert SECRET.search(made.text)
    assert {key.name for key in store.keys().items} == {"secret project", "m", "same"}


def test_sending_the_form_again_makes_no_second_key(site: Service) -> None:
    sender = Sender(site, user="ana")
    once = form_id(sender)
    first = sender.post(KEYS, form_id=once, name="laptop", user="ana")
    assert SECRET.search(first.text)
    for again in (once, ""):
        second = sender.post(KEYS, form_id=again, name="laptop", user="ana")
        assert second.status_code == 409
        assert "no second key was created" in second.text
        assert not SECRET.search(second.text)
    assert len(site.memory.keys()) == 1


def test_what_is_typed_wrongly_is_kept(site: Service) -> None:
    sender = Sender(site, user="ana")
    for fields, told in (
        ({"agent": "planner"}, "Agent: the key of an agent acts for one"),
        ({"user": "ana", "expires_days": "soon"}, "Days: is not a whole number"),
        ({"user": "ana", "permissions": "manage"}, "Permissions: reach beyond one user"),
    ):
        refused = sender.post(KEYS, form_id=form_id(sender), name="my planner", **fields)
        assert refused.status_code == 422
        assert told in main_text(refused)
        assert 'value="my planner"' in refused.text
    assert len(site.memory.keys()) == 0


def test_revoking_ones_own_key_signs_out(keyed_site: Service) -> None:
    made = keyed_site.memory.create_key("admin", permissions=["read_all", "manage"])
    sender = Sender(keyed_site, key=made.secret, user="ana")
    page = f"{KEYS}/{made.key.id}"
    assert "You will be signed out" in sender.get(page).text
    sender.post(f"{page}/revoke", confirm="1")
    assert not sender.is_in()


@pytest.mark.browser
@pytest.mark.parametrize("javascript", [True, False])
def test_making_and_revoking_a_key(keyed_site: Service, browse: Browsing, javascript: bool) -> None:
    address, admin = f"{keyed_site.url}/ui/settings", admin_key(keyed_site)
    page = browse(address, key=admin, user="ana", javascript=javascript)
    page.get_by_role("link", name="Keys of this service").click()
    page.get_by_text("Create a key").click()
    page.get_by_label("Name, to recognise it").fill("phone <b>")
    page.get_by_label("User", exact=True).fill("ana")
    page.get_by_label("Agent of that user").fill("planner")
    page.get_by_label("Only these categories").fill("Work, goals")
    page.get_by_label("Valid for this many days").fill("90")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("main")).to_contain_text("Copy it now: it is not shown again")
    secret = page.locator("#new-secret").inner_text()
    key = keyed_site.memory.authenticate(secret)
    assert (key.name, key.user_id, key.agent_id) == ("phone <b>", "ana", "planner")
    assert key.categories == ("goals", "work")
    assert key.expires_at is not None
    if javascript:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()") == secret
    page.get_by_role("link", name="I have copied it").click()
    assert secret not in page.content()
    assert not [url for url in browse.watch(page).requested if secret in url]
    assert all(secret not in str(cookie) for cookie in page.context.cookies())
    page.get_by_role("link", name="Revoke phone <b>").click()
    expect(page.locator("main")).not_to_contain_text("You will be signed out")
    assert keyed_site.memory.key(key.id).revoked_at is None
    page.get_by_role("button", name="Revoke this key").click()
    expect(page.get_by_role("status")).to_contain_text("The key is revoked")
    assert keyed_site.memory.key(key.id).revoked_at is not None


def test_a_form_can_be_sent_once_however_many_try() -> None:
    forms = OneTimeForms()
    one, other = forms.new_id(), forms.new_id()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(forms.take, [one] * 50)).count(True) == 1
    assert forms.take(other)
    assert not (forms.take(None) or forms.take("") or forms.take("x" * 1_000))
    for _ in range(1_000):
        assert forms.take(forms.new_id())
    assert forms.take(one), "those of long ago are forgotten"
