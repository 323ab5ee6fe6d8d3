"""The chat that a page shows, typed into a terminal."""

import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.testing.model_server import ModelServer
from tests.docs.markdown import DOCS, blocks
from tests.support.commandline import COMMAND

PAGE = DOCS / "howto" / "chat.md"
TURNS_BEFORE = re.compile(r"(\d+) turns before")


class Keyboard:
    """A command at a terminal, and somebody who types."""

    def __init__(self, *command: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self._running = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "200", **environment},
        )
        os.close(theirs)
        self._shown = ""

    def wait_for(self, text: str) -> None:
        while text not in self._shown:
            try:
                some = os.read(self._ours, 65_536)
            except OSError:  # how a terminal says that its other end was closed
                some = b""
            assert some, f"{text!r} never came:\n{self._shown}"
            self._shown += some.decode()
        self._shown = self._shown.split(text, 1)[1]

    def type(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())

    def close(self) -> int:
        """Leave by Ctrl-D; the exit code."""
        os.write(self._ours, b"\x04")
        code = self._running.wait(60)
        os.close(self._ours)
        return code


@pytest.mark.requirement("docs.blocks-run")
def test_the_chat_of_the_page(open_store: Callable[..., Memory], own_home: Path) -> None:
    (shown,) = [
        one.text for one in blocks(PAGE) if one.text.startswith("$ export RICORDO_MODEL_PROVIDER")
    ]
    exports, command, greeting, message, answer = shown.splitlines()
    settings = dict(one.split("=", 1) for one in exports.removeprefix("$ export ").split())
    before = TURNS_BEFORE.search(greeting)
    assert before is not None
    own_home.mkdir()
    store = open_store(str(own_home / "ricordo.db"))
    said = [("user", "assistant")[n % 2] for n in range(int(before[1]))]
    store.user("me").observe(
        [{"role": role, "content": f"Number {n}"} for n, role in enumerate(said)], thread="garden"
    )
    with ModelServer() as model:
        model.answer_with(lambda _: answer)
        assert "127.0.0.1:8080" in settings["RICORDO_MODEL_BASE_URL"]
        settings["RICORDO_MODEL_BASE_URL"] = model.base_url
        words = command.removeprefix("$ ricordo ").split()
        chat = Keyboard(COMMAND, *words, **settings, RICORDO_EMBEDDING_PROVIDER="none")
        chat.wait_for(greeting)
        chat.wait_for("> ")
        chat.type(message.removeprefix("> "))
        chat.wait_for(answer)
        chat.wait_for("> ")
        assert chat.close() == 0
