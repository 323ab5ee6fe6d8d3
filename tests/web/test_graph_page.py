"""The page of relations: a picture to move about in, and the same in words."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from ricordo import limits
from ricordo.testing.clock import ManualClock
from ricordo.user_memory import UserMemory
from tests.support.service import Service
from tests.web.browsing import Browsing
from tests.web.conftest import Reading, Serve

pytestmark = pytest.mark.requirement("page.graph")

CHAIRS = "red garden chairs for"
HOSTILE = f"<script>alert(1)</script> {CHAIRS} <img src=x onerror=alert(2)>"
WHOLE = (0.0, 0.0, 800.0, 520.0)


def furnish(user: UserMemory) -> None:
    """Three that are related, two others that are, and one that is alone."""
    for season in ("summer", "winter", "spring"):
        user.add(f"{CHAIRS} {season}", theme="home", type="preference")
    user.add("the old blue boat leaks", theme="boats", type="fact")
    user.add("the old blue boat sails", theme="boats", type="episode")
    user.add("Plays chess", theme="games")


@pytest.fixture
def furnished(site: Service) -> Service:
    furnish(site.memory.user("ana"))
    return site


def circles(page: str) -> dict[int, str]:
    """What the nodes are called, by their memories."""
    found = re.findall(r'<a href="/ui/memories/(\d+)">\s*<title>([^<]*)</title>', page)
    return {int(number): title for number, title in found}


def test_nodes_are_memories_and_pairs_say_how_alike_they_are(furnished: Service) -> None:
    ana = furnished.memory.user("ana")
    page = furnished.client().get("/ui/graph").text
    graph = ana.relation_graph()
    assert len(graph.memories) == 5
    assert circles(page) == {item.id: f"{item.type}: {item.content}" for item in graph.memories}
    assert page.count('<line class="thread"') == len(graph.relations) == 4
    pairs = re.findall(
        r'<li>\s*<a href="/ui/memories/(\d+)".*?<a href="/ui/memories/(\d+)".*?number">([\d.]+)<',
        page,
        re.DOTALL,
    )
    assert pairs == [
        (str(edge.one), str(edge.other), f"{edge.similarity:.2f}") for edge in graph.relations
    ]
    assert re.findall(r"</svg>(preference|fact|episode|insight)</li>", page) == [
        "preference",
        "fact",
        "episode",
    ]


def test_the_same_graph_looks_the_same(furnished: Service) -> None:
    pictures = [
        re.findall(r"<(?:circle|line) [^>]*>", furnished.client().get("/ui/graph").text)
        for _ in range(2)
    ]
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) > 9


def test_a_theme_has_a_graph_of_its_own(furnished: Service) -> None:
    page = furnished.client().get("/ui/graph?theme=boats").text
    assert set(circles(page).values()) == {
        "fact: the old blue boat leaks",
        "episode: the old blue boat sails",
    }
    assert re.findall(r"<option[^>]*>([^<]*)</option>", page) == [
        "All themes",
        "Home (3)",
        "Boats (2)",
        "Games (1)",
    ]
    assert re.findall(r'value="(\w+)" selected', page) == ["boats"]


@pytest.mark.parametrize("theme", ["games", "nowhere"])
def test_a_theme_without_relations_says_how_they_come_about(furnished: Service, theme: str) -> None:
    page = furnished.client().get(f"/ui/graph?theme={theme}").text
    assert "No memories are related here yet" in page
    assert "compared by meaning" in page
    assert "<svg" not in page
    assert re.findall(r'value="(\w+)" selected', page) == [theme]


def test_nothing_yet_says_what_to_do(site: Service) -> None:
    page = site.client().get("/ui/graph").text
    assert "Nothing is remembered yet" in page
    assert "ricordo add" in page


def test_many_memories_are_the_most_connected(site: Service) -> None:
    ana = site.memory.user("ana")
    ana.add_many([f"{CHAIRS} guest number {number}" for number in range(120)])
    page = site.client().get("/ui/graph").text
    assert len(circles(page)) == limits.DEFAULT_GRAPH_MEMORIES
    assert "there are others" in page
    assert "more pairs</summary>" in page


def test_who_is_kept_to_categories_sees_those(keyed_site: Service, browse: Browsing) -> None:
    furnish(keyed_site.memory.user("ana"))
    made = keyed_site.memory.create_key("helper", user="ana", agent="k", categories=["boats"])
    page = browse(f"{keyed_site.url}/ui/graph", key=made.secret)
    assert len(circles(page.content())) == 2
    browse.watch(page).expect("403")
    answer = page.goto(f"{keyed_site.url}/ui/graph?theme=home")
    assert answer is not None
    assert answer.status == 403


# -- in the browser --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reading(serve_for_module: Serve, reader: Callable[..., Reading]) -> Reading:
    """How one moves about is the script's alone, so one database will do."""
    service = serve_for_module("sqlite", ManualClock())
    furnish(service.memory.user("ana"))
    return reader(service.url)


