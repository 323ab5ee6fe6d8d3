"""Running the command line in this process, and reading how it ended."""

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ricordo.cli.main import main

COMMAND = str(Path(sys.executable).with_name("ricordo"))
ABOUT_THE_STORE = (
    "users",
    "erase",
    "jobs",
    "keys",
    "migrate",
    "database",
    "doctor",
    "version",
    "bench",
    "reindex",
    "model",
    "worker",
    "celery",
    "serve",
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
        found: dict[str, str] = json.loads(self.err)
        assert set(found) == {"error", "message"}
        return found


def ricordo(*arguments: object, stdin: str | bytes = "") -> Ran:
    """Run a command in this process."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
    for stream in (out, err):
        stream.flush()
    return Ran(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]
