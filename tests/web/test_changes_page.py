"""The change feed: every kind of change in words, page by page, and live."""

import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ricordo import limits
from ricordo.model.history import Change
from ricordo.model.vocabulary import Event
from ricordo.testing.clock import ManualClock
from ricordo.user_memory import UserMemory
from ricordo.web.wording import told
from tests.support.service import Service
from tests.web.browsing import Browsing
from tests.web.visiting import Visit, main_text

pytestmark = pytest.mark.requirement("page.changes")

ROWS = limits.PAGE_ROWS
PAUSE_MS = 3_000


@pytest.fixture
def ana(site: Service) -> UserMemory:
    return site.memory.user("ana")


@pytest.fixture
def visit(site: Service) -> Visit:
    return Visit(site).choose("ana")


def revisions(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="change-(\d+)"', html)]


def kinds(html: str) -> list[str]:
    return re.findall(r'<p class="what"><strong>([^<]+)</strong>', html)


def test_nothing_yet(visit: Visit) -> None:
    said = visit.text("/ui/changes")
    assert "Nothing has happened yet" in said
    assert "ricordo add" in said
    assert "--user ana" in said


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
    ana.link(diet, "ben")
    ana.unlink(diet, "ben")
    short = ana.add("The pool is closed", expires_at=clock() + timedelta(days=1)).id
    clock.advance(days=2)
    ana.purge()
    ana.forget(new, reason="too <private>")
    html, said = visit.get("/ui/changes").text, visit.text("/ui/changes")
    assert kinds(html) == [
        "Forgotten",
        "Expired",
        "Noted",
        "No longer shared with ben",
        "Shared with ben",
        "Restored",
        "Archived",
        "Found to be still true",
        "Pinned",
        "Undone",
        "Changed",
        "Noted",
        "Superseded",
        "Noted",
        "Noted",
    ]
    assert revisions(html) == list(range(15, 0, -1))
    assert html.count('<svg class="sign') == 15
    assert "too <private>" in said
    assert "new <instrument>" in said
    assert "Plays the <viola>" in said
    assert f'href="/ui/memories/{old}"' in html
    assert f"memory {short}, which is forgotten" in said
    assert "Expired by ricordo" in said
    assert "cello" not in said
    ana.purge(before_time=True)
    said = visit.text("/ui/changes")
    assert f"memory {new}, which is no longer there" in said
    assert "Removed for good by ricordo" in said
    assert "private" not in said


def test_choices_lead_to_where_they_are_made(ana: UserMemory, visit: Visit) -> None:
    ana.observe([{"role": "user", "content": "I have diabetes."}], thread="t")
    ana.form("t")
    (waiting,) = ana.proposals()
    ana.approve(waiting.id, reason="asked in person")
    said = visit.text("/ui/changes")
    assert re.search(rf"Waits for a choice by ricordo, .* Choice {waiting.id}", said)
    assert "stored as: User has diabetes" in said
    assert "diabetes" not in visit.text("/ui/changes").split("Waits for a choice")[1]


@pytest.mark.parametrize("event", list(Event))
def test_every_kind_of_change_has_words(event: Event) -> None:
    clock = ManualClock()
    change = Change(revision=1, event=event, item_id=1, at=clock(), actor="ana")
    assert re.fullmatch(r"[A-Z][a-z ]+", told(change).words)


@pytest.mark.parametrize(
    "step", ["proposed", "heard", "said again", "approved", "rejected", "expired"]
)
def test_every_step_of_consent_has_words(step: str) -> None:
    change = Change(
        revision=1,
        event=Event.CONSENT,
        item_id=1,
        at=ManualClock()(),
        actor="ana",
        meta={"consent": step},
    )
    assert told(change).words != "Consent"


def test_what_others_share_is_told_without_their_words(site: Service, ana: UserMemory) -> None:
    item = ana.add("Likes tea", key="drink", reason="heard in private").id
    ana.link(item, "ben")
    ana.add("Likes coffee", key="drink", reason="also private")
    ben = Visit(site).choose("ben")
    html, said = ben.get("/ui/changes").text, ben.text("/ui/changes")
    assert kinds(html) == ["Changed", "Shared by ana"]
    assert "by its owner" in said
    assert "Likes coffee" in said
    assert "private" not in said
    assert "Likes tea" not in said


# -- page by page --------------------------------------------------------------------------


def test_pages_make_up_the_whole(ana: UserMemory, visit: Visit) -> None:
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
    part = visit.partial(f"/ui/changes?before={ROWS + 1}").text
    assert revisions(part) == list(range(ROWS, 0, -1))
    assert "<html" not in part


@pytest.mark.parametrize(
    ("before", "status", "count"),
    [
        ("0", 200, 0),
        ("1", 200, 0),
        ("2", 200, 1),
        ("99999", 200, 3),
        (str(2**63), 404, 0),
        ("-1", 404, 0),
        ("x", 404, 0),
        ("", 404, 0),
    ],
)
def test_any_place_in_the_feed(
    ana: UserMemory, visit: Visit, before: str, status: int, count: int
) -> None:
    ana.add_many(["One", "Two", "Three"])
    answer = visit.get(f"/ui/changes?before={before}")
    assert (answer.status_code, len(revisions(answer.text))) == (status, count)
    assert ("There are no older ones" in main_text(answer)) == (status == 200 and count == 0)


def test_a_page_asks_the_database_a_few_things(
    site: Service, ana: UserMemory, visit: Visit
) -> None:
    counts: list[int] = []
    for _ in range(2):
        ana.add_many([f"Fact number {number}, {len(counts)}" for number in range(ROWS // 2)])
        reads = 0
        original = site.memory.database.read

        def counted(user_id: str, original: Any = original) -> Any:
            nonlocal reads
            reads += 1
            return original(user_id)

        site.memory.database.read = counted  # type: ignore[method-assign]
        visit.text("/ui/changes")
        site.memory.database.read = original  # type: ignore[method-assign]
        counts.append(reads)
    assert counts[0] == counts[1] <= 5


# -- the newest, for a page that is open ---------------------------------------------------


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


def test_very_many_at_once_leave_a_gap_with_a_way_to_it(ana: UserMemory, visit: Visit) -> None:
    ana.add("One")
    ana.add_many([f"Fact number {number}" for number in range(ROWS + 5)])
    fresh = visit.partial("/ui/changes/newer?after=1").text
    assert revisions(fresh) == list(range(ROWS + 6, 6, -1))
    assert f"{ROWS + 5} new changes" in fresh
    assert 'href="/ui/changes?before=7">5 changes in between' in fresh
    assert revisions(visit.get("/ui/changes?before=7").text) == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("after", ["", "x", "-1"])
def test_newer_than_what(visit: Visit, after: str) -> None:
    assert visit.partial(f"/ui/changes/newer?after={after}").status_code == 404
    assert visit.partial("/ui/changes/newer").status_code == 404


def test_who_is_kept_to_categories_is_told_so(keyed_site: Service) -> None:
    keyed_site.memory.user("ana").add("Likes bread", theme="food")
    key = keyed_site.memory.create_key("helper", user="ana", agent="kitchen", categories=["food"])
    agent = Visit(keyed_site).sign_in(key.secret)
    for path in ("/ui/changes", "/ui/changes/newer?after=0"):
        refused = agent.get(path)
        assert refused.status_code == 403
        assert "is about a user's whole memory" in main_text(refused)
        assert "bread" not in main_text(refused)


# -- in the browser ------------------------------------------------------------------------


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


def test_the_first_change_takes_the_place_of_the_empty_page(
    site: Service, ana: UserMemory, browse: Browsing
) -> None:
    page = opened(browse, site)
    expect(page.get_by_text("Nothing has happened yet")).to_be_visible()
    ana.add("Likes tea")
    wait(page)
    expect(page.locator("#feed > li")).to_contain_text("Likes tea")
    expect(page.get_by_text("Nothing has happened yet")).to_be_hidden()


def asked(browse: Browsing, page: Page) -> int:
    return sum("/ui/changes/newer" in url for url in browse.watch(page).requested)


def test_it_can_be_paused(site: Service, ana: UserMemory, browse: Browsing) -> None:
    page = opened(browse, site)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Go on")).to_have_attribute("aria-pressed", "true")
    ana.add("Likes tea")
    page.clock.run_for(10 * PAUSE_MS)
    assert asked(browse, page) == 0
    page.get_by_role("button", name="Go on").click()
    wait(page)
    expect(page.locator("#feed > li")).to_have_count(1)


def test_in_the_background_nothing_is_asked(
    site: Service, ana: UserMemory, browse: Browsing
) -> None:
    page = opened(browse, site)
    hide = "value => Object.defineProperty(document, 'hidden', {value, configurable: true})"
    page.evaluate(hide, True)
    page.clock.run_for(10 * PAUSE_MS)
    assert asked(browse, page) == 0
    page.evaluate(hide, False)
    assert wait(page) == 204


@pytest.mark.parametrize("how", ["an error", "no answer"])
def test_a_service_that_fails_is_asked_again(
    site: Service, ana: UserMemory, browse: Browsing, how: str
) -> None:
    ana.add("Likes tea")
    page = opened(browse, site)
    browse.watch(page).expect("503|ERR_FAILED|htmx:|newer")
    newer = re.compile("/ui/changes/newer")
    if how == "an error":
        page.route(newer, lambda route: route.fulfill(status=503, body="busy"))
    else:
        page.route(newer, lambda route: route.abort())
    page.clock.run_for(PAUSE_MS)
    expect(page.get_by_role("status")).to_contain_text("does not answer")
    expect(page.locator("#feed > li")).to_have_count(1)
    page.unroute(newer)
    wait(page)
    expect(page.get_by_role("status")).to_be_empty()
    ana.add("Likes coffee")
    wait(page)
    expect(page.get_by_role("status")).to_have_text("1 new change")
    expect(page.locator("#feed > li")).to_have_count(2)


@pytest.mark.requirement("page.isolation")
def test_two_people_see_each_their_own(site: Service, ana: UserMemory, browse: Browsing) -> None:
    hers, his = opened(browse, site), opened(browse, site, "ben")
    ana.add("Likes tea")
    wait(hers)
    expect(hers.locator("#feed > li")).to_have_count(1)
    assert wait(his) == 204
    site.memory.user("ben").add("Likes coffee")
    wait(his)
    expect(his.locator("#feed > li")).to_have_count(1)
    expect(his.locator("#feed")).to_contain_text("Likes coffee")
    assert wait(hers) == 204
    expect(hers.locator("#feed > li")).to_have_count(1)


def test_older_ones_come_below(site: Service, ana: UserMemory, browse: Browsing) -> None:
    ana.add_many([f"Fact number {number}" for number in range(ROWS + 2)])
    page = opened(browse, site)
    page.get_by_role("link", name="Show older").click()
    expect(page.locator("li.event")).to_have_count(ROWS + 2)
    expect(page.locator("li.event").last).to_contain_text("Fact number 0")
    assert page.url.endswith("/ui/changes")


def test_without_script_one_looks_again(site: Service, ana: UserMemory, browse: Browsing) -> None:
    ana.add_many([f"Fact number {number}" for number in range(ROWS + 2)])
    page = browse(f"{site.url}/ui/changes", user="ana", javascript=False)
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    page.get_by_role("link", name="Show older").click()
    expect(page.locator("li.event")).to_have_count(2)
    page.get_by_role("link", name="To the newest").click()
    ana.add("Likes tea")
    page.get_by_role("link", name="Look again").click()
    expect(page.locator("li.event").first).to_contain_text("Likes tea")
