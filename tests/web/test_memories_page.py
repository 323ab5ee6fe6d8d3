"""The page of memories: looking through them, searching them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from ricordo import Memory, limits
from ricordo.errors import InvalidValue
from ricordo.testing import ManualClock
from ricordo.web.memories import SORTS, STATUSES, MemoryFilter
from ricordo.web.rendering import listed
from tests.support.service import Service, running
from tests.web.browsing import Browsing
from tests.web.visiting import Visit, field

pytestmark = pytest.mark.requirement("page.memories")


@pytest.fixture
def filled(site: Service) -> Service:
    ana = site.memory.user("ana")
    ana.add("Prefers tea to coffee", theme="drinks", type="preference", tags=["morning", "hot"])
    ana.add("Lives in Lisbon", theme="home", importance=5, key="city")
    ana.pin(ana.add("Never plan calls before ten", theme="work", type="instruction").id)
    ana.archive(ana.add("Drove a red bicycle", theme="home").id)
    ana.forget(ana.add("Owed five euros", theme="money").id)
    return site


def _shown(page: str) -> list[str]:
    """What the memories of a page say, in its order."""
    return re.findall(r'class="says"[^>]*>([^<]*)<', page)


def test_the_newest_active_ones_come_first(filled: Service) -> None:
    page = filled.client().get("/ui/memories").text
    assert _shown(page) == [
        "Never plan calls before ten",
        "Lives in Lisbon",
        "Prefers tea to coffee",
    ]
    assert "3 active memories in 4 themes" in page
    assert ">pinned<" in page
    assert "#morning" in page
    assert "by meaning and words" not in page  # which is so of nearly all


def test_pages_make_up_the_whole(site: Service) -> None:
    ana = site.memory.user("ana")
    total = limits.PAGE_ROWS * 2 + 3
    ana.add_many([{"content": f"Fact number {number}"} for number in range(total)])
    client, seen, address = site.client(), [], "/ui/memories?sort=created_at-asc"
    while address:
        page = client.get(address).text
        seen += _shown(page)
        following = re.search(r'class="button" href="([^"]+cursor=[^"]+)"', page)
        address = following.group(1).replace("&amp;", "&") if following else ""
    assert sorted(seen) == sorted(f"Fact number {number}" for number in range(total))


def test_filters_and_orders(filled: Service) -> None:
    for query, wanted in {
        "theme=drinks": ["Prefers tea to coffee"],
        "type=instruction": ["Never plan calls before ten"],
        "tags=hot,morning": ["Prefers tea to coffee"],
        "theme=home&archived=1": ["Drove a red bicycle", "Lives in Lisbon"],
        "status=deleted": ["Owed five euros"],
        "since=2999-01-01": [],
        "until=2000-01-01": [],
        "sort=created_at-asc&theme=home&status=any": ["Lives in Lisbon", "Drove a red bicycle"],
    }.items():
        answer = filled.client().get(f"/ui/memories?{query}")
        assert (answer.status_code, _shown(answer.text)) == (200, wanted), query
        assert ("No memory matches these filters" in answer.text) == (not wanted)


def test_a_search_explains_itself_and_keeps_to_the_filters(filled: Service) -> None:
    visit = Visit(filled)

    def search(**fields: str) -> httpx2.Response:
        return visit.post("/ui/memories", on="/ui/memories", **fields)

    answer = search(q="tea or coffee to drink?")
    assert _shown(answer.text)[0] == "Prefers tea to coffee"
    assert "Similarity of meaning" in answer.text
    assert 'value="tea or coffee to drink?"' in answer.text
    assert "drink" not in str(answer.url)
    assert _shown(search(q="tea", theme="home").text) == ["Lives in Lisbon"]
    both = search(q="bicycle", theme="home", archived="1").text
    assert _shown(both)[0] == "Drove a red bicycle"
    none = search(q="zzqx", type="procedure").text
    assert "Nothing likely found" in none
    assert "clear the filters" in none
    none = search(q="zzqx", type="procedure", unlikely="1").text
    assert "Nothing found" in none
    unasked = search(q="  ", theme="home", zone="Europe/Rome", archived="1")
    assert unasked.status_code == 303
    assert unasked.headers["location"] == "/ui/memories?theme=home&archived=1"


@pytest.mark.smoke
def test_the_page_opens_and_searches_in_a_browser(filled: Service, browse: Browsing) -> None:
    """The one test of the fast tier with a browser; ``browse`` fails where a page breaks the
    Content Security Policy or writes an error to the console."""
    page = browse(f"{filled.url}/ui/memories")
    expect(page.locator(".memory")).to_have_count(3)
    page.get_by_role("searchbox").fill("coffee or t")  # results come while typing
    expect(page.locator(".memory .says").first).to_have_text("Prefers tea to coffee")
    why = page.locator(".why").first
    expect(why.locator("dl")).to_be_hidden()
    why.locator("summary").click()
    expect(why.get_by_text("Similarity of meaning")).to_be_visible()
    assert not any("coffee" in asked for asked in browse.watch(page).requested)


@pytest.mark.browser
def test_filters_apply_at_once(filled: Service, browse: Browsing) -> None:
    page = browse(f"{filled.url}/ui/memories")
    page.get_by_text("Filters and order").click()
    page.get_by_label("Include archived").check()
    expect(page.locator(".memory")).to_have_count(4)
    expect(page).to_have_url(re.compile(r"archived=1"))
    page.locator("select[name=theme]").select_option("home")
    expect(page.locator(".memory")).to_have_count(2)
    page.reload()
    expect(page.locator(".memory")).to_have_count(2)
    page.get_by_role("link", name="Clear all").click()
    expect(page.locator(".memory")).to_have_count(3)


def test_what_is_unlikely_is_apart_and_shown_on_demand(filled: Service) -> None:
    visit = Visit(filled)

    def search(**fields: str) -> str:
        return visit.post("/ui/memories", on="/ui/memories", **fields).text

    asked = search(q="Does ana prefer tea to coffee?")
    likely, _, unlikely = asked.partition('<details class="unlikely">')
    assert _shown(likely) == ["Prefers tea to coffee"]
    assert re.search(r"<strong>\d+%</strong> <span>likely</span>", likely)
    assert "Lives in Lisbon" in _shown(unlikely)
    nothing = search(q="zzqx")
    assert "Nothing likely found" in nothing
    assert len(_shown(search(q="zzqx", unlikely="1"))) == 3


@pytest.mark.browser
@pytest.mark.requirement("page.times")
def test_each_day_is_named_once(site: Service, browse: Browsing, clock: ManualClock) -> None:
    ana = site.memory.user("ana")
    for text in ("Likes tea", "Likes bread"):
        ana.add(text)
    clock.advance(days=1)
    ana.add("Likes soup")
    page = browse(f"{site.url}/ui/memories")
    days = page.locator(".memory .day")
    expect(days).to_have_count(2)
    expect(page.locator(".memory").nth(2).locator(".day")).to_have_count(0)
    page.locator("select[name=sort]").select_option("theme-asc", force=True)
    expect(days).to_have_count(0)


@pytest.mark.browser
@pytest.mark.requirement("page.keyboard")
def test_the_keyboard_alone_searches_and_opens(filled: Service, browse: Browsing) -> None:
    page = browse(f"{filled.url}/ui/themes")
    page.keyboard.press("/")
    page.wait_for_url(re.compile("/ui/memories#q"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("do I prefer tea to coffee/milk?")
    expect(page.locator(".likely").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".says").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Prefers tea to coffee")


@pytest.mark.requirement("page.installable")
def test_the_page_can_be_installed(site: Service) -> None:
    client = site.client()
    linked = re.search(r'rel="manifest" href="([^"]+)"', client.get("/ui/memories").text)
    assert linked is not None
    answer = client.get(linked[1])
    assert answer.headers["content-type"] == "application/manifest+json"
    manifest = answer.json()
    assert client.get(manifest["start_url"]).status_code == 200
    for icon in manifest["icons"]:
        assert client.get(icon["src"]).headers["content-type"] == icon["type"]


@pytest.mark.browser
@pytest.mark.requirement("page.times")
def test_times_are_in_the_readers_zone(filled: Service, browse: Browsing) -> None:
    created = filled.memory.user("ana").list(theme="drinks").items[0].created_at
    page = browse(f"{filled.url}/ui/memories?theme=drinks", timezone="Asia/Tokyo")
    shown = page.locator(".memory time")
    hour = (created.hour + 9) % 24
    expect(shown).to_have_text(re.compile(rf"\b{hour:02}:{created.minute:02}$"))
    assert f"{created:%Y-%m-%d %H:%M:%S} UTC" in (shown.get_attribute("title") or "")
    plain = browse(f"{filled.url}/ui/memories?theme=drinks", javascript=False)
    expect(plain.locator(".memory time")).to_have_text(f"{created.day} {created:%b %Y, %H:%M} UTC")


_words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12).map(
    str.strip
)


@given(
    theme=_words,
    tags=_words,
    status=st.sampled_from([*STATUSES]),
    archived=st.sampled_from(["", "1"]),
    since=st.sampled_from(["", "2026-03-01"]),
    zone=st.sampled_from(["", "Asia/Tokyo"]),
    sort=st.sampled_from([*SORTS]),
)
def test_an_address_says_the_whole_choice(**chosen: str) -> None:
    asked = MemoryFilter.of(chosen)
    again = MemoryFilter.of(asked.parameters())
    assert again.for_list() == asked.for_list()
    assert again.parameters() == asked.parameters()


def test_a_day_begins_and_ends_where_the_reader_is() -> None:
    asked = MemoryFilter(since="2026-03-01", until="2026-03-01", zone="Asia/Tokyo").for_search()
    assert asked["created_after"] == datetime(2026, 2, 28, 15, tzinfo=UTC)
    assert asked["created_before"] - asked["created_after"] == timedelta(days=1)
    for zone in ("", "Nowhere/At_All", "../../etc/passwd", "/etc", "a\x00b"):
        asked = MemoryFilter(since="2026-03-01", zone=zone).for_search()
        assert asked["created_after"] == datetime(2026, 3, 1, tzinfo=UTC), "unknown: UTC"
    for day in ("yesterday", "2026-13-01", "9999-12-31"):
        with pytest.raises(InvalidValue, match="until: is not a date such as 2026-01-31"):
            MemoryFilter(until=day).for_search()


def test_orders_by_what_memories_say_are_refused() -> None:
    """The address of the next page holds the last value, so it would quote a memory."""
    for column in ("content", "key"):
        with pytest.raises(InvalidValue, match="sort: is not one of"):
            MemoryFilter(sort=f"{column}-asc").for_list()


@given(st.lists(_words.filter(bool), max_size=4, unique=True))
def test_any_tag_can_be_asked_for(tags: list[str]) -> None:
    asked = MemoryFilter(tags=", ".join(map(listed, tags)))
    assert asked.for_search()["tags"] == (tags or None)


def test_what_people_type_as_tags() -> None:
    for typed, wanted in {
        'tea, "black, green" ,coffee': ["tea", "black, green", "coffee"],
        'a "b" c,d': ['a "b" c', "d"],
        '"open, end': ['"open', "end"],
        ",,": None,
    }.items():
        assert MemoryFilter(tags=typed).for_search()["tags"] == wanted, typed


def amounts(page: str) -> dict[str, int]:
    """How many memories each theme has, in the order of the page."""
    found = re.findall(r'dir="auto">([^<]*)</a></h2>.*?<strong>([^<]*)</strong>', page, re.DOTALL)
    return {name: int(count) for name, count in found}


@pytest.mark.requirement("page.themes")
@pytest.mark.requirement("access.policy-everywhere")
def test_a_theme_is_shown_as_the_policy_file_describes_it(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("categories: {food: {rag_length: 3}}\nallowlists: {}\n", encoding="utf-8")
    memory = open_store(sqlite_url, port=0, policy_file=policy)
    for theme in ("food", "work"):
        memory.user("ana").add(f"About {theme}", theme=theme)
        memory.user("ana").describe_theme(theme, context="all")
    with running(memory) as service:
        page = service.client().get("/ui/themes").text
    shown = re.findall(r"<span>((?:At most|Always|Set)[^<]*)</span>", page)
    assert sorted(shown) == ["Always in prompts", "At most 3 in prompts", "Set by the policy file"]


@pytest.mark.requirement("page.themes")
def test_themes_with_what_is_known_of_them(site: Service, clock: ManualClock) -> None:
    ana = site.memory.user("ana")
    ana.add_many([{"content": f"tea {number}", "theme": "food"} for number in range(4)])
    ana.add("Works at night", theme="work")
    ana.forget(ana.add("Owed money", theme="money").id)
    clock.advance(days=1)
    ana.describe_theme("food", display_name="Food and drink", description="What is eaten.")
    ana.describe_theme("work", context="all")
    ana.describe_theme("money", context="rag", rag_length=7)
    page = site.client().get("/ui/themes").text
    assert list(amounts(page).items()) == [("Food and drink", 4), ("Work", 1), ("Money", 0)]
    assert "5 active memories in 3 themes" in page
    assert "What is eaten." in page
    assert ">food</code>" in page
    assert 'href="/ui/memories?theme=food"' in page
    assert 'href="/ui/graph?theme=food"' in page
    shown = re.findall(r"<span>((?:At most|Always)[^<]*)</span>", page)
    assert shown == ["Always in prompts", "At most 7 in prompts"]
    assert page.count(f'datetime="{clock():%Y-%m-%d}') == 3
    widths = re.findall(r'class="mark-1" x="0.0%" width="([\d.]+)%"', page)
    assert widths == ["100.0", "25.0"]


@pytest.mark.requirement("page.ratings")
def test_results_are_rated_where_they_stand(filled: Service) -> None:
    ana, visit = filled.memory.user("ana"), Visit(filled)
    answer = visit.post("/ui/memories", on="/ui/memories", q="tea or coffee?")
    (hit, *_) = ana.search("tea or coffee?")
    path = f"/ui/memories/{hit.id}/rate"
    assert f'hx-post="{path}"' in answer.text
    assert 'name="query" value="tea or coffee?"' in answer.text
    token = field(answer.text, "token")
    sent = {"token": token, "verdict": "wrong", "query": "tea or coffee?"}
    by_htmx = visit.client.post(path, data=sent, headers={"HX-Request": "true"})
    assert by_htmx.status_code == 200
    assert by_htmx.text.lstrip().startswith("<form")
    assert "No longer shown as current." in by_htmx.text
    assert [one.query for one in ana.get(hit.id).ratings] == [sent["query"]]
    ana.add("Prefers tea to coffee", theme="drinks")  # takes its place
    back = visit.client.post(
        path, data={**sent, "verdict": "withdrawn"}, headers={"HX-Request": "true"}
    )
    assert "Nothing was done: memory" in back.text
    plain = visit.client.post(path, data={**sent, "verdict": "outdated"})  # without script
    assert plain.headers["location"] == f"/ui/memories/{hit.id}"


@pytest.mark.requirement("page.ratings")
def test_the_reasons_of_a_result_tell_of_ratings(filled: Service) -> None:
    ana, visit = filled.memory.user("ana"), Visit(filled)
    (hit, *_) = ana.search("tea or coffee?")
    ana.rate(hit.id, "used")
    answer = visit.post("/ui/memories", on="/ui/memories", q="tea or coffee?")
    assert "Added for ratings (log-odds)</dt><dd>+0.3000; without any: score 0." in answer.text
