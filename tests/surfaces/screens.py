"""A command in this process with its streams on a terminal."""

import io
import sys

import pytest

from ricordo.cli.main import main
from tests.support.commandline import assembled_once


class Screen(io.TextIOWrapper):
    """A stream of a terminal: what is typed on it, or what is shown."""

    def __init__(self, typed: str = "") -> None:
        super().__init__(io.BytesIO(typed.encode()), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    @property
    def said(self) -> str:
        self.flush()
        shown: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return shown.decode()


def on_screen(*arguments: object, typed: str = "", **environment: str) -> tuple[int, str]:
    """Run a command for a person who types this when asked; its code, and what they see."""
    screen = Screen()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", **environment}.items():
            patch.setenv(name, value)
        patch.setattr("ricordo.cli.main.assemble", assembled_once)
        patch.setattr(sys, "stdin", Screen(typed))
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        code = main([str(argument) for argument in arguments])
    return code, screen.said
