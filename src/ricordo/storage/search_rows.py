"""Rows of the search index: terms and vectors of memories and turns, and who makes the vectors."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from ricordo.frozen import dataclass
from ricordo.model.activity import NewJob
from ricordo.model.embedding import StoredChoice, VectorModel
from ricordo.model.vocabulary import Status, VectorState
from ricordo.storage.database import ReadTransaction, WriteTransaction
from ricordo.storage.relations import remove_relations
from ricordo.storage.sql import (
    PreparedStatement,
    Row,
    Words,
    among,
    bound_list,
    matrix_of,
    vector_bytes,
)
from ricordo.storage.tables import (
    INDEXED,
    ITEMS,
    PIECES,
    SEARCHED,
    Indexed,
    embedding_settings,
    item_index,
    items,
    links,
    turn_pieces,
    turns,
    users,
    without_user,
)

EMBED_JOB: Final = "embed"
"""Kind of the job that embeds a user's new texts."""

_insert: Final = {kind.name: PreparedStatement(sa.insert(kind.index)) for kind in INDEXED}
_stored: Final = {
    kind.name: PreparedStatement(
        sa.select(kind.index.c.id, kind.index.c.terms, kind.index.c.text_hash).where(
            kind.index.c.user_id == sa.bindparam("user_id", type_=Words),
            among(kind.index.c.id, bound_list("ids", sa.BigInteger())),
        )
    )
    for kind in INDEXED
}
_Vector = tuple[VectorModel, Row]
_VECTOR_COLUMNS: Final = ("state", "provider", "model", "dimensions", "error", "vector")
_NO_VECTOR: Final = (VectorState.PENDING.value, None, None, None, None, None)
Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
PAGE_ROWS: Final = 2_000
"""Rows per page: bounds the memory that reading takes."""

_user = sa.bindparam("user_id", type_=Words)
_position: Final = PreparedStatement(
    sa.select(
        users.c.index_stamp,
        users.c.index_epoch,
        users.c.index_removals,
        sa.cast(users.c.created_at, Words),
        users.c.revision,
    ).where(users.c.user_id == _user)
)
# One concatenated text is read in a third of the time that the rows take.
_comma: Final[Any] = sa.literal_column("','")
_ids: Final = {
    kind.name: PreparedStatement(
        sa.select(sa.func.aggregate_strings(sa.cast(kind.index.c.id, sa.Text), _comma)).where(
            kind.index.c.user_id == _user
        )
    )
    for kind in INDEXED
}
_counted: Final = {
    kind.name: PreparedStatement(
        sa.select(sa.func.count()).select_from(kind.index).where(kind.index.c.user_id == _user)
    )
    for kind in INDEXED
}
_CHOICE: Final = without_user(embedding_settings)
_find_choice: Final = PreparedStatement(
    sa.select(*_CHOICE).where(embedding_settings.c.user_id == _user)
)


def _with_vectors(kind: Indexed, wanted: sa.ColumnElement[bool]) -> PreparedStatement:
    index = kind.index.c
    vector = vector_bytes(index.vector)
    return PreparedStatement(
        sa.select(index.text_hash, index.provider, index.model, vector).where(
            index.user_id == sa.bindparam("user_id", type_=Words),
            wanted,
            index.state == sa.literal_column("'ready'"),  # see PreparedStatement
        )
    )


_same_text: Final = {
    kind.name: _with_vectors(kind, kind.index.c.text_hash == sa.bindparam("hash", type_=Words))
    for kind in INDEXED
}
_same_texts: Final = {
    kind.name: _with_vectors(kind, among(kind.index.c.text_hash, bound_list("hashes")))
    for kind in INDEXED
}


@dataclass(frozen=True, slots=True)
class Searchable:
    """A memory or turn to be indexed: the text to embed, and all text to search."""

    id: int
    content: str
    text: str


def text_hash(content: str) -> str:
    """Identifies the text of a vector; case-sensitive, unlike the hash for duplicates."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def vectors_of_texts(
    connection: sa.Connection, user_id: str, model: VectorModel, hashes: set[str]
) -> dict[str, Row]:
    """The user's existing vectors of this model, by text hash."""
    return {
        digest: matrix_of(connection, [stored])[0]
        for kind in INDEXED
        for digest, provider, name, stored in _made_before(connection, kind, user_id, hashes)
        if (provider, name) == (model.provider, model.model)
    }


def _made_before(
    connection: sa.Connection, kind: Indexed, user_id: str, hashes: set[str]
) -> list[tuple[Any, ...]]:
    if len(hashes) == 1:  # the everyday case, and five times as fast
        return _same_text[kind.name].run(connection, {"user_id": user_id, "hash": min(hashes)})
    return _same_texts[kind.name].run(connection, {"user_id": user_id, "hashes": sorted(hashes)})


