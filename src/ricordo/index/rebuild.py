"""Rebuilds a user's vectors, and the terms of the whole store."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import Conflict, EmbeddingError, InvalidValue, StorageError, in_log
from ricordo.index.backfill import PROBE_TEXT, Tick, count_pending, silently
from ricordo.index.embedders import Embedders, model_of
from ricordo.model.activity import STORE_JOB_USER, NewJob
from ricordo.model.embedding import (
    ChoiceOrigin,
    EmbeddingBackfill,
    EmbeddingStatus,
    StoredChoice,
    VectorModel,
)
from ricordo.model.thread import Turn
from ricordo.model.vocabulary import JobState, VectorState
from ricordo.providers.embedding_choice import LOCAL, NONE, EmbeddingChoice, effective
from ricordo.providers.local_embedder import SHIPPED
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.items import find_items, searchable_item
from ricordo.storage.jobs import put_job
from ricordo.storage.search_rows import (
    EMBED_JOB,
    PAGE_ROWS,
    Searchable,
    change_terms,
    drop_choice,
    find_choice,
    index_position,
    put_entries,
    queue_embedding,
    store_choice,
)
from ricordo.storage.tables import (
    INDEXED,
    ITEMS,
    TURNS,
    Indexed,
    items,
    jobs,
    of_turn,
    store,
    turn_index,
    turn_pieces,
    turns,
)
from ricordo.storage.threads import reindex_turn
from ricordo.storage.users import list_users

# Only vectors of one model can be compared. So a change of the model resets every row of the user
# to pending in the same transaction; ``backfill.py`` computes them again.

STORE_DEFAULT: Final = "default"
"""The provider name of users without settings of their own."""

_TRY_SECONDS: Final = 5.0

# Each row records the analyser of its terms and the model of its vector, so that the work can be
# resumed. The store records the last ones, so that opening need not scan the rows.

REINDEX_JOB: Final = "reindex"
"""Kind of the job that rebuilds the terms of the whole store, and older vectors."""

_BATCH: Final = 500
_CHARS: Final = 1_000_000  # of a batch, about
_USERS: Final = 100
_NOTE: Final = "analyser"
_SHIPPED_NOTE: Final = "shipped model"
_SHIPPED_ONES: Final = "ricordo-"  # how the names of all of them begin

_keep_note: Final = sa.text(
    "INSERT INTO store (name, number, text) VALUES (:name, 0, :text)"
    " ON CONFLICT (name) DO UPDATE SET text = excluded.text"
)

Progress = Callable[[int, int], None]
"""Called with the done and the total count."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """A choice that is not stored yet. ``choice`` is None for the store's default."""

    choice: EmbeddingChoice | None
    provider: str
    model: VectorModel | None


def read_choice(
    provider: object, model: object, base_url: object, api_key: object, dimensions: object
) -> EmbeddingChoice | None:
    """Parse a user's choice; None for the store's default. Raises InvalidValue: names the field and
    says what is allowed."""
    given = {"model": model, "base_url": base_url, "api_key": api_key}
    for name, value in {"provider": provider, **given}.items():
        if not isinstance(value, str) and not (value is None and name in given):
            raise InvalidValue(name, f"expected text, not {type(value).__name__}")
    if provider == STORE_DEFAULT:
        for name, value in {**given, "dimensions": dimensions}.items():
            if value is not None:
                raise InvalidValue(name, f"is not used by {STORE_DEFAULT!r}; leave it out")
        return None
    wanted: Any = {**given, "dimensions": dimensions}
    return EmbeddingChoice.parse(str(provider), **wanted, from_user=True)


def candidate(embedders: Embedders, choice: EmbeddingChoice | None) -> ModelCandidate:
    """The embedder of a choice. Raises InvalidValue: it asks for vectors that the database cannot
    hold; EmbeddingError: a local model whose files are not there."""
    wanted = choice or effective(None, None, None)
    embedder = embedders.for_choice(wanted)
    if embedder is None:
        return ModelCandidate(choice, NONE, None)
    return ModelCandidate(choice, wanted.provider, model_of(embedder))


