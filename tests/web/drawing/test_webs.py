"""Memories and relations as circles and lines, with names where there is room."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.web.drawing.labels import TEXT_SIZE, TEXT_SIZE_ON_A_PHONE, Label, Shown, Side
from ricordo.web.drawing.webs import HEIGHT, WIDTH, Circle, Node, Tie, web_of

pytestmark = pytest.mark.requirement("page.graph")


def nodes_of(count: int) -> list[Node]:
    return [Node(place, "fact", f"memory number {place}") for place in range(1, count + 1)]


def test_the_most_connected_come_first_and_are_largest() -> None:
    ties = [Tie(3, 1, 0.9), Tie(3, 2, 0.5), Tie(3, 4, 0.5)]
    web = web_of(nodes_of(5), ties)
    assert [circle.id for circle in web.circles] == [3, 1, 2, 4, 5]
    assert [circle.ties for circle in web.circles] == [3, 1, 1, 1, 0]
    first, second, *_, last = web.circles
    assert first.radius > second.radius > last.radius
    assert (first.label.name, first.label.shown) == ("memory number 3", Shown.ALWAYS)


def test_what_is_more_alike_has_a_stronger_line() -> None:
    web = web_of(nodes_of(3), [Tie(1, 2, 0.9), Tie(2, 3, 0.2)])
    strong, weak = web.threads
    assert strong.thickness > weak.thickness
    assert strong.opacity > weak.opacity


def test_ties_to_what_is_not_shown_are_passed_over() -> None:
    web = web_of(nodes_of(2), [Tie(1, 99, 0.9), Tie(1, 2, 0.9)])
    assert len(web.threads) == 1
    assert [circle.ties for circle in web.circles] == [1, 1]


def test_long_texts_are_cut() -> None:
    (circle,) = web_of([Node(1, "fact", "word " * 500)], []).circles
    assert len(circle.title) <= 120
    assert len(circle.label.name) <= 20


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_name_stands_beside_the_lines(count: int) -> None:
    web = web_of(nodes_of(count), [Tie(1, other, 0.9) for other in range(2, count + 1)])
    for circle in web.circles:
        left, top, right, bottom = area(circle.label, TEXT_SIZE)
        for thread in web.threads:
            for step in range(101):
                x = thread.x1 + (thread.x2 - thread.x1) * step / 100
                y = thread.y1 + (thread.y2 - thread.y1) * step / 100
                assert not (left < x < right and top < y < bottom), circle.label


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


@settings(max_examples=40)
@given(
    st.integers(1, 80),
    st.lists(st.tuples(st.integers(1, 80), st.integers(1, 80), st.floats(0, 1)), max_size=100),
)
def test_names_do_not_cover_one_another(count: int, ends: list[tuple[int, int, float]]) -> None:
    web = web_of(nodes_of(count), [Tie(*tie) for tie in ends])
    labels = [circle.label for circle in web.circles]
    check_apart([one for one in labels if one.shown != Shown.NEAR], web.circles, TEXT_SIZE)
    always = [one for one in labels if one.shown == Shown.ALWAYS]
    assert len(always) <= 5
    check_apart(always, web.circles, TEXT_SIZE_ON_A_PHONE)
    for circle in web.circles:
        assert circle.radius <= circle.x <= WIDTH - circle.radius
        assert circle.radius <= circle.y <= HEIGHT - circle.radius