def put_entries(writing: WriteTransaction, kind: Indexed, new: Sequence[Searchable]) -> None:
    """Index new rows in the transaction that writes them.

    Known vectors are stored with them; the others wait for the embedding job.
    """
    if not new:
        return
    hashes = [text_hash(one.content) for one in new]
    vectors = _vectors_for(writing, kind, set(hashes))
    user_id, stamp = writing.user_id, writing.next_stamp()
    analyser, fingerprint = writing.analyser, writing.analyser.fingerprint
    terms = [(one.id, " ".join(analyser.terms(one.text))) for one in new]
    _insert[kind.name].run_rows(
        writing.connection,
        (
            [user_id, row_id, stamp, fingerprint, said, digest, *_vector_values(digest, vectors)]
            for (row_id, said), digest in zip(terms, hashes, strict=True)
        ),
    )
    writing.backend.search.put(writing.connection, kind, user_id, terms)
    if not vectors.keys() >= set(hashes):
        _queue_embedding(writing)


def change_entry(writing: WriteTransaction, kind: Indexed, changed: Searchable) -> None:
    """Update a row's index entry if its text or theme has changed."""
    given = {"user_id": writing.user_id, "ids": [changed.id]}
    found = _stored[kind.name].run(writing.connection, given)
    if not found:  # not indexed yet: a store from before there was search
        put_entries(writing, kind, [changed])
        return
    _, old_terms, old_hash = found[0]
    digest = text_hash(changed.content)
    terms = " ".join(writing.analyser.terms(changed.text))
    if terms == old_terms and digest == old_hash:
        return
    values: dict[str, Any] = {
        "stamp": writing.next_stamp(),
        "terms": terms,
        "analyser": writing.analyser.fingerprint,
    }
    if digest != old_hash:
        vectors = _vectors_for(writing, kind, {digest})
        values |= {
            "text_hash": digest,
            **dict(zip(_VECTOR_COLUMNS, _vector_values(digest, vectors), strict=True)),
        }
        if kind is ITEMS:
            remove_relations(writing, [changed.id])  # they were about what it said before
    _replace_entry(writing, kind, changed.id, old_terms, values)
    if values.get("state") == VectorState.PENDING.value:
        _queue_embedding(writing)


def change_terms(writing: WriteTransaction, kind: Indexed, one: Searchable) -> None:
    given = {"user_id": writing.user_id, "ids": [one.id]}
    ((_, old_terms, _),) = _stored[kind.name].run(writing.connection, given)
    values = {
        "stamp": writing.next_stamp(),
        "terms": " ".join(writing.analyser.terms(one.text)),
        "analyser": writing.analyser.fingerprint,
    }
    _replace_entry(writing, kind, one.id, old_terms, values)


def _replace_entry(
    writing: WriteTransaction, kind: Indexed, row_id: int, old_terms: str, values: dict[str, Any]
) -> None:
    search, connection, user_id = writing.backend.search, writing.connection, writing.user_id
    search.drop(connection, kind, user_id, [(row_id, old_terms)])
    where = sa.and_(kind.index.c.user_id == user_id, kind.index.c.id == row_id)
    connection.execute(sa.update(kind.index).where(where).values(**values))
    search.put(connection, kind, user_id, [(row_id, values["terms"])])


def remove_entries(writing: WriteTransaction, kind: Indexed, ids: Iterable[int]) -> None:
    listed = list(ids)
    found = _stored[kind.name].run(writing.connection, {"user_id": writing.user_id, "ids": listed})
    terms = [(row[0], row[1]) for row in found]
    writing.backend.search.drop(writing.connection, kind, writing.user_id, terms)
    where = sa.and_(kind.index.c.user_id == writing.user_id, kind.index.c.id.in_(listed))
    writing.connection.execute(sa.delete(kind.index).where(where))
    writing.note_removal()


def queue_embedding(writing: WriteTransaction) -> None:
    job = NewJob(
        kind=EMBED_JOB, user_id=writing.user_id, run_at=writing.now, unique_key="", payload={}
    )
    writing.enqueue(job)


def _queue_embedding(writing: WriteTransaction) -> None:
    """Queue it unless the user has no model."""
    if writing.known is None or writing.known.model is not None:
        queue_embedding(writing)


