"""Pages that stay open while things change: the way back, other windows, a server that is gone."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from ricordo import limits
from ricordo.memory import Memory
from tests.support.service import Service, running
from tests.web.browsing import Browsing, sign_in
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("page.open")

QUESTION = "which drink in the morning?"


@pytest.fixture
def filled(open_store: Callable[..., Memory], sqlite_url: str) -> Iterator[Service]:
    """Memories of ana and of ben."""
    memory = open_store(sqlite_url, port=0)
    ana = memory.user("ana")
    ana.add("Prefers tea to coffee", theme="drinks")
    ana.add("Lives in Lisbon", theme="home")
    memory.user("ben").add("Likes neither tea nor coffee", theme="drinks")
    with running(memory) as service:
        yield service


def asks(page: Page, question: str = QUESTION) -> None:
    page.get_by_role("searchbox").fill(question)
    expect(page.locator(".why").first).to_be_attached()


def narrows(page: Page, theme: str) -> None:
    page.locator("details.filters").evaluate("filters => { filters.open = true }")
    page.locator("select[name=theme]").select_option(theme)
    expect(page).to_have_url(re.compile(f"theme={theme}$"))
    expect(page.locator(".memory")).to_have_count(1)


@pytest.mark.browser
def test_a_question_is_there_again_on_the_way_back(filled: Service, browse: Browsing) -> None:
    page = browse(f"{filled.url}/ui/memories", user="ana")
    asks(page)
    narrows(page, "drinks")
    page.locator(".unlikely > summary").click()
    page.locator(".memory .says").click()
    expect(page.get_by_role("heading", name="Prefers tea to coffee")).to_be_visible()
    for return_to in (page.go_back, page.reload):
        return_to()
        expect(page.get_by_role("searchbox")).to_have_value(QUESTION)
        expect(page.locator(".why")).to_have_count(1)
        expect(page.locator("select[name=theme]")).to_have_value("drinks")
    assert not any("morning" in asked for asked in browse.watch(page).requested)


@pytest.mark.browser
def test_nobody_else_finds_the_question(filled: Service, browse: Browsing) -> None:
    page = browse(f"{filled.url}/ui/memories", user="ana")
    asks(page)
    sign_in(page, filled.url, user="ben", key=None)
    page.go_back()
    page.go_back()
    expect(page).to_have_url(f"{filled.url}/ui/memories")
    expect(page.locator(".memory")).to_have_count(1)
    expect(page.get_by_role("searchbox")).to_have_value("")


@pytest.mark.browser
def test_another_user_in_another_window(filled: Service, browse: Browsing) -> None:
    """What is open shows one user's memory, and never another's below that name."""
    page = browse(f"{filled.url}/ui/memories", user="ana")
    feed = page.context.new_page()
    feed.clock.install()
    feed.goto(f"{filled.url}/ui/changes")
    other = page.context.new_page()
    sign_in(other, filled.url, user="ben", key=None)
    browse.watch(page).expect("403")
    page.get_by_role("searchbox").fill("tea")
    expect(page.get_by_role("alert")).to_contain_text("chose another user")
    expect(page.locator(".memory")).to_have_count(0)
    filled.memory.user("ben").add_many(["Walks a lot", "Reads a lot", "Sleeps well"])
    feed.clock.run_for(3_000)
    expect(feed.locator(".whose")).to_contain_text("ben")
    expect(feed.locator("#feed > li")).to_have_count(4)


@pytest.mark.browser
def test_a_server_that_does_not_answer_is_told_until_it_does(
    filled: Service, browse: Browsing
) -> None:
    page = browse(f"{filled.url}/ui/memories", user="ana")
    browse.watch(page).expect("ERR_FAILED|htmx:")
    page.route("**/ui/memories", lambda route: route.abort())
    page.get_by_role("searchbox").fill("tea")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    expect(page.locator(".memory")).to_have_count(2)
    page.unroute("**/ui/memories")
    asks(page, "tea?")
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.browser
def test_who_asks_for_more_goes_on_from_there(filled: Service, browse: Browsing) -> None:
    rows = limits.PAGE_ROWS
    filled.memory.user("ana").add_many([f"Fact number {number}" for number in range(rows)])
    page = browse(f"{filled.url}/ui/memories?sort=created_at-asc", user="ana")
    page.get_by_role("link", name="Show more").press("Enter")
    expect(page.locator(".memory")).to_have_count(rows + 2)
    expect(page.locator(".memory").nth(rows).locator(".says")).to_be_focused()


@pytest.mark.requirement("page.sign_in")
def test_signing_in_again_leads_to_the_page_and_not_to_a_part_of_it(keyed_site: Service) -> None:
    visit = Sender(keyed_site)
    thread = visit.get("/ui/conversations/thread?id=a%26b")
    assert thread.headers["location"] == (
        "/ui/sign-in?next=%2Fui%2Fconversations%2Fthread%3Fid%3Da%2526b"
    )
    for shown, leads in {
        "/ui/memories?theme=food": "/ui/sign-in?next=%2Fui%2Fmemories%3Ftheme%3Dfood",
        "//[": "/ui/sign-in",
    }.items():
        current = f"{keyed_site.url}{shown}" if shown.startswith("/ui") else shown
        part = visit.get("/ui/changes/newer?after=1", HX_Request="true", HX_Current_URL=current)
        assert part.headers["hx-redirect"] == leads
