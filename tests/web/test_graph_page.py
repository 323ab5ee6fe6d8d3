"""The page of relations: a picture to move about in, and the same in words."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Locator, Page, expect

from ricordo.testing import ManualClock
from ricordo.user_memory import UserMemory
from ricordo.web.graph_layout import (
    HEIGHT,
    MOST_NODES,
    TEXT_SIZE,
    TEXT_SIZE_ON_A_PHONE,
    WIDTH,
    Box,
    Circle,
    Edge,
    Label,
    LayoutEdge,
    LayoutNode,
    Side,
    Visibility,
    draw_graph,
    placed,
    spaced,
)
from tests.support.service import Service
from tests.web.conftest import Reading, Serve

pytestmark = pytest.mark.requirement("page.graph")

CHAIRS = "red garden chairs for"
WHOLE = (0.0, 0.0, 800.0, 520.0)


def furnish(user: UserMemory) -> None:
    """Three that are related, two others that are, and one that is alone."""
    for season in ("summer", "winter", "spring"):
        user.add(f"{CHAIRS} {season}", theme="home", type="preference")
    user.add("the old blue boat leaks", theme="boats", type="fact")
    user.add("the old blue boat sails", theme="boats", type="episode")
    user.add("Plays chess", theme="games")


def circles(page: str) -> dict[int, str]:
    """What the nodes are called, by their memories."""
    found = re.findall(
        r'<a data-id="\d+" href="/ui/memories/(\d+)">\s*<title>([^<]*)</title>', page
    )
    return {int(number): title for number, title in found}


def test_nodes_are_memories_and_pairs_say_how_alike_they_are(site: Service) -> None:
    ana = site.memory.user("ana")
    furnish(ana)
    page = site.client().get("/ui/graph").text
    graph = ana.relation_graph()
    assert len(graph.memories) == 5
    assert circles(page) == {item.id: f"{item.type}: {item.content}" for item in graph.memories}
    assert page.count('<line class="relation"') == len(graph.relations) == 4
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


def test_a_theme_has_a_graph_of_its_own(site: Service) -> None:
    furnish(site.memory.user("ana"))
    none = site.client().get("/ui/graph?theme=games").text
    assert "No memories are related here yet" in none
    assert "<svg" not in none
    page = site.client().get("/ui/graph?theme=boats").text
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


def test_who_is_named_is_drawn_with_what_names_them(site: Service) -> None:
    ana = site.memory.user("ana")
    named = ana.add("User's sister is called Carolina.", type="fact").id
    peonies = ana.add("Carolina grows peonies.").id
    tests = ana.add("The peonies are watered by night", project_id="acme/garden").id
    page = site.client().get("/ui/graph").text
    assert set(circles(page)) >= {named, peonies}
    assert re.findall(r"<title>named: (.*?)</title>", page) == ["Carolina (my sister)"]
    assert len(re.findall(r'class="relation naming" data-one="-1"', page)) == 2
    lists = page.partition('id="named"')[2]
    assert re.findall(r"<dt><bdi>([^<]*)</bdi>", lists)[0] == "Carolina"
    assert re.findall(r'<dd><a href="/ui/memories/(\d+)"', lists)[:2] == [str(peonies), str(named)]
    legend = re.findall(r"</svg>([a-z ]+)</li>", page)
    assert legend == ["fact", "who and what is named", "project"]
    assert "<title>project: acme/garden</title>" in page
    assert tests in circles(page)
    assert re.findall(r"<dt><bdi>([^<]*)</bdi>", lists) == ["Carolina", "acme/garden"]


def test_an_empty_graph_says_why(site: Service) -> None:
    ana = site.memory.user("ana")
    visit = site.client()
    assert "Nothing is remembered yet" in visit.get("/ui/graph").text
    ana.add("Plays chess")
    assert "There is one memory, and a relation needs two" in visit.get("/ui/graph").text
    ana.add("the old blue boat leaks")
    page = visit.get("/ui/graph").text
    assert "No two memories are similar enough: from a similarity of 0." in page
    assert "sister is called Carolina" in page
    assert "no memory of this theme" in visit.get("/ui/graph?theme=boats").text


@pytest.mark.browser
def test_what_one_points_at_stands_out(page: Page) -> None:
    chair = page.locator("svg.drawing a").first
    chair.focus()
    expect(page.locator("svg.drawing")).to_have_class(re.compile(r"\basked\b"))
    expect(page.locator("svg.drawing a.lit")).to_have_count(3)
    expect(page.locator("svg.drawing line.lit")).to_have_count(2)
    page.locator("h1").click()
    expect(page.locator("svg.drawing a.lit")).to_have_count(0)


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
    opened.locator("svg.drawing").scroll_into_view_if_needed()
    yield opened
    reading.browsing.check()


def seen(page: Page) -> tuple[float, ...]:
    """The part of the drawing that is shown."""
    box = page.locator("svg.drawing").get_attribute("viewBox")
    assert box is not None
    return tuple(map(float, box.split()))


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


@pytest.mark.browser
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


@pytest.mark.browser
def test_keys_move_and_zoom(page: Page) -> None:
    page.locator("svg.drawing").focus()
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
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert seen(page)[0] + seen(page)[2] == pytest.approx(WHOLE[2], abs=0.1)  # the edge
    page.keyboard.press("-")
    assert seen(page)[2] > start[2]
    page.keyboard.press("0")
    assert seen(page) == WHOLE


@pytest.mark.browser
def test_a_click_opens_the_memory(page: Page) -> None:
    for what in ("svg.drawing a circle", "svg.drawing a text:visible", ".pairs a"):
        page.locator(what).first.click()
        expect(page).to_have_url(re.compile(r"/ui/memories/\d+$"))
        page.go_back()


# -- the drawing of it ---------------------------------------------------------------------------


BOX = Box(width=800, height=520, margin=30, apart=26)


def closest(points: np.ndarray) -> float:
    apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    np.fill_diagonal(apart, np.inf)
    return float(apart.min())


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    count = draw(st.integers(1, 60))
    end = st.integers(0, count - 1)
    edges = st.tuples(end, end, st.floats(0, 1) | st.floats())
    return count, draw(st.lists(edges, max_size=120))


@given(graphs())
def test_every_node_is_in_the_box_and_apart(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    points = placed(count, edges, BOX)
    assert points.shape == (count, 2)
    assert np.isfinite(points).all()
    assert points.min() >= BOX.margin - 1e-6
    assert points[:, 0].max() <= BOX.width - BOX.margin + 1e-6
    assert points[:, 1].max() <= BOX.height - BOX.margin + 1e-6
    assert count < 2 or closest(points) >= BOX.apart * 0.85
    assert (points == placed(count, edges, BOX)).all()


def test_what_is_related_is_near_and_chains_are_in_order() -> None:
    near = placed(3, [(0, 1, 0.99), (1, 2, 0.1)], BOX)
    far = np.linalg.norm(near[1] - near[2])
    assert np.linalg.norm(near[0] - near[1]) < far / 1.5
    chain = placed(6, [(place, place + 1, 0.5) for place in range(5)], BOX)
    steps = np.diff(chain[:, 0])
    assert (steps > 0).all() or (steps < 0).all()


def test_points_in_one_place_are_spread_even_in_a_corner() -> None:
    points = spaced(np.zeros((150, 2)), BOX)
    assert closest(points) >= BOX.apart * 0.85
    crowded = spaced(np.zeros((50, 2)), Box(width=100, height=60, margin=10, apart=40))
    assert closest(crowded) > 1


def test_nothing_and_too_much() -> None:
    assert placed(0, [], BOX).shape == (0, 2)
    with pytest.raises(ValueError, match="at most 200"):
        placed(MOST_NODES + 1, [], BOX)
    with pytest.raises(ValueError, match="not there"):
        placed(2, [(0, 2, 0.5)], BOX)


def nodes_of(count: int) -> list[LayoutNode]:
    return [LayoutNode(place, "fact", f"memory number {place}") for place in range(1, count + 1)]


def test_the_most_connected_come_first_and_are_largest() -> None:
    edges = [LayoutEdge(3, 1, 0.9), LayoutEdge(3, 2, 0.5), LayoutEdge(3, 4, 0.5)]
    web = draw_graph(nodes_of(5), edges)
    assert [circle.id for circle in web.circles] == [3, 1, 2, 4, 5]
    first, second, *_, last = web.circles
    assert first.radius > second.radius > last.radius
    assert (first.label.name, first.label.shown) == ("memory number 3", Visibility.ALWAYS)


def area(label: Label, size: float) -> tuple[float, float, float, float]:
    width = len(label.name) * size * 0.5
    left = {Side.AFTER: label.x, Side.BEFORE: label.x - width}.get(label.side, label.x - width / 2)
    top = {Side.BELOW: label.y, Side.ABOVE: label.y - size}.get(label.side, label.y - size / 2)
    return left, top, left + width, top + size


def check_apart(labels: list[Label], circles: tuple[Circle, ...], size: float) -> None:
    areas = [area(label, size) for label in labels]
    for place, (left, top, right, bottom) in enumerate(areas):
        assert left >= 0 and right <= WIDTH
        for other in areas[:place]:
            assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
        for circle in circles:
            nearest_x = min(max(circle.x, left), right)
            nearest_y = min(max(circle.y, top), bottom)
            away = (circle.x - nearest_x) ** 2 + (circle.y - nearest_y) ** 2
            assert away >= circle.radius**2


@given(
    st.integers(1, 80),
    st.lists(st.tuples(st.integers(1, 80), st.integers(1, 80), st.floats(0, 1)), max_size=100),
)
def test_names_do_not_cover_one_another(count: int, ends: list[tuple[int, int, float]]) -> None:
    web = draw_graph(nodes_of(count), [LayoutEdge(*tie) for tie in ends])
    labels = [circle.label for circle in web.circles]
    check_apart([one for one in labels if one.shown != Visibility.NEAR], web.circles, TEXT_SIZE)
    always = [one for one in labels if one.shown == Visibility.ALWAYS]
    assert len(always) <= 5
    check_apart(always, web.circles, TEXT_SIZE_ON_A_PHONE)
    for circle in web.circles:
        assert circle.radius <= circle.x <= WIDTH - circle.radius
        assert circle.radius <= circle.y <= HEIGHT - circle.radius


def middle(page: Page) -> tuple[float, float]:
    box = page.locator("svg.drawing").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.browser
def test_the_wheel_zooms_with_ctrl_where_the_pointer_is(page: Page) -> None:
    x, y = middle(page)
    page.mouse.move(x - 200, y)
    page.mouse.wheel(0, 120)
    assert seen(page) == WHOLE  # the wheel alone is for the page
    page.locator("svg.drawing").scroll_into_view_if_needed()
    page.mouse.move(middle(page)[0] - 200, middle(page)[1])
    before = point_under(page, middle(page)[0] - 200, middle(page)[1])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -150)
    page.keyboard.up("Control")
    page.wait_for_function(
        "() => document.querySelector('svg.drawing').viewBox.baseVal.width < 790"
    )
    assert point_under(page, middle(page)[0] - 200, middle(page)[1]) == pytest.approx(before, abs=1)


def point_under(page: Page, x: float, y: float) -> list[float]:
    """Which point of the drawing is at a place of the window."""
    point: list[float] = page.evaluate(
        """([x, y]) => {
          const matrix = document.querySelector("svg.drawing").getScreenCTM().inverse();
          const at = new DOMPoint(x, y).matrixTransform(matrix);
          return [at.x, at.y];
        }""",
        [x, y],
    )
    return point


@pytest.mark.browser
def test_a_node_that_gets_the_focus_comes_into_sight(page: Page) -> None:
    for _ in range(8):
        button(page, "Zoom in").click()
    for place in range(5):
        page.locator("svg.drawing a").nth(place).focus()
        x, y, width, height = seen(page)
        at_x, at_y = (
            page.locator("svg.drawing a circle")
            .nth(place)
            .evaluate("one => [one.cx.baseVal.value, one.cy.baseVal.value]")
        )
        assert x <= at_x <= x + width
        assert y <= at_y <= y + height


@pytest.mark.browser
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
    node = page.locator("svg.drawing a circle").first
    node.scroll_into_view_if_needed()
    box = node.bounding_box()
    assert box is not None
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 40, at[1], steps=4)
    page.mouse.up()
    assert page.url == address


@pytest.mark.browser
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
    page.wait_for_function(
        "() => document.querySelector('svg.drawing').viewBox.baseVal.width < 400"
    )