def try_out(embedders: Embedders, choice: EmbeddingChoice | None) -> str | None:
    """Test an endpoint with a short text: None when it works, else the problem. Raises
    TargetRefused: the address is one that a user's settings may not point to."""
    embedder = None if choice is None else embedders.for_choice(choice)
    if embedder is None or embedder.is_local:
        return None
    try:
        embedder.embed([PROBE_TEXT], deadline_seconds=_TRY_SECONDS)
    except EmbeddingError as problem:
        return " ".join(str(problem).split())
    return None


def origin_of(embedders: Embedders, connection: sa.Connection, user_id: str) -> ChoiceOrigin:
    if embedders.is_fixed:
        return ChoiceOrigin.OPERATOR
    own = find_choice(connection, user_id)
    return ChoiceOrigin.DEFAULT if own is None else ChoiceOrigin.USER


def count_missing(connection: sa.Connection, user_id: str, model: VectorModel | None) -> int:
    """The number of rows without a vector of this model; with None, of all rows."""
    return sum(
        connection.execute(
            sa.select(sa.func.count())
            .select_from(kind.index)
            .where(kind.index.c.user_id == user_id, sa.not_(_is_ready(kind, model)))
        ).scalar_one()
        for kind in INDEXED
    )


def reset_vectors(writing: WriteTransaction, model: VectorModel | None) -> int:
    """Reset every row without a vector of this model to pending; returns how many.

    Includes items of every status. With None, every row.
    """
    cleared = {
        "stamp": writing.next_stamp(),  # so that indexes in memory drop these vectors
        "state": VectorState.PENDING.value,
        "provider": None,
        "model": None,
        "dimensions": None,
        "error": None,
        "vector": None,
    }
    changed = 0
    for kind in INDEXED:
        where = sa.and_(
            kind.index.c.user_id == writing.user_id,
            kind.index.c.state != VectorState.PENDING.value,
            sa.not_(_is_ready(kind, model)),
        )
        changed += writing.connection.execute(
            sa.update(kind.index).where(where).values(**cleared)
        ).rowcount
    return changed


def change_choice(writing: WriteTransaction, to: ModelCandidate, sealed_key: str | None) -> int:
    """Store a user's choice and reset their vectors; returns how many."""
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
    if reset_vectors(writing, to.model):
        writing.note_rewrite()  # indexes are rebuilt: new vectors may be of another width
    if to.model is not None and missing:
        queue_embedding(writing)
    return missing


def rebuild_all(writing: WriteTransaction) -> int:
    """Reset all vectors under the present model; returns how many."""
    everything = count_missing(writing.connection, writing.user_id, None)
    if reset_vectors(writing, None):
        writing.note_rewrite()
    if everything:
        queue_embedding(writing)
    return everything


def backfill(writing: WriteTransaction, model: VectorModel) -> EmbeddingBackfill:
    """Request failed vectors and those of another model again."""
    changed = reset_vectors(writing, model)
    if changed > PAGE_ROWS:
        writing.note_rewrite()  # so many rows are read in pages, as by an index that is rebuilt
    pending = count_pending(writing.connection, writing.user_id)
    if pending:
        queue_embedding(writing)
    return EmbeddingBackfill(put_back=changed, pending=pending)


def read_status(embedders: Embedders, connection: sa.Connection, user_id: str) -> EmbeddingStatus:
    """The progress of a user's vectors. Unusable settings are reported, not raised."""
    chosen = embedders.chosen(connection, user_id)
    counted = _counted(embedders, connection, user_id, chosen.model)
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


def _is_ready(kind: Indexed, model: VectorModel | None) -> sa.ColumnElement[bool]:
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


