"""What waits for consent, decided by clicking."""

import pytest
from playwright.sync_api import expect

from ricordo.testing.clock import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.web.browsing import Browsing
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("page.choices")

HOSTILE = "is allergic to <script>alert(1)</script> & nuts"


def say(user: UserMemory, *texts: str, thread: str = "balcony/2026 spring") -> None:
    user.observe([{"role": "user", "content": text} for text in texts], thread=thread)
    user.form(thread)


@pytest.fixture
def ana(site: Service) -> UserMemory:
    user = site.memory.user("ana")
    say(user, "I am allergic to birch pollen", "I live in Bekasi", "I have asthma")
    return user


@pytest.mark.parametrize("javascript", [True, False])
def test_approving_and_rejecting(
    site: Service, ana: UserMemory, browse: Browsing, javascript: bool
) -> None:
    first, second, third = ana.proposals()
    page = browse(f"{site.url}/ui/choices", user="ana", javascript=javascript)
    expect(page.get_by_role("article")).to_have_count(3)
    card = page.locator(f"#choice-{first.id}")
    expect(card).to_contain_text("About your health")
    expect(card).to_contain_text(first.content or "?")
    expect(card.locator("blockquote")).to_have_text(first.quote or "?")
    expect(card).to_contain_text("stored only if you agree")
    expect(card.locator("time")).to_have_count(1)
    expect(page.locator("nav .count")).to_contain_text("3")

    card.get_by_text("Say why").click()
    card.get_by_label("Reason").fill("it helps with recipes")
    card.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_have_text("Approved and stored.")
    expect(page.get_by_role("article")).to_have_count(2)
    following = page.locator(f"#choice-{second.id}")
    expect(following).to_be_focused()
    expect(following).to_be_in_viewport()
    expect(page.get_by_role("status")).to_be_in_viewport()
    page.get_by_role("link", name="Look at the memory").click()
    expect(page.locator("main")).to_contain_text("birch pollen")
    (stored,) = ana.list()
    assert "it helps with recipes" in [change.reason for change in ana.history(stored.id)]

    page.goto(f"{site.url}/ui/choices")
    last = page.locator(f"#choice-{third.id}")
    last.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    expect(page.get_by_role("link", name="Look at the memory")).to_have_count(0)
    expect(page.get_by_role("article")).to_have_count(1)
    assert len(ana.list()) == 1
    assert [one.state.value for one in ana.proposals(state="any")] == [
        "approved",
        "open",
        "rejected",
    ]
    for url in browse.watch(page).requested:
        for word in ("birch", "pollen", "asthma", "Bekasi", "recipes"):
            assert word not in url


def test_what_was_decided(site: Service, ana: UserMemory, browse: Browsing) -> None:
    first, second, _ = ana.proposals()
    added = ana.approve(first.id)
    ana.reject(second.id)
    page = browse(f"{site.url}/ui/choices", user="ana")
    page.get_by_role("link", name="Approved").click()
    card = page.get_by_role("article")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("Approved: your health")
    expect(card).to_contain_text("by ana")
    expect(card).to_contain_text("not kept once it is decided")
    expect(card).not_to_contain_text("birch")
    link = card.get_by_role("link", name="The memory that came of it")
    expect(link).to_have_attribute("href", f"/ui/memories/{added.id}")
    page.get_by_role("link", name="Rejected").click()
    expect(page.get_by_role("article")).to_contain_text("where you live")
    expect(page.get_by_role("article")).not_to_contain_text("Bekasi")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.get_by_role("link", name="All").click()
    expect(page.get_by_role("article")).to_have_count(3)


def test_the_conversation_it_came_from(site: Service, ana: UserMemory, browse: Browsing) -> None:
    page = browse(f"{site.url}/ui/choices", user="ana")
    card = page.locator(f"#choice-{ana.proposals().items[0].id}")
    card.get_by_role("link", name="the conversation").click()
    expect(page.locator("main")).to_contain_text("I am allergic to birch pollen")


@pytest.mark.parametrize("decision", ["Approve", "Reject"])
def test_decided_in_another_window(
    site: Service, ana: UserMemory, browse: Browsing, decision: str
) -> None:
    first = ana.proposals().items[0]
    page = browse(f"{site.url}/ui/choices", user="ana")
    ana.reject(first.id)
    browse.watch(page).expect("console error: Failed to load resource: .* 409 ")
    page.locator(f"#choice-{first.id}").get_by_role("button", name=decision).click()
    expect(page.get_by_role("alert")).to_contain_text("decided before, perhaps in another window")
    expect(page.get_by_role("article")).to_have_count(2)
    assert ana.list().items == ()


