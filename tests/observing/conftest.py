"""Fixtures of the tests about what a service tells of itself."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo.observability.logs import LogFormat, configure_logging


class Log:
    """What was written to a log."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


OpenLog = Callable[..., Log]


@pytest.fixture
def open_log() -> Iterator[OpenLog]:
    """Sends all logging of the test to a log; afterwards everything is as it was."""
    undo: list[Callable[[], None]] = []

    def open_one(log_format: LogFormat = "json", level: int = 10) -> Log:
        log = Log()
        undo.append(configure_logging(log_format, log.stream, level))
        return log

    yield open_one
    for put_back in reversed(undo):
        put_back()
