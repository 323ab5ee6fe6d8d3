"""Relations: finds the memories similar to a new one, and those that mention the same people."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import sqlalchemy as sa

from ricordo.index.cache import IndexCache
from ricordo.index.user_index import UserIndex, best_rows
from ricordo.limits import MAX_MENTIONS
from ricordo.model.embedding import KnownVectors, VectorModel
from ricordo.model.item import Added
from ricordo.model.vocabulary import Status
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction
from ricordo.storage.items import active
from ricordo.storage.relations import Pair, Relation, add_relations, remove_relations
from ricordo.storage.search_rows import text_hash, texts_with_vectors
from ricordo.storage.sql import (
    Condition,
    Matrix,
    PreparedStatement,
    Row,
    Words,
    among,
    bound_list,
    matrix_of,
)
from ricordo.storage.tables import ITEMS, item_index, items
from ricordo.storage.where import in_project
from ricordo.text.names import Entity, Names

Near = list[tuple[int, float]]
"""Ids with cosines."""

Neighbours = Mapping[str, Near]
"""By text hash: the nearest memories with their cosines."""


class PreparedWrite(NamedTuple):
    """The vectors that a write needs, computed before its transaction."""

    known: KnownVectors
    near: Neighbours


_OVERSAMPLING: Final = 4  # some of the nearest may be archived or deleted
_BLOCK_TEXTS: Final = 32  # texts compared at once, which bounds the memory that it takes
_DATABASE_TEXTS: Final = 20
"""The maximum of new texts compared inside the database, which is slow. Upkeep relates the rest."""


_MOST_HAVING: Final = 10_000
_DIGITS: Final = 6  # of a cosine: the last ones depend on how many are compared

_active_before: Final = PreparedStatement(
    sa.select(items.c.id)
    .select_from(ITEMS.joined())
    .where(
        items.c.user_id == sa.bindparam("user_id", type_=Words),
        items.c.status == sa.literal_column("'active'"),
        # Rows changed in this transaction have another text.
        item_index.c.stamp < sa.bindparam("stamp", type_=sa.BigInteger),
        among(items.c.id, bound_list("ids", sa.BigInteger())),
    )
)


Mentions = Mapping[Entity, Sequence[Any]]
"""Rows of memories with their vectors, by whom they mention."""


class Shared(NamedTuple):
    """What two memories that mention the same have in common."""

    similarity: float
    names: tuple[str, ...]


class Relating:
    def __init__(
        self, database: Database, indexes: IndexCache, link_min: float, per_memory: int
    ) -> None:
        self._database = database
        self._indexes = indexes
        self.link_min = link_min
        self.per_memory = per_memory

    def neighbours(self, user_id: str, known: KnownVectors) -> Neighbours:
        if known.model is None or not known.by_hash or not self.per_memory:
            return {}
        hashes = list(known.by_hash)
        vectors = np.stack([known.by_hash[digest] for digest in hashes])
        with (
            self._database.read(user_id) as view,
            self._indexes.borrow(view, ITEMS, user_id, known.model) as user_index,
        ):
            if user_index is None:
                found = self._in_database(view, user_id, known.model, vectors)
            else:
                found = self._in_index(user_index, vectors)
        return dict(zip(hashes, found, strict=True))

    def written(
        self,
        writing: WriteTransaction,
        written: Iterable[tuple[Added, str]],
        prepared: PreparedWrite,
    ) -> None:
        """Relate memories that have just been added or changed, with their texts."""
        hashed = [(one, text_hash(text)) for one, text in written]
        changed = [(one.id, digest) for one, digest in hashed if one.updated]
        self.renew(writing, changed, *prepared)
        self.note(writing, [(one.id, digest) for one, digest in hashed if one.is_new], *prepared)

    def note(
        self,
        writing: WriteTransaction,
        written: Iterable[tuple[int, str]],
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        """Relate new memories (id, text hash) to their neighbours and each other."""
        new = {item_id: digest for item_id, digest in written if digest in known.by_hash}
        if not new or not self.per_memory or known.model is None:
            return
        active = _active_among(writing, {one for found in near.values() for one, _ in found})
        ids = list(new)
        vectors = np.stack([known.by_hash[digest] for digest in new.values()])
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -1.0)
        edges: list[Relation] = []
        for place, (item_id, digest) in enumerate(new.items()):
            stored = [pair for pair in near.get(digest, ()) if pair[0] in active - {item_id}]
            also_new = self._best(cosines[place], self.per_memory)
            pairs = [*stored, *((ids[row], cosine) for row, cosine in also_new)]
            best = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[: self.per_memory]
            edges += [(item_id, *pair) for pair in dict(reversed(best)).items()]
        add_relations(writing, edges)

    def renew(
        self,
        writing: WriteTransaction,
        changed: Iterable[tuple[int, str]],
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        """Replace the relations of memories whose text has changed."""
        listed = list(changed)
        if listed:
            remove_relations(writing, [item_id for item_id, _ in listed])
            self.note(writing, listed, known, near)

    def mentions(
        self,
        view: ReadTransaction,
        user_id: str,
        names: Names,
        whom: Iterable[Entity],
        themes: Collection[str] | None,
        project: str | None,
        ids: Collection[int] = (),
    ) -> Mentions:
        """The memories that mention each of these, the latest first.

        Found when they are asked for, because who is who may change with every memory. Of one who
        is mentioned often, the latest are looked at, and ``ids``.
        """
        where = active(user_id, view.now)
        if themes is not None:
            where = sa.and_(where, items.c.theme.in_(sorted(themes)))
        if project is not None:
            where = sa.and_(where, in_project(items, project))
        found: dict[Entity, list[Any]] = {}
        for entity in whom if self.per_memory else ():
            having = self._having(view, user_id, names.spellings(entity), where)
            latest = {*having[:MAX_MENTIONS], *set(having).intersection(ids)}
            rows = [
                row
                for row in texts_with_vectors(view.connection, user_id, latest)
                if any(one.entity == entity for one in names.mentioned(row.content))
            ]
            if rows:
                found[entity] = sorted(rows, key=lambda row: -row.id)
        return found

    def by_name(self, view: ReadTransaction, mentions: Mentions) -> dict[Pair, Shared]:
        """Memories that mention the same one, each with those that are nearest to it."""
        found: dict[Pair, Shared] = {}
        for entity, rows in mentions.items():
            cosines = _cosines(view.connection, rows)
            members = np.array([row.id for row in rows])
            for place, row in enumerate(rows):
                order = np.lexsort((-members, -cosines[place]))
                for other in order[order != place][: self.per_memory].tolist():
                    pair = min(row.id, rows[other].id), max(row.id, rows[other].id)
                    before = found.get(pair, Shared(0.0, ())).names
                    named = dict.fromkeys((*before, entity.names[0]))
                    found[pair] = Shared(float(cosines[place, other]), tuple(named))
        return found

    def _having(
        self, view: ReadTransaction, user_id: str, spellings: Iterable[str], where: Condition
    ) -> list[int]:
        """The memories with one of these words, the latest first."""
        terms = {term for one in spellings for term in self._database.analyser.query_terms(one)}
        found = self._database.backend.search.matches(
            view.connection, ITEMS, [user_id], sorted(terms), where, _MOST_HAVING
        )
        return sorted(found.terms_by_id, reverse=True)

    def _in_index(self, user_index: UserIndex, vectors: Matrix) -> list[Near]:
        usable = user_index.alive & user_index.with_vector
        found: list[Near] = []
        for start in range(0, len(vectors), _BLOCK_TEXTS):
            block = vectors[start : start + _BLOCK_TEXTS]
            cosines = user_index.cosines_to(block)
            if cosines is None:
                found += [[] for _ in block]
                continue
            for column in cosines.T:
                best = self._best(np.where(usable, column, -1.0), self.per_memory * _OVERSAMPLING)
                found.append([(int(user_index.ids[row]), cosine) for row, cosine in best])
        return found

    def _best(self, cosines: Row, count: int) -> Near:
        """The rows that are near enough to be related, with their cosines."""
        return [
            (row, float(cosines[row]))
            for row in best_rows(cosines, count).tolist()
            if cosines[row] >= self.link_min
        ]

    def _in_database(
        self, view: ReadTransaction, user_id: str, model: VectorModel, vectors: Matrix
    ) -> list[Near]:
        search = self._database.backend.search
        where = sa.and_(items.c.user_id == user_id, items.c.status == Status.ACTIVE.value)
        found: list[Near] = []
        for place, vector in enumerate(vectors):
            near = []
            if place < _DATABASE_TEXTS:
                near = search.nearest(
                    view.connection, ITEMS, model, vector, where, self.per_memory * _OVERSAMPLING
                )
            found.append([pair for pair in near if pair[1] >= self.link_min])
        return found


def _cosines(connection: sa.Connection, rows: Sequence[Any]) -> Matrix:
    """How near each is to each; 0 where that cannot be said."""
    cosines = np.zeros((len(rows), len(rows)), np.float32)
    for made_by in {row[2:5] for row in rows if row.vector is not None}:
        places = [place for place, row in enumerate(rows) if row.vector and row[2:5] == made_by]
        vectors = matrix_of(connection, [rows[place].vector for place in places])
        near = np.clip(np.round(vectors @ vectors.T, _DIGITS), 0.0, 1.0)
        cosines[np.ix_(places, places)] = near
    return cosines


def _active_among(writing: WriteTransaction, ids: set[int]) -> set[int]:
    if not ids:
        return set()
    given = {"user_id": writing.user_id, "stamp": writing.next_stamp(), "ids": sorted(ids)}
    return {row[0] for row in _active_before.run(writing.connection, given)}


Allowed = np.ndarray[tuple[int, int], np.dtype[np.bool_]]

_Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


class Nearest:
    """Keeps the nearest rows for each vector while blocks of rows are added.

    Needs the memory of one block of cosines only.
    """

    def __init__(
        self,
        ids: Sequence[int],
        vectors: Matrix,
        *,
        count: int,
        least: float,
        digits: int | None = None,
    ) -> None:
        """Keep ``count`` rows for each vector, with a cosine of at least ``least``.

        A row is not compared with the vector of its own id. The last digits of a cosine depend on
        the block size: rounded to ``digits``, it is reproducible.
        """
        self._ids = ids
        self._vectors = vectors
        self._count = count
        self._digits = digits
        # Unrounded cosines are compared at their own precision.
        self._least = float(np.float32(least)) if digits is None else least
        self._slack = 0.0 if digits is None else 10.0**-digits  # more than rounding can add
        self._near: list[Near] = [[] for _ in ids]
        # The minimum cosine of interest; it rises, so that most rows need one comparison only.
        self._floors: Row = np.full(len(ids), self._least - self._slack, np.float32)

    def show(self, ids: Sequence[int], block: Matrix, allowed: Allowed | None = None) -> None:
        """Add a block of rows; ``allowed`` masks rows (down) by vector (across)."""
        if not ids:
            return
        cosines = block @ self._vectors.T
        hopeful = cosines >= self._floors
        if allowed is not None:
            hopeful &= allowed
        shown = np.asarray(ids, np.int64)
        for place in np.flatnonzero(hopeful.any(axis=0)):
            rows = np.flatnonzero(hopeful[:, place])
            self._take(int(place), shown[rows], cosines[rows, place])

    def found(self) -> dict[int, Near]:
        """By id: the nearest first, ties by the lowest id."""
        return dict(zip(self._ids, self._near, strict=True))

    def _take(self, place: int, ids: _Ids, cosines: Row) -> None:
        compared = cosines.astype(np.float64)
        if self._digits is not None:
            compared = np.round(compared, self._digits)
        usable = np.flatnonzero((compared >= self._least) & (ids != self._ids[place]))
        best = usable[np.lexsort((ids[usable], -compared[usable]))[: self._count]]
        near = self._near[place]
        near += [(int(ids[row]), float(compared[row])) for row in best]
        near.sort(key=lambda pair: (-pair[1], pair[0]))
        del near[self._count :]
        if len(near) == self._count:
            self._floors[place] = near[-1][1] - self._slack
