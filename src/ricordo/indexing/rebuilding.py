"""A user's vectors as a whole: how far they have come, and starting them over.

A vector is of use only beside others of the same model. So when the model changes, every row of
the user goes back to waiting in the transaction that stores the change, whatever its status; what
fills them again is in ``filling.py``.
"""

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import EmbeddingError, InvalidValue
from ricordo.indexing.embedders import Embedders, model_of
from ricordo.indexing.waiting import count_waiting
from ricordo.model.embedding import (
    ChoiceOrigin,
    EmbeddingBackfill,
    EmbeddingStatus,
    StoredChoice,
    VectorModel,
)
from ricordo.model.vocabulary import JobState, VectorState
from ricordo.providers.embedding_choice import NONE, EmbeddingChoice, effective
from ricordo.storage.backend import INDEXED, ITEMS, Indexed
from ricordo.storage.search_rows import EMBED_JOB, PAGE_ROWS, ask_for_vectors
from ricordo.storage.tables import jobs
from ricordo.storage.transaction import Writing
from ricordo.storage.users import drop_choice, find_choice, store_choice

STORES_WAY: Final = "default"
"""The provider that stands for having no settings of one's own."""

_TRY_SECONDS: Final = 5.0
_TRIED: Final = "Prefers tea over coffee."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A choice that is not stored yet. ``choice`` is None for going back to the store's way."""

    choice: EmbeddingChoice | None
    provider: str
    model: VectorModel | None


def read_choice(
    provider: object, model: object, base_url: object, api_key: object, dimensions: object
) -> EmbeddingChoice | None:
    """What a user asks for; None for the store's way.

    Raises:
        InvalidValue: names the field and says what is allowed.
    """
    given = {"model": model, "base_url": base_url, "api_key": api_key}
    for name, value in {"provider": provider, **given}.items():
        if not isinstance(value, str) and not (value is None and name in given):
            raise InvalidValue(name, f"expected text, not {type(value).__name__}")
    if provider == STORES_WAY:
        for name, value in {**given, "dimensions": dimensions}.items():
            if value is not None:
                raise InvalidValue(name, f"is not used by {STORES_WAY!r}; leave it out")
        return None
    wanted: Any = {**given, "dimensions": dimensions}
    return EmbeddingChoice.parse(str(provider), **wanted, from_user=True)


def candidate(embedders: Embedders, choice: EmbeddingChoice | None) -> Candidate:
    """What would make the vectors under a choice.

    Raises:
        InvalidValue: it asks for vectors that the database cannot hold.
        EmbeddingError: a local model whose files are not there.
    """
    wanted = choice or effective(None, None, None)
    embedder = embedders.for_choice(wanted)
    if embedder is None:
        return Candidate(choice, NONE, None)
    return Candidate(choice, wanted.provider, model_of(embedder))


def try_out(embedders: Embedders, choice: EmbeddingChoice | None) -> str | None:
    """What an endpoint answers to a short text: None when all is well, else the problem.

    Raises:
        TargetRefused: the address is one that a user's settings may not point to.
    """
    embedder = None if choice is None else embedders.for_choice(choice)
    if embedder is None or embedder.is_local:
        return None
    try:
        embedder.embed([_TRIED], deadline_seconds=_TRY_SECONDS)
    except EmbeddingError as problem:
        return " ".join(str(problem).split())
    return None


def origin_of(embedders: Embedders, connection: sa.Connection, user_id: str) -> ChoiceOrigin:
    """Who has the say over this user's vectors."""
    if embedders.is_fixed:
        return ChoiceOrigin.OPERATOR
    own = find_choice(connection, user_id)
    return ChoiceOrigin.DEFAULT if own is None else ChoiceOrigin.USER


def count_missing(connection: sa.Connection, user_id: str, model: VectorModel | None) -> int:
    """How many rows have no vector of this model; with None, how many rows there are."""
    return sum(
        connection.execute(
            sa.select(sa.func.count())
            .select_from(kind.index)
            .where(kind.index.c.user_id == user_id, sa.not_(_is_made(kind, model)))
        ).scalar_one()
        for kind in INDEXED
    )


def put_back(writing: Writing, model: VectorModel | None) -> int:
    """Let every row wait again that has no vector of this model; how many did not wait already.

    Items of every status are among them. With None, it is every row.
    """
    cleared = {
        "stamp": writing.next_stamp(),  # copies in memory take in that these have no vector
        "state": VectorState.PENDING.value,
        "provider": None,
        "model": None,
        "dimensions": None,
        "error": None,
        "vector": None,
    }
    changed = 0
    for kind in INDEXED:
        waiting = kind.index.c.state == VectorState.PENDING.value
        where = sa.and_(
            kind.index.c.user_id == writing.user_id,
            sa.not_(waiting),
            sa.not_(_is_made(kind, model)),
        )
        changed += writing.connection.execute(
            sa.update(kind.index).where(where).values(**cleared)
        ).rowcount
    return changed


