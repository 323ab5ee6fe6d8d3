"""The change feed: every kind of change in words, page by page, and live."""

import dataclasses
import html
import re
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from ricordo import limits
from ricordo.model.item import Change
from ricordo.model.vocabulary import Event
from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from ricordo.web.changes import KINDS
from ricordo.web.wording import described
from tests.support.service import Service
from tests.support.sharing import share
from tests.web.browsing import Browsing
from tests.web.visiting import Visit, main_text

pytestmark = pytest.mark.requirement("page.changes")

ROWS = limits.PAGE_ROWS
PAUSE_MS = 3_000


def revisions(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="change-(\d+)"', page)]


def kinds(page: str) -> list[str]:
    return re.findall(r'<p class="what"><strong>([^<]+)</strong>', page)


def test_what_happened_is_told_newest_first(
    site: Service, ana: UserMemory, visit: Visit, clock: ManualClock
) -> None:
    old = ana.add("Plays the <viola>", reason="said so").id
    new = ana.add("Plays the cello", supersedes=old, reason="new <instrument>").id
    diet = ana.add("Eats no meat", key="diet").id
    ana.add("Eats no fish", key="diet")
    ana.undo(diet)
    ana.pin(diet)
    ana.verify(diet)
    ana.archive(diet)
    ana.restore(diet)
    share(ana, diet, "ben")
    ana.unlink(diet, "ben")
    short = ana.add("The pool is closed", expires_at=clock() + timedelta(days=1)).id
    clock.advance(days=2)
    ana.purge()
    ana.forget(new, reason="too <private>")
    page, said = visit.get("/ui/changes").text, visit.text("/ui/changes")
    events = "Forgotten, Expired, Learned, No longer shared with ben, Shared with ben, "
    events += "Offered to ben, Restored, "
    events += "Archived, Verified, Pinned, Undone, Replaced, Learned, Replaced, Learned"
    assert kinds(page) == [*events.split(", "), "Learned"]
    assert revisions(page) == list(range(16, 0, -1))
    assert page.count('<svg class="sign') == 16
    assert "too <private>" in said
    assert "new <instrument>" in said
    assert "Plays the <viola>" in said
    assert f'href="/ui/memories/{old}"' in page
    assert f"memory {short}, which is forgotten" in said
    assert f"Expired: memory {short}, which is forgotten by ricordo" in said
    assert "cello" not in said
    ana.purge(before_time=True)
    said = visit.text("/ui/changes")
    assert f"memory {new}, which no longer exists" in said
    assert f"Removed for good: memory {new}, which no longer exists by ricordo" in said
    assert "private" not in said


def test_every_kind_of_change_has_words() -> None:
    change = Change(revision=1, event=Event.CONSENT, item_id=1, at=ManualClock()(), actor="ana")
    for event in Event:
        line = described(dataclasses.replace(change, event=event))
        assert re.fullmatch(r"[A-Z][a-z ]+", line.words), event
    for step in ("proposed", "heard", "said again", "approved", "rejected", "expired"):
        assert described(dataclasses.replace(change, meta={"consent": step})).words != "Consent", (
            step
        )


def test_what_others_share_is_told_without_their_words(site: Service, ana: UserMemory) -> None:
    item = ana.add("Likes tea", key="drink", reason="heard in private").id
    share(ana, item, "ben")
    ana.add("Likes coffee", key="drink", reason="also private")
    ben = Visit(site).choose("ben")
    page, said = ben.get("/ui/changes").text, ben.text("/ui/changes")
    assert kinds(page) == ["Changed", "Shared by ana, accepted"]
    assert "by its owner" in said
    assert "Likes coffee" in said
    assert "private" not in said
    assert "Likes tea" not in said
    assert f"Shared by ana, accepted: memory {item}, whose text of then is not kept" in said


def told(visit: Visit, address: str = "/ui/changes") -> list[str]:
    """What each entry says of the memories, without who did it and when."""
    found = re.findall(
        r'<span class="told">(.*?)</span>\s*<span', visit.get(address).text, re.DOTALL
    )
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", "", one)).split()) for one in found]


def test_texts_are_as_they_were(ana: UserMemory, visit: Visit) -> None:
    home = ana.add("Lives in Jakarta", key="home").id
    ana.pin(home)
    ana.add("Lives in Bekasi", key="home")
    ana.verify(home)
    ana.add("Lives in Bogor", key="home", tags=["java"])
    ana.undo(home)
    ana.add("Lives in Bekasi", key="home", importance=4)
    assert told(visit) == [
        "Lives in Bekasi (importance)",
        "Lives in Bekasi",
        f"Lives in Bekasi → memory {home}, whose text of then is not kept",
        "Lives in Bekasi",
        "Lives in Jakarta → Lives in Bekasi",
        "Lives in Jakarta",
        "Lives in Jakarta",
    ]
    old = ana.add("Plays the viola").id
    ana.add("Plays the cello", supersedes=old)
    pool, bath = ana.add("Swims on Mondays").id, ana.add("Swims each Monday").id
    ana.merge([pool, bath], "Swims every Monday")
    assert told(visit)[:7] == [
        "Swims each Monday into Swims every Monday",
        "Swims on Mondays into Swims every Monday",
        "Swims every Monday",
        "Swims each Monday",
        "Swims on Mondays",
        "Plays the viola → Plays the cello",
        "Plays the cello",
    ]


def test_what_was_forgotten_stays_hidden(ana: UserMemory, visit: Visit) -> None:
    home = ana.add("Lives in Jakarta", key="home").id
    ana.add("Lives in Bekasi", key="home")
    (former,) = ana.list(status="superseded")
    ana.forget(former.id)
    gone = f"memory {home}, whose text of then is not kept"
    assert told(visit) == [
        f"memory {former.id}",
        f"{gone} → Lives in Bekasi",
        gone,
    ]
    assert "Jakarta" not in visit.text(f"/ui/memories/{home}")
    ana.purge(before_time=True)
    assert "Jakarta" not in visit.text("/ui/changes")
    ana.forget(home)
    assert "Bekasi" not in visit.text("/ui/changes")


def test_changes_are_chosen_by_kind_and_project(ana: UserMemory, visit: Visit) -> None:
    shop = ana.add("Tests run with make test", project_id="acme/shop").id
    tea = ana.add("Likes tea").id
    ana.pin(shop)
    ana.forget(tea)
    everything = visit.get("/ui/changes").text
    assert kinds(everything) == ["Forgotten", "Pinned", "Learned", "Learned"]
    assert re.findall(r"<option[^>]*>([^<]*)</option>", everything) == [
        "All projects, and none",
        "acme/shop",
    ]

    def shown(query: str) -> list[int]:
        return revisions(visit.get(f"/ui/changes?{query}").text)

    assert shown("kind=learned") == [2, 1]
    assert shown("kind=forgotten") == [4]
    assert shown("project=acme/shop") == [3, 1]
    assert shown("kind=marked&project=acme/shop") == [3]
    assert shown("kind=merged") == []
    assert "No changes of this kind yet" in visit.text("/ui/changes?kind=merged")
    refused = visit.get("/ui/changes?kind=sold")
    assert refused.status_code == 422
    assert "not one of: learned, replaced" in main_text(refused)
    ana.add_many([f"Fact number {number}" for number in range(ROWS)])
    last = visit.get("/ui/changes?kind=learned").text
    older = re.search(r'class="button" href="([^"]*before=\d+)"', last)
    assert older is not None
    assert revisions(visit.get(html.unescape(older.group(1))).text) == [2, 1]
    ana.pin(shop, False)
    assert visit.partial("/ui/changes/newer?kind=learned&after=54").status_code == 204
    assert revisions(visit.partial("/ui/changes/newer?kind=marked&after=54").text) == [55]


def test_every_kind_of_change_can_be_chosen() -> None:
    chosen = [event for _, events in KINDS.values() for event in events]
    assert sorted(chosen) == sorted(Event)


def test_pages_of_changes_make_up_the_whole(ana: UserMemory, visit: Visit) -> None:
    total = ROWS * 2 + 7
    ana.add_many([f"Fact number {number}" for number in range(total)])
    assert f"{total} changes so far" in visit.text("/ui/changes")
    seen, address = [], "/ui/changes"
    while address:
        page = visit.get(address).text
        seen += revisions(page)
        assert ("data-live" in page) == (address == "/ui/changes")
        older = re.search(r'class="button" href="(/ui/changes\?before=\d+)"', page)
        address = older.group(1) if older else ""
    assert seen == list(range(total, 0, -1))
    for before, count in (("0", 0), ("1", 0), ("2", 1), ("99999", ROWS)):
        assert len(revisions(visit.get(f"/ui/changes?before={before}").text)) == count
    assert "There are no older changes" in visit.text("/ui/changes?before=1")
    part = visit.partial(f"/ui/changes?before={ROWS + 1}").text
    assert revisions(part) == list(range(ROWS, 0, -1))
    assert "<html" not in part


def test_what_is_newer(ana: UserMemory, visit: Visit) -> None:
    ana.add_many(["One", "Two"])
    quiet = visit.partial("/ui/changes/newer?after=2")
    assert (quiet.status_code, quiet.text) == (204, "")
    assert visit.partial("/ui/changes/newer?after=99").status_code == 204
    ana.add("Three")
    ana.add("Four")
    fresh = visit.partial("/ui/changes/newer?after=2").text
    assert revisions(fresh) == [4, 3]
    assert "2 new changes" in fresh
    assert "/ui/changes/newer?after=4" in fresh
    assert "in between" not in fresh
    ana.add_many([f"Fact number {number}" for number in range(ROWS + 2)])
    fresh = visit.partial("/ui/changes/newer?after=1").text
    assert revisions(fresh) == list(range(ROWS + 6, 6, -1))
    assert f"{ROWS} new changes and more" in fresh
    assert 'href="/ui/changes?before=7">More changes in between' in fresh
    assert revisions(visit.get("/ui/changes?before=7").text) == [6, 5, 4, 3, 2, 1]


def opened(browse: Browsing, site: Service, user: str = "ana") -> Page:
    """The feed in a browser whose time goes on only when it is told to."""
    page = browse(f"{site.url}/ui/changes", user=user)
    page.clock.install()
    page.reload()
    return page


def wait(page: Page) -> int:
    """Let the time pass until the page asks for what is new; the status of the answer.

    The clock of the page goes on by itself as well, so that the answer may be one to what it asked
    before: whoever waits for news looks for it on the page.
    """
    with page.expect_response("**/ui/changes/newer?**") as answer:
        page.clock.run_for(PAUSE_MS)
    return answer.value.status


@pytest.mark.browser
def test_a_change_appears_while_the_page_is_open(
    site: Service, ana: UserMemory, browse: Browsing
) -> None:
    ana.add("Likes tea")
    page = opened(browse, site)
    entries = page.locator("#feed > li")
    expect(entries).to_have_count(1)
    assert wait(page) == 204
    expect(entries).to_have_count(1)
    expect(page.get_by_role("status")).to_be_empty()
    ana.add_many(["Likes coffee, too", "Likes water as well"])
    wait(page)
    expect(entries).to_have_count(3)
    expect(entries.first).to_contain_text("Likes water as well")
    expect(entries.last).to_contain_text("Likes tea")
    expect(page.get_by_role("status")).to_have_text("2 new changes")
    assert wait(page) == 204
    ana.add("Likes nothing else")
    wait(page)
    expect(entries).to_have_count(4)
    expect(page.get_by_role("status")).to_have_text("1 new change")


@pytest.mark.browser
@pytest.mark.requirement("page.times")
def test_days_are_named_and_times_relative(
    site: Service, ana: UserMemory, browse: Browsing, clock: ManualClock
) -> None:
    ana.add("Likes tea")
    clock.advance(days=2)
    ana.add("Likes coffee")
    page = browse(f"{site.url}/ui/changes", user="ana")
    page.clock.install(time=clock() + timedelta(hours=3))
    page.reload()
    days, times = page.locator("#feed .day"), page.locator("#feed time")
    expect(days).to_have_count(2)
    expect(days.first).to_have_text("Today")
    expect(times).to_have_text(["3 hours ago", "2 days ago"])
    expect(times.first).to_have_attribute("title", re.compile(r"2026-01-03 .* UTC"))
    ana.add("Likes water")
    wait(page)
    expect(page.locator("#feed > li")).to_have_count(3)
    expect(days).to_have_count(2)
    expect(page.locator("#feed > li").first.locator(".day")).to_have_text("Today")


def requests(browse: Browsing, page: Page) -> int:
    return sum("/ui/changes/newer" in url for url in browse.watch(page).requested)


@pytest.mark.browser
def test_it_can_be_paused(site: Service, ana: UserMemory, browse: Browsing) -> None:
    page = opened(browse, site)
    hide = "value => Object.defineProperty(document, 'hidden', {value, configurable: true})"
    page.evaluate(hide, True)
    page.clock.run_for(10 * PAUSE_MS)
    assert requests(browse, page) == 0, "in the background"
    page.evaluate(hide, False)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_have_attribute("aria-pressed", "true")
    ana.add("Likes tea")
    page.clock.run_for(10 * PAUSE_MS)
    assert requests(browse, page) == 0
    page.get_by_role("button", name="Resume").click()
    wait(page)
    expect(page.locator("#feed > li")).to_have_count(1)
    expect(page.get_by_text("Nothing has happened yet")).to_be_hidden()
