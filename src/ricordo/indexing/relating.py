"""Relations: which memories a new one is about the same as, noted when it is written."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import sqlalchemy as sa

from ricordo.indexing.shelf import Shelf, best_rows
from ricordo.indexing.shelves import Shelves
from ricordo.model.embedding import KnownVectors, VectorModel
from ricordo.model.vocabulary import Status
from ricordo.storage.backend import ITEMS, Matrix, Row
from ricordo.storage.columns import among, bound_list
from ricordo.storage.database import Database, Reading
from ricordo.storage.relations import Relation, add_relations, remove_relations
from ricordo.storage.tables import item_index, items
from ricordo.storage.transaction import Writing

Neighbours = Mapping[str, Sequence[tuple[int, float]]]
"""By the hash of a text: the memories that are nearest to it, with their cosines."""

_LOOK_AT: Final = 4  # times as many as are kept, because some may be put aside or gone
_TOGETHER: Final = 32  # texts compared at once, which bounds the memory that it takes
_DATABASE_TEXTS: Final = 20
"""New texts compared inside the database, where that takes long, in one call. Those of a larger
bulk get their relations when upkeep comes round."""


class Relating:
    """Finds the neighbours of new texts before a write, and notes them in it."""

    def __init__(
        self, database: Database, shelves: Shelves, link_min: float, per_memory: int
    ) -> None:
        self._database = database
        self._shelves = shelves
        self._link_min = link_min
        self._per_memory = per_memory

    @property
    def link_min(self) -> float:
        """The least similarity at which two memories are related."""
        return self._link_min

    @property
    def per_memory(self) -> int:
        """How many relations a memory is given at most; 0: none."""
        return self._per_memory

    def neighbours(self, user_id: str, known: KnownVectors) -> Neighbours:
        """The stored memories near each text whose vector is known."""
        if known.model is None or not known.by_hash or not self._per_memory:
            return {}
        hashes = list(known.by_hash)
        vectors = np.stack([known.by_hash[digest] for digest in hashes])
        with (
            self._database.read(user_id) as view,
            self._shelves.borrow(view.connection, ITEMS, user_id, known.model) as shelf,
        ):
            if shelf is None:
                found = self._in_database(view, user_id, known.model, vectors)
            else:
                found = self._on_shelf(shelf, vectors)
        return dict(zip(hashes, found, strict=True))

    def note(
        self,
        writing: Writing,
        written: Iterable[tuple[int, str]],
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        """Relate memories just written (id, hash of the text) to neighbours and each other."""
        new = {item_id: digest for item_id, digest in written if digest in known.by_hash}
        if not new or not self._per_memory:
            return
        active = _active_among(writing, {one for found in near.values() for one, _ in found})
        edges: list[Relation] = []
        among_new = self._among(new, known)
        for item_id, digest in new.items():
            stored = [pair for pair in near.get(digest, ()) if pair[0] in active - {item_id}]
            best = sorted([*stored, *among_new[item_id]], key=lambda pair: (-pair[1], pair[0]))
            kept = dict(reversed(best[: self._per_memory]))
            edges += [(item_id, other, similarity) for other, similarity in kept.items()]
        add_relations(writing, edges)

    def renew(
        self,
        writing: Writing,
        changed: Iterable[tuple[int, str]],
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        """The same for memories whose text has changed: what they were related to is past."""
        listed = list(changed)
        if listed:
            remove_relations(writing, [item_id for item_id, _ in listed])
            self.note(writing, listed, known, near)

    def _on_shelf(self, shelf: Shelf, vectors: Matrix) -> list[list[tuple[int, float]]]:
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(vectors), _TOGETHER):
            cosines = shelf.cosines_to(vectors[start : start + _TOGETHER])
            count = min(_TOGETHER, len(vectors) - start)
            if cosines is None:
                found += [[] for _ in range(count)]
            else:
                found += [self._best(shelf, cosines[:, column]) for column in range(count)]
        return found

    def _best(self, shelf: Shelf, cosines: Row) -> list[tuple[int, float]]:
        usable = np.where(shelf.alive & shelf.with_vector, cosines, -1.0)
        rows = best_rows(usable, self._per_memory * _LOOK_AT)
        return [
            (int(shelf.ids[row]), float(usable[row]))
            for row in rows
            if usable[row] >= self._link_min
        ]

    def _in_database(
        self, view: Reading, user_id: str, model: VectorModel, vectors: Matrix
    ) -> list[list[tuple[int, float]]]:
        search = self._database.backend.search
        where = sa.and_(items.c.user_id == user_id, items.c.status == Status.ACTIVE.value)
        found: list[list[tuple[int, float]]] = []
        for place, vector in enumerate(vectors):
            near = []
            if place < _DATABASE_TEXTS:
                near = search.nearest(
                    view.connection, ITEMS, model, vector, where, self._per_memory * _LOOK_AT
                )
            found.append([pair for pair in near if pair[1] >= self._link_min])
        return found

    def _among(
        self, new: Mapping[int, str], known: KnownVectors
    ) -> dict[int, list[tuple[int, float]]]:
        ids = list(new)
        vectors = np.stack([known.by_hash[digest] for digest in new.values()])
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -1.0)
        found = {}
        for place, item_id in enumerate(ids):
            rows = best_rows(cosines[place], self._per_memory)
            found[item_id] = [
                (ids[row], float(cosines[place, row]))
                for row in rows
                if cosines[place, row] >= self._link_min
            ]
        return found


def _active_among(writing: Writing, ids: set[int]) -> set[int]:
    if not ids:
        return set()
    wanted = (
        sa.select(items.c.id)
        .select_from(ITEMS.joined())
        .where(
            items.c.user_id == writing.user_id,
            items.c.status == Status.ACTIVE.value,
            # What this very transaction has changed says something else than it did.
            item_index.c.stamp < writing.next_stamp(),
            among(items.c.id, bound_list("near_ids", sa.BigInteger())),
        )
    )
    return set(writing.connection.execute(wanted, {"near_ids": sorted(ids)}).scalars())