@pytest.fixture
def page(reading: Reading) -> Iterator[Page]:
    opened = reading.open("/ui/graph")
    expect(button(opened, "Zoom in")).to_be_visible()
    opened.locator("svg.web").scroll_into_view_if_needed()
    yield opened
    reading.browsing.check()


def seen(page: Page) -> tuple[float, ...]:
    """The part of the drawing that is shown."""
    box = page.locator("svg.web").get_attribute("viewBox")
    assert box is not None
    return tuple(map(float, box.split()))


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def middle(page: Page) -> tuple[float, float]:
    box = page.locator("svg.web").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_buttons_zoom(page: Page) -> None:
    assert seen(page) == WHOLE
    button(page, "Zoom in").click()
    nearer = seen(page)
    assert nearer[2] == pytest.approx(WHOLE[2] / 1.4, abs=0.1)
    assert nearer[0] + nearer[2] / 2 == pytest.approx(WHOLE[2] / 2, abs=0.1)
    button(page, "Zoom in").click()
    button(page, "Zoom out").click()
    assert seen(page) == pytest.approx(nearer, abs=0.1)
    button(page, "Whole").click()
    assert seen(page) == WHOLE
    for _ in range(12):
        button(page, "Zoom in").click()
    assert seen(page)[2] == pytest.approx(100)  # no nearer than this
    for _ in range(12):
        button(page, "Zoom out").click()
    assert seen(page) == WHOLE


def test_the_wheel_zooms_with_ctrl_where_the_pointer_is(page: Page) -> None:
    x, y = middle(page)
    page.mouse.move(x - 200, y)
    page.mouse.wheel(0, 120)
    assert seen(page) == WHOLE  # the wheel alone is for the page
    page.locator("svg.web").scroll_into_view_if_needed()
    page.mouse.move(middle(page)[0] - 200, middle(page)[1])
    before = point_under(page, middle(page)[0] - 200, middle(page)[1])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -150)
    page.keyboard.up("Control")
    page.wait_for_function("() => document.querySelector('svg.web').viewBox.baseVal.width < 790")
    assert point_under(page, middle(page)[0] - 200, middle(page)[1]) == pytest.approx(before, abs=1)


def point_under(page: Page, x: float, y: float) -> list[float]:
    """Which point of the drawing is at a place of the window."""
    point: list[float] = page.evaluate(
        """([x, y]) => {
          const matrix = document.querySelector("svg.web").getScreenCTM().inverse();
          const at = new DOMPoint(x, y).matrixTransform(matrix);
          return [at.x, at.y];
        }""",
        [x, y],
    )
    return point


def test_keys_move_and_zoom(page: Page) -> None:
    page.locator("svg.web").focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    start = seen(page)
    for key, place, sign in (
        ("ArrowRight", 0, 1),
        ("ArrowDown", 1, 1),
        ("ArrowLeft", 0, -1),
        ("ArrowUp", 1, -1),
    ):
        before = seen(page)
        page.keyboard.press(key)
        assert (seen(page)[place] - before[place]) * sign > 10
    assert seen(page) == pytest.approx(start, abs=0.1)
    page.keyboard.press("-")
    assert seen(page)[2] > start[2]
    page.keyboard.press("0")
    assert seen(page) == WHOLE


