"""The page of themes: what there is, and how much."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from ricordo.testing.clock import ManualClock
from tests.support.service import Service
from tests.web.browsing import Browsing

pytestmark = pytest.mark.requirement("page.themes")

HOSTILE = '<script>alert(1)</script>"><svg onload=alert(2)>'


def amounts(page: str) -> dict[str, int]:
    """How many memories each theme has, in the order of the page."""
    found = re.findall(r'dir="auto">([^<]*)</a></h2>.*?<strong>([^<]*)</strong>', page, re.DOTALL)
    return {name: int(count) for name, count in found}


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
    assert "<code>food</code>" in page
    assert 'href="/ui/memories?theme=food"' in page
    assert 'href="/ui/graph?theme=food"' in page
    shown = re.findall(r"Prompts show ([^<]*)</p>", page)
    assert shown == ["what is relevant", "all of it", "what is relevant, up to 7"]
    assert page.count(f'datetime="{clock():%Y-%m-%d}') == 3
    widths = re.findall(r'class="mark-1" x="0.0%" width="([\d.]+)%"', page)
    assert widths == ["100.0", "25.0"]


def test_nothing_yet_says_what_to_do(site: Service) -> None:
    page = site.client().get("/ui/themes").text
    assert "There are no themes yet" in page
    assert "ricordo add" in page


def test_hundreds_of_themes(site: Service) -> None:
    drafts = [{"content": f"memory {number}", "theme": f"theme {number}"} for number in range(300)]
    site.memory.user("ana").add_many([*drafts, {"content": "another", "theme": "theme 150"}])
    counts = amounts(site.client().get("/ui/themes").text)
    assert len(counts) == 300
    assert next(iter(counts.values())) == 2


def test_hostile_names_are_texts(site: Service, browse: Browsing) -> None:
    ana = site.memory.user("ana")
    ana.add("Prefers tea", theme="food")
    ana.describe_theme("food", display_name=HOSTILE[:60], description=HOSTILE + "\u202eabc" * 20)
    page = browse(f"{site.url}/ui/themes")
    expect(page.get_by_role("heading", level=2)).to_have_text(HOSTILE[:60])
    expect(page.locator("main")).to_contain_text(HOSTILE)
    assert page.locator("main script").count() == 0


def test_links_lead_to_the_memories_and_to_the_graph(site: Service, browse: Browsing) -> None:
    ana = site.memory.user("ana")
    ana.add("Prefers tea", theme="food")
    ana.add("Works at night", theme="work")
    page = browse(f"{site.url}/ui/themes")
    page.get_by_role("link", name="Graph of Food").click()
    expect(page.get_by_label("Theme")).to_have_value("food")
    page.go_back()
    page.get_by_role("link", name="Food", exact=True).click()
    expect(page.locator("main")).to_contain_text("Prefers tea")
    expect(page.locator("main")).not_to_contain_text("Works at night")


def test_who_is_kept_to_categories_sees_those(
    keyed_site: Service, browse: Callable[..., object]
) -> None:
    ana = keyed_site.memory.user("ana")
    ana.add("Prefers tea", theme="food")
    ana.add("Has a cold", theme="health")
    made = keyed_site.memory.create_key("helper", user="ana", agent="k", categories=["food"])
    page = browse(f"{keyed_site.url}/ui/themes", key=made.secret)
    assert list(amounts(page.content())) == ["Food"]
