"""Making the terms anew: for a store from before there was search, or after the analyser changed.

Each row says which analyser made its terms, so that the work can stop anywhere and go on later. The
store remembers the analyser that it was last opened with: opening it need not look at the rows.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import Conflict, StorageError, in_log
from ricordo.model.job import STORE_JOB_USER, NewJob
from ricordo.model.thread import Turn, text_of_turn
from ricordo.storage.backend import INDEXED, ITEMS, Indexed
from ricordo.storage.database import Database, retried
from ricordo.storage.items import find_items, searchable_item
from ricordo.storage.jobs import put_job
from ricordo.storage.search_rows import Searchable, change_terms, put_entries
from ricordo.storage.tables import items, store, turns
from ricordo.storage.transaction import Writing
from ricordo.storage.users import list_users

REINDEX_JOB: Final = "reindex"
"""Kind of the job that brings the whole store's terms up to the present analyser."""

_BATCH: Final = 500
_USERS: Final = 100
_NOTE: Final = "analyser"

_keep_note: Final = sa.text(
    "INSERT INTO store (name, number, text) VALUES (:name, 0, :text)"
    " ON CONFLICT (name) DO UPDATE SET text = excluded.text"
)

Tick = Callable[[int], None]
Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do."""

_log = logging.getLogger(__name__)


def _silently(_done: int) -> None:
    pass


def _unseen(_done: int, _total: int) -> None:
    pass


def note_analyser(database: Database) -> bool:
    """Queue the making of new terms when the analyser is not the one of before; whether it was.

    For when a store is opened. A store that cannot be written now is searched with the terms that
    it has, and the next one to open it notices.
    """
    with database.read_all() as view:
        if _noted(view.connection) == database.analyser.fingerprint:
            return False
    try:
        return _note(database)
    except StorageError as problem:  # reading goes on, and needs none of this
        _log.warning("terms of another analyser stay as they are for now: %s", in_log(problem))
        return False


def bring_up_to_date(database: Database, progress: Progress = _unseen) -> int:
    """Make every missing or outdated row of terms now; how many there were."""
    total = outdated(database)
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        progress(done, max(done, total))

    progress(0, total)
    return reindex(database, tick)


def rebuild(database: Database) -> None:
    """Make the text and vector indexes of the whole store again, as after damage to one.

    One transaction: searches go on with the old ones until it is done, writers wait.
    """
    with database.transaction() as connection:
        database.backend.search.rebuild(connection)


def reindex_as_asked(
    database: Database, payload: Mapping[str, Any], tick: Tick = _silently
) -> None:
    """Do a queued job: bring the terms to the analyser that it names.

    Raises:
        Conflict: this process has another analyser; one with the right one has to do it.
    """
    wanted = payload.get(_NOTE, database.analyser.fingerprint)
    if wanted != database.analyser.fingerprint:
        raise Conflict(
            f"the terms are to be made by the analyser {wanted};"
            f" this process has {database.analyser.fingerprint}"
        )
    reindex(database, tick)


def outdated(database: Database) -> int:
    """How many memories and turns have no terms, or terms of another analyser."""
    with database.read_all() as view:
        return sum(
            view.connection.execute(
                sa.select(sa.func.count())
                .select_from(_beside(kind))
                .where(_is_outdated(kind, database.analyser.fingerprint))
            ).scalar_one()
            for kind in INDEXED
        )


def reindex(database: Database, tick: Tick = _silently) -> int:
    """Make every missing or outdated row of terms; how many there were."""
    done = 0
    last = ""
    while users := _users_after(database, last):
        for user_id in users:
            for kind in INDEXED:
                while made := _reindex_batch(database, kind, user_id):
                    done += made
                    tick(made)
        last = users[-1]
    return done


@retried
def _note(database: Database) -> bool:
    fingerprint = database.analyser.fingerprint
    with database.transaction() as connection:
        needed = any(_has_outdated(connection, kind, fingerprint) for kind in INDEXED)
        connection.execute(_keep_note, {"name": _NOTE, "text": fingerprint})
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


def _noted(connection: sa.Connection) -> str | None:
    found = sa.select(store.c.text).where(store.c.name == _NOTE)
    noted: str | None = connection.execute(found).scalar()
    return noted


def _has_outdated(connection: sa.Connection, kind: Indexed, fingerprint: str) -> bool:
    one = (
        sa.select(kind.source.c.id)
        .select_from(_beside(kind))
        .where(_is_outdated(kind, fingerprint))
        .limit(1)
    )
    return connection.execute(one).first() is not None


def _users_after(database: Database, last: str) -> list[str]:
    with database.read_all() as view:
        return list_users(view.connection, last, _USERS)


@retried
def _reindex_batch(database: Database, kind: Indexed, user_id: str) -> int:
    with database.write(user_id) as writing:
        wanted = (
            sa.select(kind.source.c.id, kind.index.c.id.label("indexed"))
            .select_from(_beside(kind))
            .where(
                kind.source.c.user_id == user_id,
                _is_outdated(kind, database.analyser.fingerprint),
            )
            .order_by(kind.source.c.id)
            .limit(_BATCH)
        )
        rows = writing.connection.execute(wanted).all()
        found = {one.id: one for one in _searchables(writing, kind, [row.id for row in rows])}
        missing = [found[row.id] for row in rows if row.indexed is None]
        if missing:
            put_entries(writing, kind, missing)
        for row in rows:
            if row.indexed is not None:
                change_terms(writing, kind, found[row.id])
        if rows:
            writing.keeps_user = True
            writing.note_rewrite()  # shelves keep what they have read; they start over
        return len(rows)


def _beside(kind: Indexed) -> sa.Join:
    same = sa.and_(
        kind.source.c.user_id == kind.index.c.user_id, kind.source.c.id == kind.index.c.id
    )
    return kind.source.outerjoin(kind.index, same)


def _is_outdated(kind: Indexed, fingerprint: str) -> sa.ColumnElement[bool]:
    return sa.or_(kind.index.c.id.is_(None), kind.index.c.analyser != fingerprint)


def _searchables(writing: Writing, kind: Indexed, ids: list[int]) -> list[Searchable]:
    if kind is ITEMS:
        own = sa.and_(items.c.user_id == writing.user_id, items.c.id.in_(ids))
        return [searchable_item(item) for item in find_items(writing.connection, own)]
    columns: list[Any] = [turns.c[field.name] for field in fields(Turn)]
    own = sa.and_(turns.c.user_id == writing.user_id, turns.c.id.in_(ids))
    said = writing.connection.execute(sa.select(*columns).where(own)).mappings()
    return [
        Searchable(turn.id, turn.content, text_of_turn(turn))
        for turn in (Turn.from_row(row) for row in said)
    ]