def test_keys_stop_at_the_edge(page: Page) -> None:
    page.locator("svg.web").focus()
    page.keyboard.press("+")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    x, _, width, _ = seen(page)
    assert x + width == pytest.approx(WHOLE[2], abs=0.1)


def test_a_node_that_gets_the_focus_comes_into_sight(page: Page) -> None:
    for _ in range(8):
        button(page, "Zoom in").click()
    for place in range(5):
        page.locator("svg.web a").nth(place).focus()
        x, y, width, height = seen(page)
        at_x, at_y = (
            page.locator("svg.web a circle")
            .nth(place)
            .evaluate("one => [one.cx.baseVal.value, one.cy.baseVal.value]")
        )
        assert x <= at_x <= x + width
        assert y <= at_y <= y + height


def test_dragging_moves_and_opens_nothing(page: Page) -> None:
    button(page, "Zoom in").click()
    button(page, "Zoom in").click()
    before = seen(page)
    address = page.url
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 30, steps=4)
    page.mouse.up()
    after = seen(page)
    assert after[0] > before[0]
    assert after[1] > before[1]
    assert after[2] == before[2]
    node = page.locator("svg.web a circle").first
    node.scroll_into_view_if_needed()
    box = node.bounding_box()
    assert box is not None
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 40, at[1], steps=4)
    page.mouse.up()
    assert page.url == address


def test_two_fingers_zoom(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    x, y = middle(page)

    def touch(kind: str, apart: float) -> None:
        points: list[dict[str, Any]] = [
            {"x": x - apart, "y": y, "id": 1},
            {"x": x + apart, "y": y, "id": 2},
        ]
        ended = kind == "touchEnd"
        session.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if ended else points}
        )

    touch("touchStart", 40)
    for apart in (60, 80, 100, 120):
        touch("touchMove", apart)
    touch("touchEnd", 120)
    page.wait_for_function("() => document.querySelector('svg.web').viewBox.baseVal.width < 400")


def test_a_click_opens_the_memory(page: Page) -> None:
    for what in ("svg.web a circle", "svg.web a text:visible", ".pairs a"):
        page.locator(what).first.click()
        expect(page).to_have_url(re.compile(r"/ui/memories/\d+$"))
        page.go_back()


def test_more_names_are_shown_from_near(site: Service, browse: Browsing) -> None:
    ana = site.memory.user("ana")
    ana.add_many([f"{CHAIRS} guest number {number}" for number in range(60)])
    page = browse(f"{site.url}/ui/graph")
    names = page.locator("svg.web text:visible")
    far = names.count()
    size = names.first.bounding_box()
    for _ in range(3):
        button(page, "Zoom in").click()
    assert names.count() > far
    nearer = names.first.bounding_box()
    assert size is not None
    assert nearer is not None
    assert nearer["height"] == pytest.approx(size["height"], rel=0.1)


def test_without_script_there_is_the_list(furnished: Service, browse: Browsing) -> None:
    page = browse(f"{furnished.url}/ui/graph", javascript=False)
    expect(page.locator("[data-zoom]").first).to_be_hidden()
    expect(page.locator(".pairs li")).to_have_count(4)
    page.get_by_label("Theme").select_option("boats")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".pairs li")).to_have_count(1)
    expect(page.locator("svg.web a")).to_have_count(2)


def test_hostile_contents_are_texts(site: Service, browse: Browsing) -> None:
    ana = site.memory.user("ana")
    ana.add(f"{HOSTILE} summer")
    ana.add(f"{HOSTILE} \u202ewinter \U0001f600")
    page = browse(f"{site.url}/ui/graph")
    expect(page.locator(".pairs a").first).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main script, main img").count() == 0
    titles = page.locator("svg.web a title").all_text_contents()
    assert all("<script>alert(1)</script>" in title for title in titles)
