"""Running the command line in this process, and reading how it ended."""

import contextlib
import functools
import io
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ricordo.cli.app import assemble
from ricordo.cli.main import main
from ricordo.operations.operation import USER_OPERATIONS
from tests.support.answers import check_answer, check_error, command_of

COMMAND = str(Path(sys.executable).with_name("ricordo"))
ABOUT_THE_STORE = (
    "users",
    "erase",
    "jobs",
    "keys",
    "backup",
    "migrate",
    "database",
    "doctor",
    "version",
    "bench",
    "reindex",
    "model",
    "worker",
    "celery",
    "completion",
    "serve",
    "agents",
)
"""Commands that belong to no user, and take none."""


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        assert (self.code, self.err) == (0, "")
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """Standard error as the one JSON object that it must be."""
        assert self.out == ""
        check_error(self.err)
        found: dict[str, str] = json.loads(self.err)
        return found


def assembled_once() -> Callable[..., Any]:
    """All commands, put together once for this process: it takes most of the time of a command."""
    return _assembled(len(USER_OPERATIONS))


@functools.cache
def _assembled(_operations: int) -> Callable[..., Any]:
    return typer.main.get_command(assemble())


def ricordo(*arguments: object, stdin: str | bytes = "") -> Ran:
    """Run a command in this process."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ricordo.cli.main.assemble", assembled_once)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
    for stream in (out, err):
        stream.flush()
    ran = Ran(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]
    _hold_against_the_schema([str(argument) for argument in arguments], ran)
    return ran


def _hold_against_the_schema(arguments: list[str], ran: Ran) -> None:
    """Whatever a test asks a command in JSON, the answer is one that is documented."""
    before_text = itertools.takewhile(lambda argument: argument != "--", arguments)
    command = command_of(arguments)
    is_export = command == "export"  # its lines have a format of their own
    if command is not None and ran.code == 0 and "--json" in before_text and not is_export:
        check_answer(command, ran.out)
