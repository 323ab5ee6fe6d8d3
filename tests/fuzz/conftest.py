"""Counts the examples that fuzzing has looked at, and ends it in time."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from tests.fuzz.running import EXAMPLES_VARIABLE, UNTIL_VARIABLE

_LOOKED_AT = re.compile(r"(\d+) (passing|failing|invalid)\b")
_counted: Counter[str] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("fuzz")


def pytest_runtest_setup(item: pytest.Item) -> None:
    until = os.environ.get(UNTIL_VARIABLE)
    if until is not None and time.time() > float(until):
        pytest.skip("the time for fuzzing is over")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    said = getattr(item, "hypothesis_statistics", "")
    for count, kind in _LOOKED_AT.findall(said):
        _counted[kind] += int(count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get(EXAMPLES_VARIABLE) and _counted:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(_counted.items()))
        terminalreporter.write_line(f"fuzzing: {told} examples")


@pytest.fixture
def store(open_store: Callable[..., Memory], backend_url: str) -> Memory:
    """A store on each database, for all examples of a test: opening one takes its time."""
    return open_store(backend_url)


@pytest.fixture
def file_store(
    open_store: Callable[..., Memory], sqlite_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Memory:
    """The same in a file alone, with a folder for the files of users."""
    return open_store(sqlite_url, files=tmp_path_factory.mktemp("files"))
