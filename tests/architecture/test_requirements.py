"""The specification held against the tests, both ways."""

import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).parents[1]
MANIFEST = tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))
MARK = re.compile(r"pytest\.mark\.requirement\(\s*\"([^\"]+)\"")
POINTS = {point["id"]: point for point in MANIFEST["point"]}


def marked() -> set[str]:
    """Requirement ids in the marks of tests and of whole files."""
    return {
        point
        for path in TESTS.rglob("test_*.py")
        for point in MARK.findall(path.read_text(encoding="utf-8"))
    }


def test_points_and_marks_name_each_other() -> None:
    planned = {name for name, point in POINTS.items() if "planned" in point}
    claimed = marked()
    assert set(POINTS) - planned - claimed == set()
    assert claimed - set(POINTS) == set()
    assert planned & claimed == set()


def test_a_point_is_a_whole_sentence() -> None:
    assert len(MANIFEST["point"]) == len(POINTS)
    for name, point in POINTS.items():
        assert set(point) <= {"id", "section", "says", "planned"}, name
        assert 1 <= point["section"] <= 15, name
        assert point["says"].endswith("."), name