def _counted(
    embedders: Embedders, connection: sa.Connection, user_id: str, model: VectorModel | None
) -> list[_Counts]:
    """Of all indexed rows; read again only where the index has changed."""
    position = index_position(connection, user_id)
    known = embedders.counted.get((user_id, position, model))
    if known is None:
        known = [_count(connection, kind, user_id, model) for kind in INDEXED]
        embedders.counted.put((user_id, position, model), known)
    return known


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


def note_versions(database: Database) -> bool:
    """On opening: queue a reindex if the analyser or the shipped model has made what is there in
    another version; whether it has.

    If the store cannot be written now, the next opening does it.
    """
    present = {_NOTE: database.analyser.fingerprint, _SHIPPED_NOTE: SHIPPED.identity()}
    noted = sa.select(store.c.name, store.c.text).where(store.c.name.in_(present))
    with database.read_all() as view:
        if {row.name: row.text for row in view.connection.execute(noted)} == present:
            return False
    try:
        return _queue_reindex(database, present)
    except StorageError as problem:  # searches work with the old terms
        _log.warning("terms and vectors stay as they are for now: %s", in_log(problem))
        return False


def bring_up_to_date(database: Database, progress: Progress = lambda _done, _total: None) -> int:
    """Rebuild missing and outdated terms now; returns how many."""
    total = outdated(database)
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        progress(done, max(done, total))

    progress(0, total)
    return reindex(database, tick)


def rebuild(database: Database) -> None:
    """Rebuild the text and vector indexes of the whole store, as after damage.

    One transaction: searches use the old ones meanwhile, writers wait.
    """
    with database.transaction() as connection:
        database.backend.search.rebuild(connection)


def run_reindex_job(
    database: Database, embedders: Embedders, payload: Mapping[str, Any], tick: Tick = silently
) -> None:
    """Run a reindex job: make the terms, and have the vectors made that are of another model.
    Raises Conflict: this process has another analyser; one with the right one has to do it."""
    wanted = payload.get(_NOTE, database.analyser.fingerprint)
    if wanted != database.analyser.fingerprint:
        raise Conflict(
            f"the terms are to be made by the analyser {wanted};"
            f" this process has {database.analyser.fingerprint}"
        )
    reindex(database, tick)
    for user_id in _users(database):
        _renew_vectors(database, embedders, user_id)


def outdated(database: Database) -> int:
    """The number of memories and turns with missing or outdated terms."""
    fingerprint = database.analyser.fingerprint
    with database.read_all() as view:
        return sum(
            view.connection.execute(_outdated(kind, fingerprint, sa.func.count())).scalar_one()
            for kind in INDEXED
        )


def reindex(database: Database, tick: Tick = silently) -> int:
    """Rebuild missing and outdated terms; returns how many."""
    done = 0
    for user_id in _users(database):
        for kind in INDEXED:
            while made := _reindex_batch(database, kind, user_id):
                done += made
                tick(made)
    return done


def _users(database: Database) -> Iterator[str]:
    users: Sequence[str] = [""]
    while users:
        with database.read_all() as view:
            users = list_users(view.connection, users[-1], _USERS)
        yield from users


@retried
def _renew_vectors(database: Database, embedders: Embedders, user_id: str) -> None:
    """Have a user's vectors made that are of another local model than the present one.

    Those of a remote one cost money: the user or the operator asks for them.
    """
    with database.read(user_id) as view:
        if _local_to_renew(embedders, view.connection, user_id) is None:
            return
    with database.write(user_id) as writing:
        model = _local_to_renew(embedders, writing.connection, user_id)
        if model is not None:
            backfill(writing, model)


def _local_to_renew(
    embedders: Embedders, connection: sa.Connection, user_id: str
) -> VectorModel | None:
    """A user's local model, if vectors of it are missing."""
    chosen = embedders.chosen(connection, user_id)
    is_local = chosen.embedder is not None and chosen.embedder.is_local
    if chosen.model is None or not is_local:
        return None
    return chosen.model if count_missing(connection, user_id, chosen.model) else None


