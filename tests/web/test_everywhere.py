"""What is asked of every page alike: everybody can use it, on any screen, with or without script.

The pages are found by their routes, so that none can be forgotten.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ricordo.web.rendering import NAVIGATION
from tests.support.service import Service
from tests.web.addresses import MISSING, NOT_PAGES, PAGES, get_routes, known_pages, known_states
from tests.web.browsing import NARROW, Browsing, violations
from tests.web.conftest import LivedIn, Reading
from tests.web.visiting import Visit, main_text

EVERY_PAGE = pytest.mark.parametrize("name", known_states())
_DESKTOP = {"width": 1280, "height": 800}
_PHONE = {"width": NARROW, "height": 800}
_NOT_FOUND = r"console error: Failed to load resource: .* 404 .*/ui/nowhere"
_MOST_STOPS = 200

# The element that has the focus, and whether it can be seen that it has.
_FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  // Day, month and year of a date are stops of their own, which the browser itself marks.
  const marksItsParts = one.type === "date";
  return {
    says: (one.labels?.[0]?.innerText || one.innerText || one.getAttribute("aria-label") || one.name
      || one.tagName).trim().slice(0, 60),
    tag: one.tagName.toLowerCase(),
    seen: (outlined || style.boxShadow !== "none" || marksItsParts) && box.width > 0
      && box.height > 0,
  };
}"""


@pytest.fixture(scope="module")
def reading(lived_in_each: LivedIn, reader: Callable[..., Reading]) -> Reading:
    return reader(lived_in_each.url)


@pytest.fixture(scope="module")
def reading_without_script(lived_in_sqlite: LivedIn, reader: Callable[..., Reading]) -> Reading:
    return reader(lived_in_sqlite.url, javascript=False)


def _expect_missing(reading: Reading, name: str) -> None:
    """The page for addresses without one has the right status, which browsers tell of."""
    if name == MISSING:
        reading.watch.expect(_NOT_FOUND)


def test_every_page_is_known() -> None:
    assert set(get_routes()) == {*PAGES, *NOT_PAGES}


@pytest.mark.requirement("page.csp")
@pytest.mark.requirement("page.accessible")
def test_pages_show_what_they_are_for(lived_in_each: LivedIn) -> None:
    client, titles = lived_in_each.service.client(), {}
    for name, address in known_states().items():
        answer = client.get(address.path(lived_in_each.life))
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy, name
        assert "unsafe" not in policy, name
        assert answer.headers["cache-control"] == "no-store", name
        assert address.shows in main_text(answer), name
        assert not re.search(r"<script(?![^>]*src=)|<style| style=", answer.text), name
        if name in known_pages():
            titles[name] = answer.text.partition("<title>")[2].partition("</title>")[0]
    assert len(set(titles.values())) == len(titles), titles
    assert all(titles.values())


EMPTY = {
    "/ui/memories": "Nothing is remembered yet",
    "/ui/themes": "There are no themes yet",
    "/ui/conversations": "No conversation is recorded yet",
    "/ui/projects": "There are no projects yet",
    "/ui/projects/project?id=shop": "Nothing in this project yet",
    "/ui/changes": "Nothing has happened yet",
    "/ui/proposals": "No open proposals",
    "/ui/graph": "Nothing is remembered yet",
    "/ui/activity": "Nothing has happened yet",
}


def test_empty_pages_say_what_to_do(site: Service) -> None:
    visit = Visit(site).choose("ana")
    for path, words in EMPTY.items():
        said = visit.text(path)
        assert words in said, path
        assert "ricordo " in said or path == "/ui/proposals", path


REFUSED = {
    "/ui/memories?type=dream": (422, "is not one of"),
    "/ui/memories?since=soon": (422, "since: is not a date"),
    "/ui/memories?cursor=nonsense": (422, "cursor"),
    "/ui/memories/abc": (404, ""),
    f"/ui/memories/{2**70}": (404, ""),
    "/ui/memories/%00": (404, ""),
    "/ui/conversations?cursor=nonsense": (422, "cursor"),
    "/ui/conversations/thread": (404, ""),
    "/ui/conversations/thread?id=nowhere": (404, "no thread"),
    "/ui/conversations/thread?id=t&from=0": (422, ""),
    "/ui/conversations/thread?id=t&cursor=nonsense": (422, "cursor"),
    "/ui/conversations/thread?id=%00": (422, ""),
    "/ui/projects/project": (404, ""),
    "/ui/projects/project?id=": (422, "must not be empty"),
    "/ui/projects/project?id=%00": (422, ""),
    "/ui/projects/project?id=p&before=-1": (404, ""),
    "/ui/changes?before=-1": (404, ""),
    f"/ui/changes?before={2**63}": (404, ""),
    "/ui/changes/newer?after=x": (404, ""),
    "/ui/proposals?state=odd": (422, ""),
    "/ui/activity?days=8": (422, "not"),
    "/ui/settings/keys/unknown": (404, ""),
}


