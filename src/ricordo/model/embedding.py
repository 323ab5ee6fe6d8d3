"""Vectors: the models that make them, and their progress."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from ricordo.frozen import dataclass, field
from ricordo.model.record import Record
from ricordo.model.vocabulary import VectorState


@dataclass(frozen=True, slots=True)
class VectorModel:
    """The model of a vector. Only vectors of the same model can be compared."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Vectors computed before a write, by text hash.

    Without a ``model`` there are no embeddings, and nothing to wait for.
    """

    model: VectorModel | None
    by_hash: Mapping[str, Any] = field(default_factory=dict)


class ChoiceOrigin(StrEnum):
    """Who chose a user's embedding model."""

    OPERATOR = "operator"
    USER = "user"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus(Record):
    """A user's embedding model, and its progress.

    Of a long turn each piece counts among the ``turns``. ``ready`` counts the vectors of the
    present model; ``pending`` those still to be made, including ``stale`` ones of another model;
    ``error`` those that failed for good. ``last_error`` is the last error message. ``problem`` says
    why no vectors can be made at all, e.g. a stored key that cannot be read any more.
    """

    provider: str
    model: str | None
    origin: ChoiceOrigin
    dimensions: int | None
    memories: int
    turns: int
    ready: int
    pending: int
    stale: int
    error: int
    last_error: str | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingState(Record):
    """The state of one memory's vector.

    A vector of another model than the present one is still ``ready`` here, under the model that
    made it; :class:`EmbeddingStatus` counts it among the ``stale``. Of a memory that another user
    shares, only the ``state`` is shown: the owner's model is private.
    """

    id: int
    state: VectorState
    provider: str | None
    model: str | None
    dimensions: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingChange(Record):
    """The effect of changing the provider, and whether it was applied.

    ``to_rebuild`` vectors must be computed again. ``applied`` is False until that is confirmed.
    ``problem`` is the new provider's error on a test call, if any.
    """

    provider: str
    model: str | None
    to_rebuild: int
    applied: bool
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingBackfill(Record):
    """The effect of requesting missing vectors.

    ``put_back`` had failed or are of another model, and wait again; ``pending`` is the total.
    """

    put_back: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChoice:
    """A user's own embedding settings as stored."""

    provider: str
    model: str | None
    base_url: str | None
    sealed_key: str | None = field(repr=False)
    dimensions: int | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class EmbeddingTest(Record):
    """What came of it. ``problem`` is None when all is well."""

    ok: bool
    provider: str
    model: str | None
    dimensions: int | None
    latency_ms: float | None
    problem: str | None
