"""The places of nodes: in the box, apart, the same every time, and near to what they belong to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.web.drawing.layout import MOST_NODES, Edge, placed
from ricordo.web.drawing.packing import Box
from ricordo.web.drawing.spacing import spaced

pytestmark = pytest.mark.requirement("page.graph")

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


@settings(max_examples=60)
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


@pytest.mark.parametrize("shape", ["star", "chain", "clique", "strangers"])
def test_as_many_nodes_as_there_may_be(shape: str) -> None:
    edges: dict[str, list[Edge]] = {
        "star": [(0, end, 0.9) for end in range(1, MOST_NODES)],
        "chain": [(end - 1, end, 0.9) for end in range(1, MOST_NODES)],
        "clique": [(one, other, 0.9) for one in range(MOST_NODES) for other in range(one)],
        "strangers": [],
    }
    points = placed(MOST_NODES, edges[shape], BOX)
    assert np.isfinite(points).all()
    assert closest(points) >= BOX.apart * 0.85


def test_what_is_related_is_near() -> None:
    near, far = placed(3, [(0, 1, 0.99), (1, 2, 0.1)], BOX), None
    far = np.linalg.norm(near[1] - near[2])
    assert np.linalg.norm(near[0] - near[1]) < far / 1.5


def test_components_keep_together() -> None:
    one = [(a, b, 0.8) for a in range(5) for b in range(a)]
    other = [(a + 5, b + 5, 0.8) for a in range(5) for b in range(a)]
    points = placed(10, one + other, BOX)
    middles = points[:5].mean(axis=0), points[5:].mean(axis=0)
    for node, point in enumerate(points):
        own, foreign = middles if node < 5 else middles[::-1]
        assert np.linalg.norm(point - own) < np.linalg.norm(point - foreign)


def test_a_chain_is_stretched_out_in_order() -> None:
    points = placed(6, [(place, place + 1, 0.5) for place in range(5)], BOX)
    steps = np.diff(points[:, 0])
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
