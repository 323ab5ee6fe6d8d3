"""What a system must do to be measured, and what it is given.

Nothing here needs ricordo: a peer runs in an environment of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Document:
    """A turn as peers get it. ``id`` is what a search must return; ``at`` is for those that want
    to know when it was said, which for all of them is in the text."""

    id: str
    text: str
    at: datetime | None = None


class Peer(Protocol):
    """A system that is filled once and then asked. Users are kept apart."""

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        """Store a user's documents, each with its vector."""

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        """The ids of a user's best documents, best first. The query's vector is handed over."""

    def close(self) -> None:
        """Give back files and threads."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model and the vectors are, in OpenAI's protocol, and how wide these are."""

    base_url: str
    model: str
    api_key: str
    width: int


class Former(Protocol):
    """A system that takes from conversations what is worth keeping. Users are kept apart."""

    def form(self, user: str, messages: Sequence[Mapping[str, str]]) -> None:
        """Read a conversation, each message with ``role`` and ``content``."""

    def stored(self, user: str) -> list[str]:
        """What is kept of it."""

    def close(self) -> None:
        """Give back files and threads."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a peer is called, which package it is, and how it is started in an empty folder.

    ``start`` and ``former`` raise ModuleNotFoundError where the package is not installed; None: its
    formation is not measured. ``environment`` is that in which it is installed where each has its
    own; ``switched_off`` says what of it does not take part, and why.
    """

    name: str
    package: str
    start: Callable[[Path, int], Peer]
    environment: str = "stores"
    on_disk: bool = True
    switched_off: str = ""
    former: Callable[[Path, Endpoint], Former] | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """A system that is not measured, and why."""

    name: str
    reason: str
