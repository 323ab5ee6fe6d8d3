"""The stored memories nearest to those of the pool, by their vectors or else by their words.

Vectors are read once from beginning to end, in blocks, and compared with the whole pool at once.
That is exact on both databases, needs no index in memory, and takes no room in the cache of those
whose users are searching right now. Nothing is embedded.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ricordo.formation.statements import share_of_words
from ricordo.index.relations import Nearest
from ricordo.model.item import Item
from ricordo.model.vocabulary import MemoryType
from ricordo.recall.service import Recall
from ricordo.storage.backend import ITEMS
from ricordo.storage.database import Database
from ricordo.storage.items import Comparables, comparable, items_by_id
from ricordo.upkeep.consolidating.pairs import Near
from ricordo.upkeep.consolidating.pool import COMPARED_TYPES, types_beside

NEIGHBOURS: Final = 8
"""How many partners are looked for per memory of the pool."""
BY_WORDS: Final = 100
"""Memories without a vector whose partners are looked for by their words."""

_WORD_MATCHES: Final = 4 * NEIGHBOURS  # looked at, because the index weighs words otherwise
_ASKED_TERMS: Final = 32


class Neighbours:
    """Finds near pairs among one user's memories."""

    def __init__(self, database: Database, recall: Recall, least: float) -> None:
        self._database = database
        self._recall = recall
        self._least = least

    def of(self, user_id: str, pool: Sequence[Item]) -> list[Near]:
        """Each pair of a pooled memory and a near one, once, the most similar first."""
        found: dict[tuple[int, int], float] = {}
        compared = self._by_vectors(user_id, pool, found)
        without = [item for item in pool if item.id not in compared]
        for item in without[:BY_WORDS]:
            self._by_words(user_id, item, found)
        near = [(low, high, similarity) for (low, high), similarity in found.items()]
        return sorted(near, key=lambda pair: (-pair[2], pair[0], pair[1]))

    def _by_vectors(
        self, user_id: str, pool: Sequence[Item], found: dict[tuple[int, int], float]
    ) -> set[int]:
        """Add the near pairs of all that have a vector; which of the pool do."""
        with self._database.read(user_id) as view:
            model = self._recall.embedders.chosen(view.connection, user_id).model
            if model is None or not pool:
                return set()
            where = comparable(user_id, COMPARED_TYPES, view.now)
            others = Comparables(user_id, model, where)
            alike = others.vectors(view.connection, [item.id for item in pool])
        if not alike:
            return set()
        own = alike[0]  # what has a vector of another width is compared by its words
        type_of = {item.id: item.type for item in pool}
        is_procedure = np.asarray([type_of[one] is MemoryType.PROCEDURE for one in own.ids])
        nearest = Nearest(own.ids, own.matrix, count=NEIGHBOURS, least=self._least)
        after: int | None = 0
        while after is not None:
            with self._database.read(user_id) as view:
                page = others.page(view.connection, own.matrix.shape[1], after)
            kinds = np.asarray([kind == MemoryType.PROCEDURE for kind in page.types], np.bool_)
            nearest.show(page.ids, page.matrix, kinds[:, None] == is_procedure)
            after = page.last
        for item_id, near in nearest.found().items():
            for other, cosine in near:
                found[min(item_id, other), max(item_id, other)] = min(cosine, 1.0)
        return set(own.ids)

    def _by_words(self, user_id: str, item: Item, found: dict[tuple[int, int], float]) -> None:
        """Add the pairs of one memory whose share of words in common is large enough."""
        analyser = self._database.analyser
        terms = analyser.query_terms(item.content)
        if not terms:
            return
        with self._database.read(user_id) as view:
            where = comparable(user_id, types_beside(item.type), view.now)
            matches = self._database.backend.search.matches(
                view.connection, ITEMS, [user_id], terms[:_ASKED_TERMS], where, _WORD_MATCHES
            )
            others = items_by_id(view.connection, [(user_id, one) for one in matches.terms_by_id])
        shares = []
        for other in others.values():
            share = share_of_words(analyser, item.content, other.content)
            if other.id != item.id and share >= self._least:
                shares.append((share, other.id))
        for share, other_id in sorted(shares, key=lambda one: (-one[0], one[1]))[:NEIGHBOURS]:
            found.setdefault((min(item.id, other_id), max(item.id, other_id)), share)
