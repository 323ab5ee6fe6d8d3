"""Pairs of memories to compare, and the rules that decide them."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import numpy as np

from ricordo import limits
from ricordo.formation.conflicts import STATEMENT_TYPES, Pair, Relationship, Verdict
from ricordo.formation.statements import (
    CONTRADICTION_MIN,
    figures_and_denials,
    keep_the_order,
    opposed,
    refines,
    says_nothing_new,
    share_of_words,
    share_words,
    statements_of,
)
from ricordo.frozen import dataclass
from ricordo.index.relations import Nearest
from ricordo.model.item import Item, leaning
from ricordo.model.reports import PairAction, PairDecision
from ricordo.model.vocabulary import ON_PURPOSE, MemoryType
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.items import (
    Comparables,
    comparable,
    items_by_id,
    pooled_ids,
    replaced_before,
    shared_among,
)
from ricordo.storage.relations import checked_since
from ricordo.storage.tables import ITEMS, items
from ricordo.storage.where import is_of
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import content_hash

COMPARED_TYPES: Final = (*STATEMENT_TYPES, MemoryType.PROCEDURE)
"""Insights and summaries are generated, and never compared."""

SHARED_WORDS_MIN: Final = 0.25
"""The minimum share of the shorter text's content words that a pair has in common.

Low on purpose: two homes ("lives in …") share one word of two, and a paraphrase may keep only its
noun. Memories that share only the user are about different things, however near their vectors are.
"""
_BLOCK_PAIRS: Final = 200
_ABOUT_WHOM: Final = frozenset({"user", "pengguna"})  # is in nearly every memory
NEIGHBOURS: Final = 8
"""Partners per memory of the pool."""
BY_WORDS: Final = 100
"""Memories without a vector whose partners are found by words."""
_WORD_MATCHES: Final = 4 * NEIGHBOURS  # spare, as the index weighs words differently
_QUERY_TERMS: Final = 32
SAME: Final = "says the same"
NOTHING_NEW: Final = "says nothing new"
MORE_SPECIFIC: Final = "more specific"
CONTRADICTION: Final = "contradicts what was known"
ALIKE: Final = "about the same"
APART: Final = "not near enough to be linked"
MAY_NOT_GO: Final = "neither may be taken away"
Near = tuple[int, int, float]
"""The ids of two memories, the lower first, and their similarity."""


def types_beside(kind: MemoryType) -> tuple[MemoryType, ...]:
    """The types that a memory is compared with: procedures only with each other."""
    return (MemoryType.PROCEDURE,) if kind is MemoryType.PROCEDURE else STATEMENT_TYPES


def read_pool(view: ReadTransaction, user_id: str, changed_since: datetime) -> list[Item]:
    """The user's own memories that are worth comparing.

    First those changed since then, then often recalled, then important ones; none that was
    untouched for a season.
    """
    ids = pooled_ids(view.connection, user_id, COMPARED_TYPES, view.now, changed_since)
    found = items_by_id(view.connection, [(user_id, one) for one in ids])
    return [found[one] for one in ids if one in found]


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two memories that may agree or contradict. ``shared`` ones are visible to others too."""

    older: Item
    newer: Item
    similarity: float
    fingerprint: str
    shared: frozenset[int]


def unchecked_pairs(
    database: Database, user_id: str, near: Sequence[Near], changed_since: datetime
) -> Iterator[list[NearPair]]:
    """Pairs that share words and were not compared recently, in order, in blocks.

    While pairs wait, none compared since ``changed_since`` comes again, or the last would never
    have their turn. Pairs of which one was restored after a replacement are left out.
    """
    for start in range(0, len(near), _BLOCK_PAIRS):
        with database.read(user_id) as view:
            since = min(view.now - timedelta(days=limits.CHECKED_PAIR_DAYS), changed_since)
            block = near[start : start + _BLOCK_PAIRS]
            yield _read(view, database.analyser, user_id, block, since)


def _read(
    view: ReadTransaction, analyser: Analyser, user_id: str, near: Sequence[Near], since: datetime
) -> list[NearPair]:
    ids = {one for low, high, _ in near for one in (low, high)}
    found = items_by_id(view.connection, [(user_id, one) for one in ids])
    left_alone = replaced_before(view.connection, user_id, ids)
    shared = shared_among(view.connection, user_id, ids)
    checked = checked_since(view.connection, user_id, {low for low, _, _ in near}, since)
    pairs = []
    for low, high, similarity in near:
        if low not in found or high not in found or not left_alone.isdisjoint((low, high)):
            continue
        one, other = found[low], found[high]
        fingerprint = fingerprint_of(one, other, similarity)
        if checked.get((low, high)) != fingerprint and have_words_in_common(analyser, one, other):
            older, newer = sorted((one, other), key=lambda item: (item.valid_from, item.id))
            pairs.append(NearPair(older, newer, similarity, fingerprint, shared & {low, high}))
    return pairs


