"""What waits for consent, decided by clicking."""

import pytest
from playwright.sync_api import expect

from ricordo import OfferRefused
from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.web.browsing import Browsing
from tests.web.form_sending import Sender
from tests.web.visiting import Visit, main_text

pytestmark = pytest.mark.requirement("page.proposals")


def say(user: UserMemory, *texts: str, thread: str = "balcony/2026 spring") -> None:
    user.observe([{"role": "user", "content": text} for text in texts], thread=thread)
    user.form(thread)


@pytest.fixture
def asked(ana: UserMemory) -> UserMemory:
    """Ana, who has three open proposals."""
    say(ana, "I am allergic to birch pollen", "I live in Bekasi", "I have asthma")
    return ana


def test_a_reason_that_is_too_long(site: Service, asked: UserMemory) -> None:
    first, *_ = asked.proposals()
    answer = Sender(site, user="ana").post(f"/ui/proposals/{first.id}/approve", reason="x" * 501)
    assert answer.status_code == 422
    assert "reason" in answer.text
    assert len(asked.proposals()) == 3


def test_on_the_way_back_through_the_history_pages_are_whole(site: Service) -> None:
    """The script keeps no pages, so it asks for them again, and replaces all that is shown."""
    sender = Sender(site, user="ana")
    part = sender.get("/ui/proposals", HX_Request="true")
    whole = sender.get("/ui/proposals", HX_Request="true", HX_History_Restore_Request="true")
    assert "<!doctype html>" not in part.text
    assert "<!doctype html>" in whole.text


def test_the_old_address_redirects(site: Service) -> None:
    moved = Sender(site, user="ana").get("/ui/choices?state=any")
    assert (moved.status_code, moved.headers["location"]) == (301, "/ui/proposals?state=any")


def test_approving_and_rejecting(asked: UserMemory, visit: Visit) -> None:
    first, second, third = asked.proposals()
    said = visit.text("/ui/proposals")
    for part in ("About health", first.content, first.quote, "stored only if ana agrees"):
        assert str(part) in said
    visit.post(f"/ui/proposals/{first.id}/approve", on="/ui/proposals", reason="for recipes")
    said = visit.text("/ui/proposals")
    assert "Approved and stored." in said
    assert "birch" not in said
    (stored,) = asked.list()
    assert "for recipes" in [change.reason for change in asked.history(stored.id)]
    visit.post(f"/ui/proposals/{third.id}/reject", on="/ui/proposals")
    assert "Rejected" in visit.text("/ui/proposals")
    states = [one.state.value for one in asked.proposals(state="any")]
    assert states == ["approved", "open", "rejected"]
    approved = visit.get("/ui/proposals?state=approved")
    assert "Approved: health" in main_text(approved)
    assert "The proposal itself is not kept" in main_text(approved)
    assert f'href="/ui/memories/{stored.id}"' in approved.text
    assert "asthma" not in visit.text("/ui/proposals?state=rejected")
    asked.add(second.content or "")
    visit.post(f"/ui/proposals/{second.id}/approve", on="/ui/proposals")
    assert "known already" in visit.text("/ui/proposals")
    assert len(asked.list()) == 2


@pytest.mark.requirement("sharing.consent")
def test_what_others_offer(site: Service, ana: UserMemory, visit: Visit) -> None:
    ben = site.memory.user("ben")
    first, second, third = (ben.add(f"Owns <boat> {number}").id for number in range(3))
    for item_id in (first, second):
        ben.link(item_id, "ana")
    said = visit.text("/ui/proposals")
    assert "ben offers ana a memory" in said
    assert "Owns <boat> 0" in said
    assert "boat" not in visit.text("/ui/memories")
    visit.post(f"/ui/proposals/{first}/approve", on="/ui/proposals")
    assert "shared by ben" in visit.text("/ui/memories")
    assert "shared by ben" in visit.text("/ui/memories?q=boat")
    ben_visit = Visit(site).choose("ben")
    assert "Shared with ana" in ben_visit.text(f"/ui/memories/{first}")
    assert "ana (offered)" in ben_visit.text(f"/ui/memories/{second}")
    visit.post("/ui/proposals/senders/block", on="/ui/proposals", sender="ben")
    said = visit.text("/ui/proposals")
    assert "Blocked senders" in said
    assert "boat" not in said
    assert ana.list().items == ()
    assert "a memory of ben" in visit.text("/ui/proposals?state=rejected")
    with pytest.raises(OfferRefused):
        ben.link(third, "ana")
    refused = visit.post("/ui/proposals/senders/block", on="/ui/proposals", sender="ana")
    assert (refused.status_code, "cannot block yourself" in refused.text) == (422, True)
    visit.post("/ui/proposals/senders/unblock", on="/ui/proposals", sender="ben")
    assert "Blocked senders" not in visit.text("/ui/proposals")
    assert ben.link(third, "ana").state == "offered"


def test_decided_before_or_lapsed(asked: UserMemory, visit: Visit, clock: ManualClock) -> None:
    first, second, _ = asked.proposals()
    asked.reject(first.id)
    refused = visit.post(f"/ui/proposals/{first.id}/approve", on="/ui/proposals")
    assert refused.status_code == 409
    assert "decided already, perhaps in another window" in main_text(refused)
    clock.advance(days=8)
    assert visit.post(f"/ui/proposals/{second.id}/reject", on="/ui/who").status_code == 409
    assert "No open proposals" in visit.text("/ui/proposals")
    assert "birch" not in visit.text("/ui/proposals?state=expired")
    assert asked.list().items == ()


def test_what_a_hostile_link_or_form_says(site: Service, asked: UserMemory) -> None:
    sender = Sender(site, user="ana")
    assert "Show the memory" not in sender.get("/ui/proposals?stored=7").text
    first, *_ = asked.proposals()
    led = sender.post(f"/ui/proposals/{first.id}/reject", next='7"><script>')
    assert led.headers["location"] == "/ui/proposals"


@pytest.mark.browser
def test_a_click_approves_and_leads_to_the_next(
    site: Service, asked: UserMemory, browse: Browsing
) -> None:
    first, second, _ = asked.proposals()
    page = browse(f"{site.url}/ui/proposals", user="ana")
    expect(page.locator("nav .count")).to_contain_text("3")
    card = page.locator(f"#proposal-{first.id}")
    card.get_by_text("Add a reason").click()
    card.get_by_label("Reason").fill("it helps with recipes")
    card.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_have_text("Approved and stored.")
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.locator(f"#proposal-{second.id}")).to_be_focused()
    expect(page.locator(f"#proposal-{second.id}")).to_be_in_viewport()
    page.get_by_role("link", name="Show the memory").click()
    expect(page.locator("main")).to_contain_text("birch pollen")
    for url in browse.watch(page).requested:
        assert not [word for word in ("birch", "pollen", "recipes") if word in url]
