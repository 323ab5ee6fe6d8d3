"""What is asked of every page alike: everybody can use it, on any screen, with or without script.

The pages are found by their routes, so that none can be forgotten.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from ricordo.web.navigation import NAVIGATION
from tests.support.service import Service
from tests.web.addresses import MISSING, NOT_PAGES, PAGES, get_routes, known_pages, known_states
from tests.web.browsing import NARROW, Browsing, violations
from tests.web.conftest import LivedIn, Reading

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
def reading(lived_in_sqlite: LivedIn, reader: Callable[..., Reading]) -> Reading:
    return reader(lived_in_sqlite.url)


@pytest.fixture(scope="module")
def reading_each(lived_in_each: LivedIn, reader: Callable[..., Reading]) -> Reading:
    return reader(lived_in_each.url)


@pytest.fixture(scope="module")
def reading_without_script(lived_in_sqlite: LivedIn, reader: Callable[..., Reading]) -> Reading:
    return reader(lived_in_sqlite.url, javascript=False)


@pytest.fixture
def opened(name: str, lived_in_sqlite: LivedIn, reading: Reading) -> Iterator[Page]:
    """A page of the life, wide and light, in a browser that tests share."""
    _expect_missing(reading, name)
    reading.page.set_viewport_size(_DESKTOP)
    reading.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    yield reading.open(known_states()[name].path(lived_in_sqlite.life))
    reading.browsing.check()


def _expect_missing(reading: Reading, name: str) -> None:
    """The page for addresses without one has the right status, which browsers tell of."""
    if name == MISSING:
        reading.watch.expect(_NOT_FOUND)


def test_every_page_is_known() -> None:
    assert set(get_routes()) == {*PAGES, *NOT_PAGES}


@EVERY_PAGE
@pytest.mark.requirement("page.csp")
def test_a_page_shows_what_it_is_for(
    name: str, lived_in_each: LivedIn, reading_each: Reading
) -> None:
    """With no word in the console, nothing asked elsewhere, and no breach of the policy: that is
    what ``check`` is about, here and after every other test with a browser."""
    page = reading_each.page
    _expect_missing(reading_each, name)
    answer = page.goto(lived_in_each.url + known_states()[name].path(lived_in_each.life))
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    expect(page.locator("main")).to_contain_text(known_states()[name].shows)
    assert page.locator("script:not([src]), style, [style]").count() == 0
    reading_each.browsing.check()


@EVERY_PAGE
@pytest.mark.requirement("page.accessible")
def test_axe_finds_nothing_serious(opened: Page) -> None:
    found = [f"wide and light: {one}" for one in violations(opened)]
    opened.emulate_media(color_scheme="dark")
    opened.set_viewport_size(_PHONE)
    found += [f"narrow and dark: {one}" for one in violations(opened)]
    assert found == []


@EVERY_PAGE
@pytest.mark.requirement("page.accessible")
def test_headings_are_in_order(opened: Page) -> None:
    levels = opened.eval_on_selector_all(
        "h1, h2, h3, h4, h5, h6", "all => all.map(one => Number(one.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


@EVERY_PAGE
@pytest.mark.requirement("page.narrow")
def test_nothing_is_wider_than_a_small_phone(opened: Page) -> None:
    opened.set_viewport_size(_PHONE)
    assert opened.evaluate("() => document.scrollingElement.scrollWidth") <= NARROW


@EVERY_PAGE
@pytest.mark.requirement("page.accessible")
def test_who_uses_the_keyboard_sees_where_they_are(opened: Page) -> None:
    stops = list(_stops(opened))
    assert [stop for stop in stops if not stop["seen"]] == []
    wanted = opened.locator("main :is(a[href], button, input, select, summary):visible").count()
    inside = sum(1 for stop in stops if stop["tag"] != "main")
    assert inside >= min(wanted, _MOST_STOPS)


@EVERY_PAGE
@pytest.mark.requirement("page.accessible")
def test_the_head_can_be_skipped(opened: Page) -> None:
    opened.keyboard.press("Tab")
    focused = opened.evaluate(_FOCUSED)
    assert focused["says"].startswith("Skip")
    assert focused["seen"]
    opened.keyboard.press("Enter")
    assert opened.evaluate("() => document.activeElement.id") == "content"


@pytest.mark.requirement("page.accessible")
def test_titles_differ(lived_in_sqlite: LivedIn) -> None:
    client = lived_in_sqlite.service.client()
    titles = {}
    for name, address in known_pages().items():
        html = client.get(address.path(lived_in_sqlite.life)).text
        titles[name] = html.partition("<title>")[2].partition("</title>")[0]
    assert len(set(titles.values())) == len(titles), titles
    assert all(titles.values())


# -- without script ------------------------------------------------------------------------


@EVERY_PAGE
@pytest.mark.requirement("page.no_script")
def test_a_page_can_be_read_without_script(
    name: str, lived_in_sqlite: LivedIn, reading_without_script: Reading
) -> None:
    _expect_missing(reading_without_script, name)
    page = reading_without_script.open(known_states()[name].path(lived_in_sqlite.life))
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("main")).to_contain_text(known_states()[name].shows)
    reading_without_script.browsing.check()


@pytest.mark.requirement("page.no_script")
def test_every_page_of_the_navigation_is_reached_without_script(
    reading_without_script: Reading,
) -> None:
    page = reading_without_script.open("/ui/memories")
    addresses = page.eval_on_selector_all("nav a", "all => all.map(one => one.pathname)")
    assert len(addresses) == len(NAVIGATION)
    for address in addresses:
        page.locator(f"nav a[href='{address}']").click()
        current = page.locator("nav a[aria-current=page]")
        expect(current).to_have_attribute("href", address)
        expect(page.locator("h1")).to_be_visible()
    reading_without_script.browsing.check()


@pytest.mark.requirement("page.no_script")
def test_searching_needs_no_script(reading_without_script: Reading) -> None:
    page = reading_without_script.open("/ui/memories")
    page.get_by_role("searchbox").fill("when does the reading group meet")
    page.get_by_role("button", name="Search").click()
    first = page.locator("main ol a").first
    expect(first).to_contain_text("The reading group meets")
    assert "reading" not in page.url
    first.click()
    expect(page.locator("main")).to_contain_text("first Monday of the month")
    reading_without_script.browsing.check()


# -- with the keyboard alone ---------------------------------------------------------------


@pytest.mark.requirement("page.accessible")
def test_the_keyboard_alone_searches_opens_and_acts(site: Service, browse: Browsing) -> None:
    ana = site.memory.user("ana")
    old = ana.add("Plays the viola in the evening").id
    ana.add("Plays the cello in the evening", supersedes=old)
    page = browse(f"{site.url}/ui/memories")
    _tab_to(page, "Search")
    page.keyboard.type("who plays the cello")
    page.keyboard.press("Enter")
    expect(page.locator("main ol a").first).to_contain_text("cello")
    _tab_to(page, "Plays the cello in the evening")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("viola")
    _tab_to(page, "Undo")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_be_visible()
    assert ana.get(old).status == "active"


def _tab_to(page: Page, name: str) -> None:
    for stop in _stops(page):
        if stop["says"].startswith(name):
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def _stops(page: Page) -> Iterator[dict[str, object]]:
    """Where Tab leads from here, until it leaves the page."""
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(_FOCUSED)
        if stop is None:
            return
        yield stop
