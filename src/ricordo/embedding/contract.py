"""What every embedder does."""

from collections.abc import Sequence
from typing import Protocol

import numpy
import numpy.typing

Vectors = numpy.typing.NDArray[numpy.float32]
"""One row per text, each of length one."""


class Embedder(Protocol):
    """Turns texts into vectors that can be compared by their inner product."""

    @property
    def provider(self) -> str:
        """Where the vectors come from: ``local``, ``openai`` …"""
        ...

    @property
    def model(self) -> str:
        """With the provider: the name under which vectors can be compared with each other."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether vectors are computed in this process, so that a write can wait for them."""
        ...

    @property
    def width(self) -> int | None:
        """How many numbers a vector has; None while nobody knows."""
        ...

    def embed(self, texts: Sequence[str], *, deadline_seconds: float | None = None) -> Vectors:
        """One finite row of length one per text, in the order of the texts.

        Raises:
            EmbedderUnavailable: not now, or not before the deadline; try again later.
            EmbedderRefused: the endpoint said no, or the model is not there.
            BadEmbedding: the answer is not one usable vector per text.
            TargetRefused: a user's settings point to an address that they may not use.
        """
        ...

    def close(self) -> None:
        """Let go of connections; using it again opens new ones."""
        ...
