"""The page of activity: the same numbers as the library's, as charts and as tables."""

import re
from collections.abc import Callable
from itertools import accumulate, combinations

import pytest
from playwright.sync_api import Page, expect

from ricordo.jobs import handlers
from ricordo.memory import Memory
from ricordo.model.activity import KNOWN_ALREADY, decisions_counter
from ricordo.model.vocabulary import Action
from ricordo.storage.tallies import tally
from ricordo.testing.clock import ManualClock
from ricordo.web.drawing.figures import exact
from ricordo.web.wording import JOBS
from tests.support.service import Service
from tests.web.browsing import NARROW, Browsing
from tests.web.conftest import LivedIn

pytestmark = pytest.mark.requirement("page.activity")

# The texts of a chart that can be seen, and where they are on the screen.
_TEXTS = """() => [...document.querySelectorAll("svg.plot")].map(plot =>
  [...plot.querySelectorAll("text")].filter(one => one.checkVisibility()).map(one => {
    const box = one.getBoundingClientRect();
    return {says: one.textContent, left: box.left, top: box.top, right: box.right,
            bottom: box.bottom, size: parseFloat(getComputedStyle(one).fontSize)};
  }))"""


def table(page: str, slug: str) -> dict[str, tuple[str, ...]]:
    """The numbers under a chart, by day."""
    chart = re.search(rf'id="chart-{slug}".*?</figure>', page, re.DOTALL)
    assert chart is not None
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', chart.group(), re.DOTALL)
    return {day: tuple(re.findall(r">([^<]+)</td>", cells)) for day, cells in rows}


def figures(page: str) -> dict[str, str]:
    """The headlines."""
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd><dd class", page))


@pytest.mark.requirement("page.charts")
def test_the_numbers_are_those_of_the_library(lived_in_each: LivedIn) -> None:
    page = lived_in_each.service.client().get("/ui/activity").text
    ana = lived_in_each.service.memory.user(lived_in_each.life.user)
    daily = {one.day: one for one in ana.daily(days=30)}
    added = [one.memories_added for one in daily.values()]
    assert sum(added) > 40
    assert table(page, "added") == {day: (exact(one.memories_added),) for day, one in daily.items()}
    growth = zip(daily, accumulate(added), strict=True)
    assert table(page, "growth") == {day: (exact(total),) for day, total in growth}
    assert table(page, "latency") == {
        day: (exact(one.recall_p50_ms), exact(one.recall_p95_ms)) for day, one in daily.items()
    }
    assert table(page, "tokens") == {
        day: (exact(one.prompt_tokens), exact(one.completion_tokens)) for day, one in daily.items()
    }
    kinds = [kind for kind in Action if any(one.decisions[kind] for one in daily.values())]
    assert len(kinds) > 1
    assert table(page, "decisions") == {
        day: tuple(exact(one.decisions[kind]) for kind in kinds) for day, one in daily.items()
    }
    assert figures(page)["Memories"] == str(ana.counters().memory_total_count)


@pytest.mark.parametrize("days", [7, 30, 90])
def test_the_days_can_be_chosen(site: Service, clock: ManualClock, days: int) -> None:
    site.memory.user("ana").add("Prefers tea")
    page = site.client().get(f"/ui/activity?days={days}").text
    assert len(table(page, "added")) == days
    assert re.findall(r'aria-current="true">(\d+) days', page) == [str(days)]


def test_rates_are_of_something(site: Service, clock: ManualClock) -> None:
    site.memory.user("ana").add("Prefers tea")
    empty = figures(site.client().get("/ui/activity").text)
    assert empty == {"Memories": "1", "Replaced": "–", "Known already": "–", "Of use": "–"} | {
        "Tokens": "0"
    }
    with site.memory.database.write("ana") as writing:
        counts = {decisions_counter(Action.ADD): 3, decisions_counter(Action.REPLACE): 1}
        tally(writing, {**counts, KNOWN_ALREADY: 4})
    shown = figures(site.client().get("/ui/activity").text)
    assert (shown["Replaced"], shown["Known already"]) == ("25%", "50%")