def _vectors_for(writing: WriteTransaction, kind: Indexed, hashes: set[str]) -> dict[str, _Vector]:
    """Known vectors: computed for this write, or of the same text before."""
    known = writing.known
    found: dict[str, _Vector] = {}
    if known is not None and known.model is not None:
        found = {
            digest: (known.model, known.by_hash[digest])
            for digest in hashes
            if digest in known.by_hash
        }
    missing = hashes - set(found)
    if missing:
        given = (writing.connection, kind, writing.user_id, missing)
        for digest, provider, name, stored in _made_before(*given):
            model = VectorModel(provider, name)
            if known is None or known.model in (None, model):  # else it would be stale at once
                found[digest] = (model, matrix_of(writing.connection, [stored])[0])
    return found


def _vector_values(digest: str, vectors: Mapping[str, _Vector]) -> Sequence[Any]:
    """The last columns of a row, see ``_VECTOR_COLUMNS``."""
    made = vectors.get(digest)
    if made is None:
        return _NO_VECTOR
    model, vector = made
    return (VectorState.READY.value, model.provider, model.model, len(vector), None, vector)


@dataclass(frozen=True, slots=True)
class IndexPosition:
    """The state of a user's index.

    Copies from before ``epoch``, or of a user who was erased and ``created`` again, must be
    rebuilt. Copies from before ``removals`` must drop the rows that no longer exist. Every change
    of a memory raises ``revision``.
    """

    stamp: int
    epoch: int
    removals: int
    created: str
    revision: int


NOTHING_INDEXED: Final = IndexPosition(0, 0, 0, "", 0)


def index_position(connection: sa.Connection, user_id: str) -> IndexPosition:
    rows = _position.run(connection, {"user_id": user_id})
    if not rows:
        return NOTHING_INDEXED
    return IndexPosition(*rows[0])


def position_in(view: ReadTransaction, user_id: str) -> IndexPosition:
    """The same, read once in a view."""
    position: IndexPosition | None = view.positions.get(user_id)
    if position is None:
        position = view.positions[user_id] = index_position(view.connection, user_id)
    return position


def count_indexed(connection: sa.Connection, kind: Indexed, user_id: str) -> int:
    counted: int = _counted[kind.name].run(connection, {"user_id": user_id})[0][0]
    return counted


def indexed_ids(connection: sa.Connection, kind: Indexed, user_id: str) -> Ids:
    """The ids of all indexed rows of a user, unordered."""
    ((listed,),) = _ids[kind.name].run(connection, {"user_id": user_id})
    return np.fromstring(listed or "", np.int64, sep=",")


def _columns(kind: Indexed) -> list[sa.ColumnElement[Any]]:
    comparable = sa.and_(
        kind.index.c.state == VectorState.READY.value,
        kind.index.c.provider == sa.bindparam("provider", type_=Words),
        kind.index.c.model == sa.bindparam("model", type_=Words),
    )
    vector = vector_bytes(sa.case((comparable, kind.index.c.vector), else_=sa.null()))
    columns = [kind.index.c.id, kind.index.c.terms, vector]
    if kind.source in (turns, turn_pieces):
        turn_id = turn_pieces.c.turn_id if kind is PIECES else turns.c.id
        columns += [turns.c.thread_id, turns.c.position, turns.c.actor, turn_id]
    return columns


def _select(kind: Indexed) -> sa.Select[Any]:
    source = kind.index if kind is ITEMS else kind.joined()
    return sa.select(*_columns(kind)).select_from(source).where(kind.index.c.user_id == _user)


_page: Final = {
    kind: [
        PreparedStatement(
            _select(one)
            .where(one.index.c.id > sa.bindparam("after", type_=sa.BigInteger))
            .order_by(one.index.c.id)
            .limit(sa.bindparam("size", type_=sa.Integer))
        )
        for one in searched
    ]
    for kind, searched in SEARCHED.items()
}
# Without ORDER BY: SQLite would walk all ids rather than the few new stamps.
_since: Final = {
    kind: [
        PreparedStatement(
            _select(one).where(one.index.c.stamp > sa.bindparam("since", type_=sa.BigInteger))
        )
        for one in searched
    ]
    for kind, searched in SEARCHED.items()
}
_linked: Final = PreparedStatement(
    sa.select(*_columns(INDEXED[0]))
    .select_from(
        item_index.join(
            links,
            sa.and_(links.c.owner_id == item_index.c.user_id, links.c.item_id == item_index.c.id),
        ).join(items, ITEMS.same_row())
    )
    .where(links.c.user_id == _user, items.c.status != Status.DELETED.value)
    .order_by(item_index.c.id)
)


def _made_by(model: VectorModel | None) -> dict[str, Any]:
    made_by = model or VectorModel("", "")
    return {"provider": made_by.provider, "model": made_by.model}


