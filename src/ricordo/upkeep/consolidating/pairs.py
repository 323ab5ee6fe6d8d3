"""Pairs of memories that are near enough to be held against each other."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ricordo import limits
from ricordo.model.item import Item
from ricordo.storage.database import Database, Reading
from ricordo.storage.items import items_by_id, replaced_before, shared_among
from ricordo.storage.relations import checked_since
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import content_hash

SHARED_WORDS_MIN: Final = 0.25
"""The least share of the shorter text's content words that two memories have in common.

Low on purpose: two homes ("lives in …") share one word of two, and a statement put otherwise often
keeps only its noun. What shares nothing but the user is about something else, however near the
vectors lie."""

_BLOCK_PAIRS: Final = 200
_ABOUT_WHOM: Final = frozenset({"user", "pengguna"})  # stands in nearly every memory

Near = tuple[int, int, float]
"""The ids of two memories, the lower first, and how similar they are."""


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two memories that may say the same, or the opposite. ``shared`` are those others see too."""

    older: Item
    newer: Item
    similarity: float
    fingerprint: str
    shared: frozenset[int]


def unchecked_pairs(
    database: Database, user_id: str, near: Sequence[Near], changed_since: datetime
) -> Iterator[list[NearPair]]:
    """Pairs that share words and were not looked at lately, in their order, block by block.

    While changes since an earlier time are looked at, because pairs wait, none that was looked at
    since then comes again: or the last of them would never have their turn. Left out is what
    somebody has brought back after it was replaced: once is enough.
    """
    for start in range(0, len(near), _BLOCK_PAIRS):
        with database.read(user_id) as view:
            since = min(view.now - timedelta(days=limits.CHECKED_PAIR_DAYS), changed_since)
            block = near[start : start + _BLOCK_PAIRS]
            yield _read(view, database.analyser, user_id, block, since)


def _read(
    view: Reading,
    analyser: Analyser,
    user_id: str,
    near: Sequence[Near],
    since: datetime,
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
    """By which a pair is known again; another one when either text or their distance changes."""
    low, high = sorted((one, other), key=lambda item: item.id)
    parts = (content_hash(low.content), content_hash(high.content), f"{similarity:.2f}")
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def have_words_in_common(analyser: Analyser, one: Item, other: Item) -> bool:
    """True where two memories share enough words, numbers included, to be about the same."""
    if content_hash(one.content) == content_hash(other.content):
        return True
    first, second = (set(analyser.terms(item.content)) - _ABOUT_WHOM for item in (one, other))
    fewer = min(len(first), len(second))
    return bool(fewer) and len(first & second) >= SHARED_WORDS_MIN * fewer
