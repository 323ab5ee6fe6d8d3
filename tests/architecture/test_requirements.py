"""The specification held against the tests, both ways."""

import ast
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MANIFEST = tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))
POINTS = {point["id"]: point for point in MANIFEST["point"]}


def marked() -> dict[str, set[str]]:
    """Requirement ids in the marks of tests, with the tests that carry them."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if (
                    isinstance(mark, ast.Call)
                    and ast.unparse(mark.func) == "pytest.mark.requirement"
                ):
                    (point,) = mark.args
                    assert isinstance(point, ast.Constant)
                    found.setdefault(point.value, set()).add(f"{path.name}::{node.name}")
    return found


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
