"""What a search finds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from ricordo.model.record import Record
from ricordo.model.vocabulary import MemoryType, Status


@dataclass(frozen=True, slots=True)
class Signals(Record):
    """What each way of searching says of a hit, 0 to 1 among all that was found; None: nothing."""

    fts: float | None
    semantic: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Record):
    """One result. ``confidence`` says how likely it is an answer at all, 0 to 1.

    ``explanation`` has every part of the score where it was asked for.
    """

    id: int
    content_snippet: str
    score: float
    confidence: float
    signals: Signals
    explanation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit(Hit):
    """A memory that was found. ``owner_id`` is whose it is, None for the user's own."""

    theme: str
    type: MemoryType
    status: Status
    created_at: datetime
    owner_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit(Hit):
    """Something said that was found."""

    thread_id: str
    message_id: str | None
    actor: str | None
    role: str
    at: datetime


Found = TypeVar("Found", bound=Hit)


@dataclass(frozen=True, slots=True)
class SearchResults(Record, Generic[Found]):
    """The hits, the best first.

    ``confidence`` is that of the best one, None where nothing was found. ``degraded`` says in one
    line why the search went by words alone, None where it did not. ``timings`` are milliseconds:
    ``embed_ms`` for the vector of the question, ``search_ms`` for all the rest.
    """

    results: tuple[Found, ...]
    confidence: float | None = None
    degraded: str | None = None
    timings: Mapping[str, float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Found]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> Found:
        return self.results[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related(Record):
    """A memory that is about the same as another one."""

    id: int
    theme: str
    type: MemoryType
    content: str
    similarity: float