def fingerprint_of(one: Item, other: Item, similarity: float) -> str:
    """Identifies a pair; changes when either text or their distance does."""
    low, high = sorted((one, other), key=lambda item: item.id)
    parts = (content_hash(low.content), content_hash(high.content), f"{similarity:.2f}")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def have_words_in_common(analyser: Analyser, one: Item, other: Item) -> bool:
    """Whether two memories share enough words, numbers included, to be about the same."""
    if content_hash(one.content) == content_hash(other.content):
        return True
    first, second = (set(analyser.terms(item.content)) - _ABOUT_WHOM for item in (one, other))
    fewer = min(len(first), len(second))
    return bool(fewer) and len(first & second) >= SHARED_WORDS_MIN * fewer


class Neighbours:
    """Vectors are read once, in blocks, and compared with the whole pool: exact on both databases,
    without an index and without evicting the indexes of searching users. Nothing is embedded.
    """

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
        """Add the near pairs of all memories with a vector; returns those of the pool."""
        with self._database.read(user_id) as view:
            model = self._recall.embedders.chosen(view.connection, user_id).model
            if model is None or not pool:
                return set()
            where = comparable(user_id, COMPARED_TYPES, view.now)
            others = Comparables(user_id, model, where)
            alike = others.vectors(view.connection, [item.id for item in pool])
        if not alike:
            return set()
        own = alike[0]  # vectors of another width are compared by words
        pooled = {item.id: item for item in pool}
        own_kinds = _kinds(
            (pooled[one].type is MemoryType.PROCEDURE, pooled[one].project_id) for one in own.ids
        )
        nearest = Nearest(own.ids, own.matrix, count=NEIGHBOURS, least=self._least)
        after: int | None = 0
        while after is not None:
            with self._database.read(user_id) as view:
                page = others.page(view.connection, own.matrix.shape[1], after)
            of_page = zip(page.types, page.projects, strict=True)
            kinds = _kinds((kind == MemoryType.PROCEDURE, project) for kind, project in of_page)
            nearest.show(page.ids, page.matrix, kinds[:, None] == own_kinds)
            after = page.last
        for item_id, near in nearest.found().items():
            for other, cosine in near:
                found[min(item_id, other), max(item_id, other)] = min(cosine, 1.0)
        return set(own.ids)

    def _by_words(self, user_id: str, item: Item, found: dict[tuple[int, int], float]) -> None:
        """Add the pairs of one memory with enough words in common."""
        analyser = self._database.analyser
        terms = analyser.query_terms(item.content)
        if not terms:
            return
        with self._database.read(user_id) as view:
            where = comparable(user_id, types_beside(item.type), view.now)
            where &= is_of(items, item.project_id)
            matches = self._database.backend.search.matches(
                view.connection, ITEMS, [user_id], terms[:_QUERY_TERMS], where, _WORD_MATCHES
            )
            others = items_by_id(view.connection, [(user_id, one) for one in matches.terms_by_id])
        shares = []
        for other in others.values():
            share = share_of_words(analyser, item.content, other.content)
            if other.id != item.id and share >= self._least:
                shares.append((share, other.id))
        for share, other_id in sorted(shares, key=lambda one: (-one[0], one[1]))[:NEIGHBOURS]:
            found.setdefault((min(item.id, other_id), max(item.id, other_id)), share)


def _kinds(described: Iterable[tuple[bool, str | None]]) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """What is compared has the same number: procedures, and other things, of one project."""
    return np.fromiter((hash(one) for one in described), np.int64)


@dataclass(frozen=True, slots=True)
class Ruling:
    """The decision about a pair. Where both stay, ``kept`` and ``other`` are in any order."""

    pair: NearPair
    action: PairAction
    reason: str
    kept: Item
    other: Item

    @property
    def removes_other(self) -> bool:
        """Whether ``kept`` replaces ``other``."""
        return self.action in (PairAction.MERGE, PairAction.SUPERSEDE)

    @property
    def decision(self) -> PairDecision:
        return PairDecision(
            kept=self.kept.id,
            action=self.action,
            reason=self.reason,
            similarity=round(self.pair.similarity, 4),
            replaced=self.other.id if self.removes_other else None,
            beside=None if self.removes_other else self.other.id,
        )


