"""Vectors as the rest of the program speaks of them: what made them, and how many there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ricordo.model.record import Record
from ricordo.model.vocabulary import VectorState


@dataclass(frozen=True, slots=True)
class VectorModel:
    """What made a vector. Only vectors of the same model can be compared."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Vectors computed before a write, by the hash of their text.

    Without a ``model`` nothing makes vectors here, so there is nothing to wait for.
    """

    model: VectorModel | None
    by_hash: Mapping[str, Any] = field(default_factory=dict)


class ChoiceOrigin(StrEnum):
    """Who decided where a user's vectors are made."""

    OPERATOR = "operator"
    USER = "user"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus(Record):
    """Where a user's vectors are made, and how far that has come.

    ``ready`` counts the vectors of the present model; ``pending`` those still to be made, among
    them ``stale`` ones of another model; ``error`` those that were given up. ``last_error`` is the
    last message of those, or of the job that will try again. ``problem`` says why no vectors can be
    made at all, e.g. a stored key that cannot be read any more.
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
    """How far the vector of one memory has come, as it is stored.

    A vector of another model than the present one is still ``ready`` here, under the model that
    made it; :class:`EmbeddingStatus` counts it among the ``stale``. Of a memory that another user
    shares, only the ``state`` is told: where its owner has vectors made is the owner's.
    """

    id: int
    state: VectorState
    provider: str | None
    model: str | None
    dimensions: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingChange(Record):
    """What a change of the provider means, and whether it was made.

    ``to_rebuild`` vectors have to be made anew. ``applied`` is False as long as that was not
    confirmed. ``problem`` is what the new provider says to a try, None when it answers well.
    """

    provider: str
    model: str | None
    to_rebuild: int
    applied: bool
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingBackfill(Record):
    """What asking again for missing vectors has done.

    ``put_back`` were given up or are of another model, and wait again; ``pending`` wait in all.
    """

    put_back: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChoice:
    """A user's own settings as they lie in the database."""

    provider: str
    model: str | None
    base_url: str | None
    sealed_key: str | None = field(repr=False)
    dimensions: int | None
    updated_at: datetime
