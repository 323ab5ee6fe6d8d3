"""What a system must do to be measured, and what it is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Document:
    """A turn as peers get it. ``id`` is what a search must return."""

    id: str
    text: str


class Peer(Protocol):
    """A system that is filled once and then asked. Users are kept apart."""

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        """Store a user's documents, each with its vector."""

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        """The ids of a user's best documents, best first. The query's vector is handed over."""

    def close(self) -> None:
        """Give back files and threads."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a peer is called, which package it is, and how it is started in an empty folder.

    ``start`` raises ModuleNotFoundError where the package is not installed.
    """

    name: str
    package: str
    start: Callable[[Path, int], Peer]
