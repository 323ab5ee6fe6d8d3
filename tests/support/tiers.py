"""Two tiers: what `make test` runs, and what only `make test-all` runs besides.

A test is in the long tier when it carries one of these marks, else in the fast one. Which test is
too long for the fast tier is measured (scripts/census.py), not felt.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

LONG = {
    "slow": "takes more of a processor than a test of the fast tier may",
    "browser": "drives Chromium",
    "chaos": "kills processes, stops servers, or needs RabbitMQ",
    "fuzz": "makes up hostile input",
    "matrix": "one more combination of what the fast tier asks once: a database, a surface, a row",
}
FAST = "not (" + " or ".join(LONG) + ")"
FAST_LIMIT_SECONDS = 1.0
"""Processor time above which a test is made cheaper, or marked slow."""

SLOW_FROM_SECONDS = 0.5
"""Processor time below which a test is not slow; between the two it may be either."""

SMOKE = "the one test of a slow kind that the fast tier has: dearer than its others"

DATABASE_MATTERS = frozenset(
    {"agent_state", "congruence", "contract", "isolation", "migration", "workers"}
)
"""Folders whose tests are in the fast tier on both databases; elsewhere PostgreSQL is `matrix`."""

_EXAMPLES = {"fast": 15, "all": 100}


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption(
        "--tier", choices=sorted(_EXAMPLES), default="all", help="fast: without " + ", ".join(LONG)
    )
    group.addoption("--census", metavar="FILE", help="append the processor time of every test")


def configure(config: pytest.Config) -> None:
    for name, meaning in LONG.items():
        config.addinivalue_line("markers", f"{name}: long tier: {meaning}")
    config.addinivalue_line("markers", f"smoke: {SMOKE}")
    tier = config.getoption("--tier")
    hypothesis.settings.register_profile(
        tier,
        max_examples=_EXAMPLES[tier],
        derandomize=True,  # what passes once passes again; `make fuzz` makes up new examples
        database=None,
        # How long an example takes says something of the machine and of who else uses it.
        deadline=None,
        suppress_health_check=[
            hypothesis.HealthCheck.function_scoped_fixture,
            hypothesis.HealthCheck.too_slow,
        ],
    )
    hypothesis.settings.load_profile(tier)
    if tier == "fast":
        config.option.markexpr = " and ".join(filter(None, [FAST, config.option.markexpr]))
    if config.getoption("--census"):
        config.pluginmanager.register(Census(Path(config.getoption("--census")).absolute()))


def mark_other_databases(items: list[pytest.Item]) -> None:
    """What does not depend on the database is asked on one in the fast tier."""
    for item in items:
        call = getattr(item, "callspec", None)
        on_postgres = call is not None and call.params.get("backend_url") == "postgresql"
        folder = item.path.relative_to(item.config.rootpath).parts[1]
        matters = folder in DATABASE_MATTERS or item.get_closest_marker("both_databases")
        if on_postgres and not matters:
            item.add_marker("matrix")


class Census:
    """Notes what each test costs: its process, and the processes that it started and waited for.

    What the database server does for it is not in it. What fixtures of a whole module or session
    cost, which the first test waits for and the last one ends, is noted apart.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shared = 0.0
        self._depth = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._shared = 0.0
        processor, wall = _processor_seconds(), time.monotonic()
        try:
            return (yield)
        finally:
            noted = {
                "test": item.nodeid,
                "cpu": round(_processor_seconds() - processor - self._shared, 4),
                "shared": round(self._shared, 4),
                "wall": round(time.monotonic() - wall, 4),
                "long": [name for name in LONG if item.get_closest_marker(name)],
                "smoke": item.get_closest_marker("smoke") is not None,
                "holds": [mark.args[0] for mark in item.iter_markers("requirement")],
            }
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(noted) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        if fixturedef.scope == "function" or self._depth:
            return (yield)
        with self._apart():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        with self._apart():
            return (yield)

    @contextlib.contextmanager
    def _apart(self) -> Iterator[None]:
        self._depth += 1
        processor = _processor_seconds()
        try:
            yield
        finally:
            self._depth -= 1
            self._shared += _processor_seconds() - processor


def _processor_seconds() -> float:
    return sum(os.times()[:4])