def test_what_cannot_be_asked_for_is_refused_on_a_page(site: Service) -> None:
    site.memory.user("ana").observe([{"role": "user", "content": "Hello"}], thread="t")
    visit = Visit(site).choose("ana")
    for path, (status, words) in REFUSED.items():
        answer = visit.get(path)
        assert answer.status_code == status, path
        assert words in main_text(answer), path
        assert "<h1" in answer.text, path


@pytest.mark.browser
@EVERY_PAGE
@pytest.mark.requirement("page.csp")
@pytest.mark.requirement("page.accessible")
@pytest.mark.requirement("page.narrow")
def test_everybody_can_use_a_page(name: str, lived_in_each: LivedIn, reading: Reading) -> None:
    """With no word in the console, nothing asked elsewhere, and no breach of the policy: that is
    what ``check`` is about, here and after every other test with a browser."""
    _expect_missing(reading, name)
    reading.page.set_viewport_size(_DESKTOP)
    reading.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page = reading.open(known_states()[name].path(lived_in_each.life))
    expect(page.locator("main")).to_contain_text(known_states()[name].shows)
    levels = page.eval_on_selector_all(
        "h1, h2, h3, h4, h5, h6", "all => all.map(one => Number(one.tagName[1]))"
    )
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    _check_keyboard(page)
    assert violations(page) == [], "wide and light"
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(_PHONE)
    assert page.evaluate("() => document.scrollingElement.scrollWidth") <= NARROW
    assert violations(page) == [], "narrow and dark"
    reading.browsing.check()


def _check_keyboard(page: Page) -> None:
    """Who uses it sees where they are, and can skip the head."""
    stops = list(_stops(page))
    assert stops[0]["says"].startswith("Skip")
    assert [stop for stop in stops if not stop["seen"]] == []
    wanted = page.locator("main :is(a[href], button, input, select, summary):visible").count()
    assert sum(stop["tag"] != "main" for stop in stops) >= min(wanted, _MOST_STOPS)
    page.locator("a", has_text="Skip").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "content"


@pytest.mark.browser
@pytest.mark.requirement("page.no_script")
def test_every_page_can_be_reached_and_read_without_script(
    lived_in_sqlite: LivedIn, reading_without_script: Reading
) -> None:
    _expect_missing(reading_without_script, MISSING)
    for address in known_states().values():
        page = reading_without_script.open(address.path(lived_in_sqlite.life))
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("main")).to_contain_text(address.shows)
    page = reading_without_script.open("/ui/memories")
    addresses = page.eval_on_selector_all(
        "nav > ul > li > a", "all => all.map(one => one.pathname)"
    )
    assert len(addresses) == len(NAVIGATION)
    for path in addresses:
        page.locator(f"nav > ul > li > a[href='{path}']").click()
        expect(page.locator("nav > ul > li > a[aria-current=page]")).to_have_attribute("href", path)
    reading_without_script.browsing.check()


@pytest.mark.browser
@pytest.mark.requirement("page.accessible")
def test_the_keyboard_alone_searches_opens_and_acts(site: Service, browse: Browsing) -> None:
    ana = site.memory.user("ana")
    old = ana.add("Plays the viola in the evening").id
    ana.add("Plays the cello in the evening", supersedes=old)
    page = browse(f"{site.url}/ui/memories")
    _tab_to(page, "Search")
    page.keyboard.type("who plays the cello")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("most likely first")  # not the list before it
    expect(page.locator("main ol a").first).to_contain_text("cello")
    _tab_to(page, "Plays the cello in the evening")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("viola")
    _tab_to(page, "Undo")
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_be_visible()
    assert ana.get(old).status == "active"


def _tab_to(page: Page, name: str) -> None:
    for stop in _stops(page):
        if stop["says"].startswith(name):
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def _stops(page: Page) -> Iterator[dict[str, Any]]:
    """Where Tab leads from here, until it leaves the page."""
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(_FOCUSED)
        if stop is None:
            return
        yield stop


@pytest.mark.browser
@pytest.mark.requirement("page.narrow")
def test_a_phone_shows_the_first_memory_and_whole_tables(
    lived_in_sqlite: LivedIn, browse: Browsing
) -> None:
    life = lived_in_sqlite.life
    page = browse(f"{lived_in_sqlite.url}/ui/memories", width=390, height=844)
    box = page.locator(".memory .says").first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 844 / 2
    for name in ("/ui/activity", "/ui/conversations/thread"):
        page.goto(lived_in_sqlite.url + PAGES[name].path(life))
        cut_off = page.evaluate(
            "() => [...document.querySelectorAll('.table')].filter(one => one.checkVisibility()"
            " && one.innerText && one.scrollWidth > one.clientWidth + 1)"
            ".map(one => one.innerText.slice(0, 60))"
        )
        assert cut_off == [], name