@retried
def _queue_reindex(database: Database, present: Mapping[str, str]) -> bool:
    fingerprint = present[_NOTE]
    with database.transaction() as connection:
        needed = any(
            connection.execute(query.limit(1)).first()
            for kind in INDEXED
            for query in (
                _outdated(kind, fingerprint, kind.source.c.id),
                _of_older_shipped(kind, present[_SHIPPED_NOTE]),
            )
        )
        connection.execute(
            _keep_note, [{"name": name, "text": text} for name, text in present.items()]
        )
        if needed:
            now = database.clock()
            job = NewJob(
                kind=REINDEX_JOB,
                user_id=STORE_JOB_USER,
                run_at=now,
                unique_key="",
                payload={_NOTE: fingerprint},
            )
            put_job(database.backend, connection, job, now)
    if needed:
        database.on_job_queued()
    return needed


@retried
def _reindex_batch(database: Database, kind: Indexed, user_id: str) -> int:
    with database.write(user_id) as writing:
        source = kind.source.c
        indexed = kind.index.c.id.label("indexed")
        length = sa.func.length(source.content).label("length")
        wanted = (
            _outdated(kind, database.analyser.fingerprint, source.id, indexed, length)
            .where(source.user_id == user_id)
            .order_by(source.id)
            .limit(_BATCH)
        )
        found = writing.connection.execute(wanted).all()
        sums = accumulate(row.length for row in found)
        # At least one, however long it is.
        rows = [row for row, chars in zip(found, sums, strict=True) if chars - row.length < _CHARS]
        if kind is TURNS:
            for turn in _turns(writing, [row.id for row in rows]):
                reindex_turn(writing, turn)
        else:
            missing = [row.id for row in rows if row.indexed is None]
            put_entries(writing, kind, _searchables(writing, missing))
            present = [row.id for row in rows if row.indexed is not None]
            for one in _searchables(writing, present):
                change_terms(writing, kind, one)
        if rows:
            writing.keeps_user = True
            writing.note_rewrite()  # indexes in memory have the old terms
        return len(rows)


def _outdated(kind: Indexed, fingerprint: str, *columns: Any) -> sa.Select[Any]:
    """What is not indexed, or by another analyser; of turns also those with such a piece."""
    found = [kind.index.c.id.is_(None), kind.index.c.analyser != fingerprint]
    if kind is TURNS:
        index = turn_index.alias()
        same = sa.and_(
            index.c.user_id == turn_pieces.c.user_id,
            index.c.id == turn_pieces.c.id,
            index.c.analyser == fingerprint,
        )
        up_to_date = sa.exists().where(same).correlate(turn_pieces)
        found.append(sa.exists().where(of_turn(), ~up_to_date).correlate(turns))
    return (
        sa.select(*columns)
        .select_from(kind.source.outerjoin(kind.index, kind.same_row()))
        .where(sa.or_(*found))
    )


def _of_older_shipped(kind: Indexed, present: str) -> sa.Select[Any]:
    index = kind.index.c
    is_shipped = sa.and_(index.provider == LOCAL, index.model.startswith(_SHIPPED_ONES))
    return sa.select(index.id).where(is_shipped, index.model != present)


def _searchables(writing: WriteTransaction, ids: list[int]) -> list[Searchable]:
    own = sa.and_(items.c.user_id == writing.user_id, items.c.id.in_(ids))
    return [searchable_item(item) for item in find_items(writing.connection, own)]


def _turns(writing: WriteTransaction, ids: list[int]) -> list[Turn]:
    columns: list[Any] = [turns.c[field.name] for field in fields(Turn)]
    own = sa.and_(turns.c.user_id == writing.user_id, turns.c.id.in_(ids))
    said = writing.connection.execute(sa.select(*columns).where(own).order_by(turns.c.id))
    return [Turn.from_row(row) for row in said.mappings()]