def test_what_lapsed(site: Service, ana: UserMemory, browse: Browsing, clock: ManualClock) -> None:
    first = ana.proposals().items[0]
    page = browse(f"{site.url}/ui/choices", user="ana")
    clock.advance(days=8)
    browse.watch(page).expect("console error: Failed to load resource: .* 409 ")
    page.locator(f"#choice-{first.id}").get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Nothing waits for you")
    page.get_by_role("link", name="Lapsed").click()
    expect(page.get_by_role("article")).to_have_count(3)
    expect(page.locator("main")).not_to_contain_text("birch")
    assert ana.list().items == ()


def test_a_wish_waits_for_a_second_sign(site: Service, browse: Browsing) -> None:
    user = site.memory.user("ana")
    say(user, "I prefer short answers")
    page = browse(f"{site.url}/ui/choices", user="ana")
    card = page.get_by_role("article")
    expect(card).to_contain_text("About how you like to be answered")
    expect(card).to_contain_text("stored when it is said again, or when you approve")
    card.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert len(user.list()) == 1


def test_what_is_known_is_not_stored_twice(site: Service, ana: UserMemory) -> None:
    first = ana.proposals().items[0]
    ana.add(first.content or "")
    sender = Sender(site, user="ana")
    led = sender.post(f"/ui/choices/{first.id}/approve")
    assert led.status_code == 303
    assert "known already" in sender.get(led.headers["location"].partition("#")[0]).text
    assert len(ana.list()) == 1


def test_nothing_waits(site: Service, browse: Browsing) -> None:
    page = browse(f"{site.url}/ui/choices", user="ana")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    page.get_by_role("link", name="Approved").click()
    expect(page.get_by_role("heading", name="None yet")).to_be_visible()


def test_hostile_words_are_text(site: Service, browse: Browsing) -> None:
    site.memory.user("ana").update_user_profile({"allergy": HOSTILE})
    page = browse(f"{site.url}/ui/choices", user="ana")
    expect(page.get_by_role("article")).to_contain_text("<script>alert(1)</script>")


def test_more_than_a_page(site: Service, browse: Browsing) -> None:
    user = site.memory.user("ana")
    for number in range(55):
        user.update_user_profile({f"note{number}": f"is allergic to plant {number}"})
    waiting = len(user.proposals(limit=100))
    assert waiting > 50
    page = browse(f"{site.url}/ui/choices", user="ana")
    expect(page.get_by_role("article")).to_have_count(50)
    page.get_by_role("link", name="Show more").click()
    expect(page.get_by_role("article")).to_have_count(waiting)


def test_what_is_no_choice_of_ones_own(site: Service, ana: UserMemory) -> None:
    theirs = ana.proposals().items[0].id
    sender = Sender(site, user="ben")
    for decision in ("approve", "reject"):
        other = sender.post(f"/ui/choices/{theirs}/{decision}")
        none = sender.post(f"/ui/choices/99999/{decision}")
        assert other.status_code == none.status_code == 404
        for answer in (other, none):
            assert "no such choice" in answer.text
            assert "birch" not in answer.text
    assert len(ana.proposals()) == 3
    assert sender.post("/ui/choices/x/approve").status_code == 404
    assert sender.get("/ui/choices?state=odd").status_code == 422


def test_a_link_cannot_say_that_something_was_stored(site: Service) -> None:
    page = Sender(site, user="ana").get("/ui/choices?stored=7")
    assert "Look at the memory" not in page.text


def test_where_it_goes_on_is_a_number(site: Service, ana: UserMemory) -> None:
    sender = Sender(site, user="ana")
    first, *_ = ana.proposals()
    led = sender.post(f"/ui/choices/{first.id}/reject", next='7"><script>')
    assert led.headers["location"] == "/ui/choices"


def test_a_reason_that_is_too_long(site: Service, ana: UserMemory) -> None:
    first, *_ = ana.proposals()
    answer = Sender(site, user="ana").post(f"/ui/choices/{first.id}/approve", reason="x" * 501)
    assert answer.status_code == 422
    assert "reason" in answer.text
    assert len(ana.proposals()) == 3


def test_on_the_way_back_through_the_history_pages_are_whole(site: Service) -> None:
    """The script keeps no pages, so it asks for them again, and replaces all that is shown."""
    sender = Sender(site, user="ana")
    part = sender.get("/ui/choices", HX_Request="true")
    whole = sender.get("/ui/choices", HX_Request="true", HX_History_Restore_Request="true")
    assert "<!doctype html>" not in part.text
    assert "<!doctype html>" in whole.text