def whole_index(
    connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None
) -> Iterator[Sequence[tuple[Any, ...]]]:
    """All indexed rows of a user, in bounded pages: turns in the order of the ids, then pieces.

    A row is its id, terms and vector (None unless made by ``model``); for a turn or a piece of one
    also the turn's thread, position, actor and id.
    """
    given = {"user_id": user_id, "size": PAGE_ROWS, **_made_by(model)}
    for page in _page[kind]:
        after = 0
        while rows := page.run(connection, {**given, "after": after}):
            yield rows
            if len(rows) < PAGE_ROWS:
                break
            after = rows[-1][0]


def index_since(
    connection: sa.Connection, kind: Indexed, user_id: str, model: VectorModel | None, stamp: int
) -> list[tuple[Any, ...]]:
    """Rows written after a stamp, like :func:`whole_index`."""
    given = {"user_id": user_id, "since": stamp, **_made_by(model)}
    rows = chain.from_iterable(one.run(connection, given) for one in _since[kind])
    return sorted(rows, key=itemgetter(0))


def linked_index(
    connection: sa.Connection, viewer: str, model: VectorModel | None
) -> list[tuple[Any, ...]]:
    return _linked.run(connection, {"user_id": viewer, **_made_by(model)})


_all_texts: Final = PreparedStatement(
    sa.select(items.c.id, items.c.content)
    .where(items.c.user_id == _user, items.c.id > sa.bindparam("after", type_=sa.BigInteger))
    .order_by(items.c.id)
    .limit(PAGE_ROWS)
)
_texts_since: Final = PreparedStatement(
    sa.select(items.c.id, items.c.content)
    .select_from(ITEMS.joined())
    .where(
        item_index.c.user_id == _user,
        item_index.c.stamp > sa.bindparam("since", type_=sa.BigInteger),
    )
)
_active: Final = PreparedStatement(
    sa.select(
        items.c.id, items.c.theme, items.c.type, items.c.expires_at, items.c.project_id
    ).where(
        items.c.user_id == _user,
        items.c.status == sa.literal_column("'active'"),
        among(items.c.id, bound_list("ids", sa.BigInteger())),
    )
)


def memory_texts(
    connection: sa.Connection, user_id: str, since: int
) -> Iterator[Sequence[tuple[int, str]]]:
    """The ids and contents of a user's memories, of any status, written after a stamp."""
    if since:
        yield [
            (row[0], row[1])
            for row in _texts_since.run(connection, {"user_id": user_id, "since": since})
        ]
        return
    after = 0
    while rows := _all_texts.run(connection, {"user_id": user_id, "after": after}):
        yield [(row[0], row[1]) for row in rows]
        after = rows[-1][0]


def active_among(
    connection: sa.Connection, user_id: str, ids: Iterable[int]
) -> list[tuple[int, str, str, datetime | None, str | None]]:
    """Those that are active: id, theme, type, when each expires, and its project."""
    rows = _active.run_typed(connection, {"user_id": user_id, "ids": sorted(ids)})
    return [(row[0], row[1], row[2], row[3], row[4]) for row in rows]


def texts_with_vectors(
    connection: sa.Connection, user_id: str, ids: Iterable[int]
) -> Sequence[Any]:
    """Id, content, provider, model, dimensions and vector, None where it is not made yet."""
    index = item_index.c
    vector = sa.case((index.state == VectorState.READY.value, index.vector), else_=sa.null())
    wanted = (
        sa.select(
            *(index.id, items.c.content, index.provider, index.model, index.dimensions),
            vector_bytes(vector).label("vector"),
        )
        .select_from(ITEMS.joined())
        .where(index.user_id == user_id, among(index.id, bound_list("ids", sa.BigInteger())))
        .order_by(index.id)
    )
    return connection.execute(wanted, {"ids": sorted(ids)}).all()


def find_choice(connection: sa.Connection, user_id: str) -> StoredChoice | None:
    """The embedding model of a user who does not use the store's."""
    rows = _find_choice.run_typed(connection, {"user_id": user_id})
    if not rows:
        return None
    return StoredChoice(
        **{column.name: value for column, value in zip(_CHOICE, rows[0], strict=True)}
    )


def store_choice(writing: WriteTransaction, choice: StoredChoice) -> None:
    drop_choice(writing)
    row = {column.name: getattr(choice, column.name) for column in _CHOICE}
    writing.connection.execute(sa.insert(embedding_settings).values(user_id=writing.user_id, **row))
    writing.keeps_user = True


def drop_choice(writing: WriteTransaction) -> None:
    """Return to the store's embedding model."""
    where = embedding_settings.c.user_id == writing.user_id
    writing.connection.execute(sa.delete(embedding_settings).where(where))