def test_nothing_yet_says_what_to_do(site: Service) -> None:
    page = site.client().get("/ui/activity").text
    assert "Nothing has happened yet" in page
    assert "ricordo add" in page
    assert "<svg class=" not in page


def test_a_quiet_time_has_sentences_instead_of_charts(site: Service, clock: ManualClock) -> None:
    site.memory.user("ana").add("Prefers tea")
    clock.advance(days=60)
    page = site.client().get("/ui/activity").text
    assert "No memory was added in these days." in page
    assert "No language model was asked in these days." in page
    assert 'class="plot"' not in page
    assert "Nothing has happened yet" not in page


@pytest.mark.parametrize("query", ["days=8", "days=-1", "days=x", "days=", "whose=ben"])
def test_what_cannot_be_asked_for_is_refused(site: Service, query: str) -> None:
    answer = site.client().get(f"/ui/activity?{query}")
    assert answer.status_code == 422
    assert "not" in answer.text
    assert "<h1>" in answer.text


def test_steps_lead_to_what_they_are_about(lived_in_each: LivedIn) -> None:
    client = lived_in_each.service.client()
    page = client.get("/ui/activity").text
    rows = re.search(r'<table class="events">.*?</table>', page, re.DOTALL)
    assert rows is not None
    addresses = {link.replace("&amp;", "&") for link in re.findall(r'href="([^"]+)"', rows.group())}
    kinds = {re.sub(r"\d+", "N", one).partition("=")[0] for one in addresses}
    assert kinds >= {"/ui/memories/N", "/ui/choices", "/ui/conversations/thread?id"}
    assert {one: client.get(one).status_code for one in addresses} == dict.fromkeys(addresses, 200)


def test_it_says_nothing_of_what_memories_say(lived_in_each: LivedIn) -> None:
    page = lived_in_each.service.client().get("/ui/activity").text
    ana = lived_in_each.service.memory.user(lived_in_each.life.user)
    assert not [item.content for item in ana.list(limit=100) if item.content in page]


# -- who sees what ---------------------------------------------------------------------------


def keys_of(memory: Memory) -> dict[str, str]:
    memory.user("ana").add("Prefers tea", theme="food")
    memory.user("ben").add_many(["Plays chess", "Likes rain"])
    made = {
        "user": memory.create_key("phone", user="ana"),
        "agent": memory.create_key("helper", user="ana", agent="kitchen", categories=["food"]),
        "reader": memory.create_key("reader", permissions=["read_all"]),
        "manager": memory.create_key("manager", permissions=["read_all", "manage"]),
    }
    return {name: one.secret for name, one in made.items()}


def test_everybody_is_for_who_may_read_all(keyed_site: Service, browse: Browsing) -> None:
    keys = keys_of(keyed_site.memory)
    address = f"{keyed_site.url}/ui/activity"
    page = browse(address, key=keys["reader"], user="ana")
    assert figures(page.content())["Memories"] == "1"
    page.get_by_role("link", name="Everybody").click()
    expect(page.get_by_text("Of everybody")).to_be_visible()
    assert figures(page.content())["Memories"] == "3"
    assert sum(int(one) for (one,) in table(page.content(), "added").values()) == 3
    page.get_by_role("link", name="90 days").click()
    expect(page.get_by_text("Of everybody")).to_be_visible()
    expect(page.get_by_role("heading", name="Job queue")).to_be_visible()


def test_one_user_sees_their_own(keyed_site: Service, browse: Browsing) -> None:
    keys = keys_of(keyed_site.memory)
    page = browse(f"{keyed_site.url}/ui/activity", key=keys["user"])
    assert figures(page.content())["Memories"] == "1"
    expect(page.get_by_role("link", name="Everybody")).to_have_count(0)
    expect(page.get_by_role("heading", name="Job queue")).to_have_count(0)
    expect(page.get_by_role("heading", name="Vectors")).to_be_visible()
    browse.watch(page).expect("403")
    answer = page.goto(f"{keyed_site.url}/ui/activity?whose=everybody")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_role("alert")).to_contain_text("read_all")