class PairRules:
    """Decides about pairs. ``link_min`` is the similarity from which pairs are linked.

    Rules for a pair:
    - they contradict, in one theme: the newer supersedes the older;
    - same statement, the newer with more detail: the newer supersedes the older;
    - same statement, the newer with nothing new: merged, the more detailed survives;
    - very similar, words added on one side only: merged;
    - anything else: a model decides; without one, they are linked.

    Rules apply only where all words of one are in the other in the same order: one word exchanged
    or moved may make all the difference (day, person, direction). Contradictions have rules of
    their own.

    A memory stays, linked at most, if it is pinned, shared, keyed unlike the survivor, explicit
    where the survivor is not, or valid longer, or if theme, agent or day differ. A model cannot
    overrule the words: different figures or negations are never the same.
    """

    def __init__(self, analyser: Analyser, redundant_min: float, link_min: float) -> None:
        self._analyser = analyser
        self._redundant_min = redundant_min
        self._link_min = link_min

    def by_words(self, pair: NearPair) -> Ruling | None:
        """The decision by words and similarity; None in doubt.

        Where neither may be removed, no model is needed.
        """
        if not _may_go(pair, pair.older, pair.newer) and not _may_go(pair, pair.newer, pair.older):
            return self.keep_both(pair, MAY_NOT_GO)
        newer, older = pair.newer.content, pair.older.content
        against = opposed(newer, older)
        if against is not None:
            if pair.newer.theme != pair.older.theme or pair.similarity < CONTRADICTION_MIN:
                return None
            return self._supersede(pair, f"{CONTRADICTION}: {against}")
        if not keep_the_order(newer, older):
            return None
        if refines(newer, older):
            return self._supersede(pair, MORE_SPECIFIC)
        if says_nothing_new(newer, older):
            return self._merge(pair, NOTHING_NEW)
        subjects = [{one.subject for one in statements_of(text)} for text in (newer, older)]
        if (
            pair.similarity >= self._redundant_min
            and subjects[0] == subjects[1]
            and share_words(self._analyser, newer, older)
        ):
            return self._merge(pair, SAME)
        return None

    def by_verdict(self, pair: NearPair, verdict: Verdict) -> Ruling:
        """The model's decision, as far as it is allowed."""
        reason = verdict.reason
        one, other = pair.newer.content, pair.older.content
        may_be_same = (
            figures_and_denials(one) == figures_and_denials(other) and opposed(one, other) is None
        )
        if verdict.kind is Relationship.SAME and may_be_same:
            return self._merge(pair, reason or SAME)
        if verdict.kind is Relationship.REFINEMENT:
            return self._supersede(pair, reason or MORE_SPECIFIC)
        if verdict.kind is Relationship.CONTRADICTION:
            return self._supersede(pair, reason or CONTRADICTION)
        return self.keep_both(pair)

    def keep_both(self, pair: NearPair, reason: str | None = None) -> Ruling:
        """Both stay, linked where they are near enough."""
        near = pair.similarity >= self._link_min
        action = PairAction.LINK if near else PairAction.KEEP
        return Ruling(pair, action, reason or (ALIKE if near else APART), pair.newer, pair.older)

    def _supersede(self, pair: NearPair, reason: str) -> Ruling:
        older, newer = pair.older, pair.newer
        if older.key not in (None, newer.key) or not _may_go(pair, older, newer):
            return self.keep_both(pair, MAY_NOT_GO)
        return Ruling(pair, PairAction.SUPERSEDE, reason, pair.newer, pair.older)

    def _merge(self, pair: NearPair, reason: str) -> Ruling:
        best, rest = sorted((pair.older, pair.newer), key=_rank, reverse=True)
        if _says_more(rest, best):
            best, rest = rest, best
        orders = [(best, rest)] if _says_more(best, rest) else [(best, rest), (rest, best)]
        for kept, other in orders:
            # A keyed memory is overwritten some day, with everything merged into it.
            if other.key == kept.key and _may_go(pair, other, kept):
                return Ruling(pair, PairAction.MERGE, reason, kept, other)
        return self.keep_both(pair, MAY_NOT_GO)


def as_question(pair: NearPair) -> Pair:
    return Pair(
        pair.newer.content,
        pair.newer.valid_from,
        pair.older.content,
        pair.older.valid_from,
        pair.similarity,
    )


def _may_go(pair: NearPair, going: Item, staying: Item) -> bool:
    """Whether replacing one memory by the other loses nothing but its text."""
    if going.pinned or going.id in pair.shared or not _are_alike(going, staying):
        return False
    if going.source in ON_PURPOSE and staying.source not in ON_PURPOSE:
        return False
    ends, lasts = staying.expires_at, going.expires_at
    return ends is None or (lasts is not None and lasts <= ends)


def _are_alike(one: Item, other: Item) -> bool:
    """Whether readers of one read the other too: same theme, agent, project and kind; for episodes,
    same day."""
    if (one.theme, one.agent_id, one.project_id) != (other.theme, other.agent_id, other.project_id):
        return False
    if (one.type is MemoryType.INSTRUCTION) != (other.type is MemoryType.INSTRUCTION):
        return False
    if MemoryType.EPISODE in (one.type, other.type):
        return _day_of(one) == _day_of(other)
    return True


def _day_of(item: Item) -> date:
    return item.valid_from.astimezone(UTC).date()


def _says_more(one: Item, other: Item) -> bool:
    """Whether one says everything that the other does, but not vice versa."""
    return says_nothing_new(other.content, one.content) and not says_nothing_new(
        one.content, other.content
    )


def _rank(item: Item) -> tuple[bool, int, bool, int, int, float, int]:
    """Which of two duplicates stays: pinned, rated as of use, explicit, important, often recalled,
    then older."""
    return (
        item.pinned,
        leaning(item.ratings),
        item.source in ON_PURPOSE,
        item.importance,
        item.access_count,
        -item.valid_from.timestamp(),
        -item.id,
    )