def change_choice(writing: Writing, to: Candidate, sealed_key: str | None) -> int:
    """Store a user's choice and start their vectors over; how many have to be made."""
    if to.choice is None:
        drop_choice(writing)
    else:
        store_choice(
            writing,
            StoredChoice(
                provider=to.choice.provider,
                model=to.choice.model,
                base_url=to.choice.base_url,
                sealed_key=sealed_key,
                dimensions=to.choice.dimensions,
                updated_at=writing.now,
            ),
        )
    missing = count_missing(writing.connection, writing.user_id, to.model)
    if put_back(writing, to.model):
        writing.note_rewrite()  # copies in memory start over: new vectors may be of another width
    if to.model is not None and missing:
        ask_for_vectors(writing)
    return missing


def rebuild_all(writing: Writing) -> int:
    """Start all vectors over under the present model; how many there are."""
    everything = count_missing(writing.connection, writing.user_id, None)
    if put_back(writing, None):
        writing.note_rewrite()
    if everything:
        ask_for_vectors(writing)
    return everything


def backfill(writing: Writing, model: VectorModel) -> EmbeddingBackfill:
    """Ask again for what was given up or is of another model."""
    changed = put_back(writing, model)
    if changed > PAGE_ROWS:
        writing.note_rewrite()  # so many are read page by page, as by a copy that starts over
    waiting = count_waiting(writing.connection, writing.user_id)
    if waiting:
        ask_for_vectors(writing)
    return EmbeddingBackfill(put_back=changed, pending=waiting)


def read_status(embedders: Embedders, connection: sa.Connection, user_id: str) -> EmbeddingStatus:
    """How far a user's vectors have come. Settings that cannot be used are no error."""
    chosen = embedders.chosen(connection, user_id)
    counted = [_count(connection, kind, user_id, chosen.model) for kind in INDEXED]
    stale = sum(one.stale for one in counted)
    width = None if chosen.embedder is None else chosen.embedder.width
    error = next((one.last_error for one in counted if one.last_error), None)
    return EmbeddingStatus(
        provider=_provider(embedders, connection, user_id, chosen.model),
        model=None if chosen.model is None else chosen.model.model,
        origin=origin_of(embedders, connection, user_id),
        dimensions=width or max((one.dimensions for one in counted), default=0) or None,
        memories=sum(one.rows for one in counted if one.kind is ITEMS),
        turns=sum(one.rows for one in counted if one.kind is not ITEMS),
        ready=sum(one.ready for one in counted),
        pending=sum(one.pending for one in counted) + stale,
        stale=stale,
        error=sum(one.error for one in counted),
        last_error=error or _last_attempt(connection, user_id),
        problem=chosen.problem,
    )


def _is_made(kind: Indexed, model: VectorModel | None) -> sa.ColumnElement[bool]:
    """True of a row with a vector of this model; of no model, no row has one."""
    if model is None:
        return sa.false()
    return sa.and_(
        kind.index.c.state == VectorState.READY.value,
        kind.index.c.provider == model.provider,
        kind.index.c.model == model.model,
    )


@dataclass(slots=True)
class _Counts:
    kind: Indexed
    rows: int = 0
    ready: int = 0
    pending: int = 0
    stale: int = 0
    error: int = 0
    dimensions: int = 0
    last_error: str | None = None


def _count(
    connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None
) -> _Counts:
    index = kind.index.c
    grouped = (
        sa.select(
            index.state, index.provider, index.model, sa.func.count(), sa.func.max(index.dimensions)
        )
        .where(index.user_id == user_id)
        .group_by(index.state, index.provider, index.model)
    )
    counts = _Counts(kind)
    for state, provider, name, rows, width in connection.execute(grouped):
        counts.rows += rows
        if state == VectorState.PENDING.value:
            counts.pending += rows
        elif state == VectorState.ERROR.value:
            counts.error += rows
        elif model is not None and (provider, name) == (model.provider, model.model):
            counts.ready += rows
            counts.dimensions = width
        else:
            counts.stale += rows
    if counts.error:
        failed = sa.and_(index.user_id == user_id, index.state == VectorState.ERROR.value)
        newest = sa.select(index.error).where(failed).order_by(index.id.desc()).limit(1)
        counts.last_error = connection.execute(newest).scalar()
    return counts


def _provider(
    embedders: Embedders, connection: sa.Connection, user_id: str, model: VectorModel | None
) -> str:
    if model is not None:
        return model.provider
    own = None if embedders.operator is not None else find_choice(connection, user_id)
    if own is not None:  # as it is stored, although it may be unusable
        return own.provider
    return NONE if embedders.operator is None else embedders.operator.provider


def _last_attempt(connection: sa.Connection, user_id: str) -> str | None:
    """What went wrong when the vectors that wait were last tried."""
    tried = (
        sa.select(jobs.c.last_error)
        .where(
            jobs.c.kind == EMBED_JOB,
            jobs.c.user_id == user_id,
            jobs.c.state == JobState.QUEUED.value,
            jobs.c.last_error.is_not(None),
        )
        .limit(1)
    )
    found: str | None = connection.execute(tried).scalar()
    return found
