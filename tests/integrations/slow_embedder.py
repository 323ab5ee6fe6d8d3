"""An embedder that holds each call back until it is let go."""

import threading
from collections.abc import Sequence

from ricordo.providers.embedder import Vectors
from ricordo.testing import WordEmbedder

PATIENCE_SECONDS = 30.0


class HeldEmbedder(WordEmbedder):
    """``begun`` is set when a call is in it; it goes on when ``may_end`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.was_let_go = True

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        self.begun.set()
        self.was_let_go &= self.may_end.wait(PATIENCE_SECONDS)
        return super().embed(texts, deadline_seconds=deadline_seconds)
