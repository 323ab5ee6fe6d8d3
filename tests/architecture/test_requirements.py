"""The specification held against the tests, both ways."""

import ast
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MANIFEST = tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))
POINTS = {point["id"]: point for point in MANIFEST["point"]}


def marked() -> dict[str, set[str]]:
    """Requirement ids in the marks of tests and of whole files, with where they stand."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for point in filter(None, map(_point, node.decorator_list)):
                    found.setdefault(point, set()).add(f"{path.name}::{node.name}")
        for point in _points_of_file(tree):
            found.setdefault(point, set()).add(path.name)
    return found


def _points_of_file(tree: ast.Module) -> list[str]:
    """The points that ``pytestmark`` names: one, or those of a list."""
    marks: list[ast.expr] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marks += node.value.elts if isinstance(node.value, ast.List) else [node.value]
    return [point for point in map(_point, marks) if point is not None]


def _point(mark: ast.expr) -> str | None:
    if not isinstance(mark, ast.Call) or ast.unparse(mark.func) != "pytest.mark.requirement":
        return None
    (point,) = mark.args
    assert isinstance(point, ast.Constant)
    assert isinstance(point.value, str)
    return point.value


def test_every_point_is_held_by_a_test() -> None:
    assert {name for name, point in POINTS.items() if "planned" not in point} - set(
        marked()
    ) == set()


def test_every_mark_names_a_point() -> None:
    assert set(marked()) - set(POINTS) == set()


def test_what_is_planned_is_not_claimed() -> None:
    planned = {name for name, point in POINTS.items() if "planned" in point}
    assert planned & set(marked()) == set()


@pytest.mark.parametrize("name", sorted(POINTS))
def test_a_point_is_a_whole_sentence(name: str) -> None:
    point = POINTS[name]
    assert set(point) <= {"id", "section", "says", "planned"}
    assert 1 <= point["section"] <= 15
    assert point["says"].endswith(".")
    assert len(MANIFEST["point"]) == len(POINTS)