def test_who_is_kept_to_categories_is_told_so(keyed_site: Service, browse: Browsing) -> None:
    keys = keys_of(keyed_site.memory)
    page = browse(f"{keyed_site.url}/ui/memories", key=keys["agent"])
    browse.watch(page).expect("403")
    answer = page.goto(f"{keyed_site.url}/ui/activity")
    assert answer is not None
    assert answer.status == 403
    expect(page.get_by_role("alert")).to_contain_text("food")


def test_managers_see_the_queue(keyed_site: Service, browse: Browsing) -> None:
    keys = keys_of(keyed_site.memory)
    keyed_site.memory.user("ana").observe([{"role": "user", "content": "hi"}], thread="one")
    page = browse(f"{keyed_site.url}/ui/activity", key=keys["manager"], user="ana")
    rows = page.locator("table.jobs tbody tr").all_inner_texts()
    shown = {row.split("\t")[0]: row.split("\t")[2:6] for row in rows}
    stats = [one for one in keyed_site.memory.job_stats() if one.queued or one.running or one.dead]
    assert stats
    assert shown == {
        JOBS[one.kind]: [
            str(number) for number in (one.due, one.queued - one.due, one.running, one.dead)
        ]
        for one in stats
    }


def test_an_idle_queue_says_so(site: Service) -> None:
    assert "Nothing waits, nothing runs" in site.client().get("/ui/activity").text


# -- in the browser --------------------------------------------------------------------------


@pytest.mark.requirement("page.charts")
@pytest.mark.parametrize("days", [7, 30, 90])
def test_labels_can_be_read_on_every_screen(
    lived_in_sqlite: LivedIn, browse: Browsing, days: int
) -> None:
    page = browse(f"{lived_in_sqlite.url}/ui/activity?days={days}")
    for width in (NARROW, 500, 660, 900, 1280, 2000):
        page.set_viewport_size({"width": width, "height": 800})
        plots = page.evaluate(_TEXTS)
        assert len(plots) == 5
        for texts in plots:
            assert min(one["size"] for one in texts) >= 11
            assert [pair for pair in combinations(texts, 2) if meet(*pair)] == []
            assert all(one["left"] >= 0 and one["right"] <= width for one in texts)


def meet(one: dict[str, float], other: dict[str, float]) -> bool:
    return (
        one["left"] < other["right"]
        and other["left"] < one["right"]
        and one["top"] < other["bottom"]
        and other["top"] < one["bottom"]
    )


@pytest.mark.requirement("page.charts")
@pytest.mark.parametrize("javascript", [True, False])
def test_a_chart_is_told_in_words_and_numbers(
    lived_in_sqlite: LivedIn, browse: Browsing, javascript: bool
) -> None:
    page = browse(f"{lived_in_sqlite.url}/ui/activity", javascript=javascript)
    chart = page.get_by_role("img", name="Tokens spent")
    expect(chart).to_have_accessible_name(re.compile(r"1 Jan to 30 Jan: .* tokens in all"))
    panel = page.locator("#chart-tokens")
    numbers = panel.get_by_role("table")
    expect(numbers).to_be_hidden()
    panel.get_by_text("The numbers").click()
    expect(numbers).to_be_visible()
    expect(numbers.get_by_role("row")).to_have_count(31)


@pytest.mark.requirement("page.charts")
def test_colours_stand_out_in_light_and_dark(
    lived_in_sqlite: LivedIn, browse: Callable[..., Page]
) -> None:
    for scheme in ("light", "dark"):
        page = browse(f"{lived_in_sqlite.url}/ui/activity", scheme=scheme)
        ground, *marks = page.evaluate(
            """() => {
              const root = getComputedStyle(document.documentElement);
              return ["--raised", "--mark-1", "--mark-2", "--mark-3", "--mark-4", "--mark-5",
                      "--mark-6", "--mark-7", "--mark-8"].map(one => root.getPropertyValue(one));
            }"""
        )
        assert len(set(marks)) == 8
        assert [mark for mark in marks if contrast(mark, ground) < 3] == []


def contrast(one: str, other: str) -> float:
    """How much two colours differ, as WCAG has it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    digits = colour.strip().removeprefix("#")
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_kind_of_job_has_words() -> None:
    kinds = {kind for name, kind in vars(handlers).items() if name.endswith("_JOB")}
    assert set(JOBS) == kinds
