"""The change feed: every kind of change in words, page by page, and live."""

import dataclasses
import re
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from ricordo import limits
from ricordo.model.item import Change
from ricordo.model.vocabulary import Event
from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from ricordo.web.wording import described
from tests.support.service import Service
from tests.support.sharing import share
from tests.web.browsing import Browsing
from tests.web.visiting import Visit

pytestmark = pytest.mark.requirement("page.changes")

ROWS = limits.PAGE_ROWS
PAUSE_MS = 3_000


def revisions(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="change-(\d+)"', html)]


def kinds(html: str) -> list[str]:
    return re.findall(r'<p class="what"><strong>([^<]+)</strong>', html)


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
    html, said = visit.get("/ui/changes").text, visit.text("/ui/changes")
    events = "Forgotten, Expired, Added, No longer shared with ben, Shared with ben, "
    events += "Offered to ben, Restored, "
    events += "Archived, Verified, Pinned, Undone, Changed, Added, Superseded, Added"
    assert kinds(html) == [*events.split(", "), "Added"]
    assert revisions(html) == list(range(16, 0, -1))
    assert html.count('<svg class="sign') == 16
    assert "too <private>" in said
    assert "new <instrument>" in said
    assert "Plays the <viola>" in said
    assert f'href="/ui/memories/{old}"' in html
    assert f"memory {short}, which is forgotten" in said
    assert "Expired by ricordo" in said
    assert "cello" not in said
    ana.purge(before_time=True)
    said = visit.text("/ui/changes")
    assert f"memory {new}, which no longer exists" in said
    assert "Removed for good by ricordo" in said
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
    html, said = ben.get("/ui/changes").text, ben.text("/ui/changes")
    assert kinds(html) == ["Changed", "Shared by ana, accepted"]
    assert "by its owner" in said
    assert "Likes coffee" in said
    assert "private" not in said
    assert "Likes tea" not in said


def test_pages_of_changes_make_up_the_whole(ana: UserMemory, visit: Visit) -> None:
    total = ROWS * 2 + 7
    ana.add_many([f"Fact number {number}" for number in range(total)])
    assert f"{total} changes so far" in visit.text("/ui/changes")
    seen, address = [], "/ui/changes"
    while address:
        html = visit.get(address).text
        seen += revisions(html)
        assert ("data-live" in html) == (address == "/ui/changes")
        older = re.search(r'class="button" href="(/ui/changes\?before=\d+)"', html)
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
    assert f"{ROWS + 5} new changes" in fresh
    assert 'href="/ui/changes?before=7">5 changes in between' in fresh
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
