"""An embeddings endpoint for tests: real HTTP, vectors without a model, and faults on demand."""

import functools
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

from ricordo.testing.serving import (
    HTML_PAGE,
    LoopbackServer,
    Response,
    json_response,
    not_found,
)


@dataclass
class _Script:
    """What to do with requests for embeddings, instead of what is right."""

    mode: str = "right"
    width: int | None = None


class EmbeddingServer(LoopbackServer):
    """Speaks ``/v1/embeddings`` and ``/v1/models`` on a free port of 127.0.0.1.

    Use it as a context manager. The same text always gets the same vector, and texts that share
    words or parts of words get similar ones.
    """

    def __init__(
        self, *, width: int = 64, model: str = "test-model", required_key: str | None = None
    ) -> None:
        super().__init__(model=model, required_key=required_key)
        self.width = width
        self.looks_like_llamacpp = False
        self._script = _Script()

    @property
    def embedded(self) -> list[list[str]]:
        """The texts of each request for embeddings."""
        return [
            request.body["input"]
            for request in self.requests
            if request.path == "/v1/embeddings" and isinstance(request.body, dict)
        ]

    def vector(self, text: str) -> list[float]:
        """The vector that this text gets."""
        return hashed_vector(text, self.width)

    def answer_html(self) -> None:
        """Answer with a web page and status 200."""
        self._script.mode = "html"

    def answer_nan(self) -> None:
        """Answer with vectors that have a NaN in them."""
        self._script.mode = "nan"

    def answer_zeros(self) -> None:
        """Answer with vectors of zeros."""
        self._script.mode = "zeros"

    def answer_short(self) -> None:
        """Answer with one vector too few."""
        self._script.mode = "short"

    def answer_ragged(self) -> None:
        """Answer with a last vector that is one number longer."""
        self._script.mode = "ragged"

    def answer_reversed(self) -> None:
        """Answer with the vectors in the wrong order, each with its right ``index``."""
        self._script.mode = "reversed"

    def answer_broken(self) -> None:
        """Close the connection in the middle of the answer."""
        self._script.mode = "broken"

    def answer_width(self, width: int) -> None:
        """Answer with vectors of another width."""
        self._script.width = width

    def answer_rightly(self) -> None:
        """Forget all scripted faults."""
        self.forget_faults()
        self._script = _Script()

    def _got(self, path: str) -> Response:
        """Models, and what llama.cpp says about itself."""
        if path == "/props" and self.looks_like_llamacpp:
            return json_response(200, {"total_slots": 1, "model_path": self.model})
        return super()._got(path)

    def _posted(self, path: str, body: Any) -> Response:
        """Embeddings."""
        if path != "/v1/embeddings":
            return not_found()
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        content = self._answer(texts, body.get("dimensions"))
        return Response(200, content, {}, is_broken=self._script.mode == "broken")

    def _answer(self, texts: list[str], dimensions: int | None) -> bytes:
        script = self._script
        width = script.width or dimensions or self.width
        entries = [
            {"object": "embedding", "index": place, "embedding": hashed_vector(text, width)}
            for place, text in enumerate(texts)
        ]
        match script.mode:
            case "html":
                return HTML_PAGE
            case "nan":
                entries[-1]["embedding"] = [math.nan] * width
            case "zeros":
                entries[-1]["embedding"] = [0.0] * width
            case "short":
                entries.pop()
            case "ragged":
                entries[-1]["embedding"] = [1.0] * (width + 1)
            case "reversed":
                entries.reverse()
        return json.dumps({"object": "list", "data": entries, "model": self.model}).encode()


def hashed_vector(text: str, width: int) -> list[float]:
    """A vector of length one: a sum of fixed directions, one for each trigram of each word."""
    total = [0.0] * width
    for word in text.lower().split() or [""]:
        padded = f" {word} "
        for start in range(max(1, len(padded) - 2)):
            for place, number in enumerate(_direction(padded[start : start + 3], width)):
                total[place] += number
    length = math.sqrt(sum(number * number for number in total))
    return [number / length for number in total]


@functools.lru_cache(maxsize=4_096)
def _direction(part: str, width: int) -> list[float]:
    """Numbers from -1 to 1 that depend on the part only."""
    numbers = hashlib.shake_128(part.encode("utf-8", "replace")).digest(2 * width)
    return [
        int.from_bytes(numbers[at : at + 2], "big") / 32_767.5 - 1.0
        for at in range(0, 2 * width, 2)
    ]
