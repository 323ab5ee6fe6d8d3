"""What stands in for the endpoints that a page names, so that its examples can be run anywhere."""

import contextlib
import re
from importlib import resources
from pathlib import Path
from typing import Any, Self

from ricordo.testing.anthropic_server import AnthropicServer
from ricordo.testing.model_server import ModelServer

ANSWER = "Green tea, as always."
_OPENAI = re.compile(r"https://api\.openai\.com/v1|http://127\.0\.0\.1:(?:8080|11434)/v1")
_ANTHROPIC = re.compile(r"https://api\.anthropic\.com")


def _answered(body: dict[str, Any]) -> dict[str, Any] | str:
    """What is said to anybody; whoever asks for something structured gets what a test asks for."""
    return {"hour": 9, "destination": "the coast"} if "response_format" in body else ANSWER


def put_a_tokenizer(folder: Path) -> None:
    """The file of a model that a page counts tokens with."""
    shipped = resources.files("ricordo.embedding").joinpath("ricordo_minilm", "tokenizer.json")
    (folder / "tokenizer.json").write_bytes(shipped.read_bytes())


class StandIns(contextlib.ExitStack):
    """Scripted endpoints on loopback, each started when a page first names what it stands for."""

    def __init__(self) -> None:
        super().__init__()
        self._addresses: dict[str, str] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def in_place(self, command: str) -> str:
        """The command, with addresses that answer."""
        command = _OPENAI.sub(lambda _: self._openai(), command)
        return _ANTHROPIC.sub(lambda _: self._anthropic(), command)

    def _openai(self) -> str:
        if "openai" not in self._addresses:
            server = self.enter_context(ModelServer())
            server.answer_with(_answered)
            self._addresses["openai"] = server.base_url
        return self._addresses["openai"]

    def _anthropic(self) -> str:
        if "anthropic" not in self._addresses:
            server = self.enter_context(AnthropicServer())
            server.answer_with(_answered)
            self._addresses["anthropic"] = server.root
        return self._addresses["anthropic"]
