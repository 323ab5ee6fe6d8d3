"""An audit: what is stored for a user that may be wrong, needless or out of date.

It reads and reports; nothing is changed. Memory and time are bounded however much is stored: the
counts say where they stopped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import sqlalchemy as sa

from ricordo.formation.comparing.likeness import CONTRADICTION_MIN, share_words
from ricordo.formation.comparing.opposition import opposed
from ricordo.formation.looking_over.junk import junk_reason
from ricordo.formation.looking_over.near_pairs import (
    MAX_COMPARED_MEMORIES,
    Pair,
    Selection,
    Vectors,
    Wanted,
    pairs_of_relations,
    pairs_of_vectors,
    read_vectors,
)
from ricordo.limits import MAX_PAGE_ITEMS
from ricordo.model import checks
from ricordo.model.checks import format_moment
from ricordo.model.item import Item
from ricordo.model.reports import AuditReport, Finding, Findings
from ricordo.model.vocabulary import Source, Status
from ricordo.recall.service import Recall
from ricordo.storage.backend import Matrix
from ricordo.storage.database import Database, Reading
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import content_hash

DOUBTFUL_BELOW: Final = 60
"""A memory of less confidence should be verified."""
UNVERIFIED_DAYS: Final = 90
"""So long after it was learned from a conversation, a memory should have been verified."""
MAX_COUNTED_FINDINGS: Final = 10_000
"""Findings of one kind are counted up to here."""
MAX_EXAMINED_PAIRS: Final = 100_000
"""Pairs of near memories whose words are compared."""
MAX_PAIRED_MEMORIES: Final = 100_000
"""Memories, the oldest, that are looked at for duplicates and contradictions."""

_PAGE_ROWS: Final = 1_000
_KEPT_CHARS: Final = 500  # of a memory, for comparing it: 50 MB of the most memories at worst


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept of a memory to compare it with others."""

    id: int
    theme: str
    text: str
    digest: str


class _Kind:
    """Findings of one kind as they are found."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.is_complete = True

    def add(self, *ids: int, reason: str, similarity: float | None = None) -> None:
        if len(self.found) >= MAX_COUNTED_FINDINGS:
            self.is_complete = False
        else:
            self.found.append(Finding(ids=ids, reason=reason, similarity=similarity))

    def findings(self, limit: int) -> Findings:
        """The most similar first, then in the order of their ids."""
        ordered = sorted(self.found, key=lambda one: (-(one.similarity or 0.0), one.ids))
        return Findings(
            count=len(self.found), listed=tuple(ordered[:limit]), is_complete=self.is_complete
        )


def audit(
    database: Database,
    recall: Recall,
    user_id: str,
    *,
    limit: int,
    redundant_min: float,
) -> AuditReport:
    """Look over a user's own active memories; at most ``limit`` findings of a kind are listed.

    Raises:
        InvalidValue: a limit below 1 or above 1000, or a ``redundant_min`` outside of 0 to 1.
    """
    most = checks.integer("limit", limit, 1, MAX_PAGE_ITEMS)
    near = checks.number("redundant_min", redundant_min, 0, 1)
    with database.read(user_id) as view:
        looked = _Audit(view.now, database.analyser, near)
        for item in _active(view, user_id):
            looked.look_at(item)
        looked.compare(_pairs(view, recall, user_id, looked))
    return AuditReport(
        user_id=user_id,
        memories=looked.memories,
        duplicates=looked.duplicates.findings(most),
        contradictions=looked.contradictions.findings(most),
        junk=looked.junk.findings(most),
        unverified=looked.unverified.findings(most),
        expired=looked.expired.findings(most),
    )


class _Audit:
    """One audit while it goes on."""

    def __init__(self, now: datetime, analyser: Analyser, redundant_min: float) -> None:
        self._now = now
        self._analyser = analyser
        self.redundant_min = redundant_min
        self.memories = 0
        self.kept: list[_Kept] = []
        self._first_with: dict[str, int] = {}
        self.duplicates = _Kind()
        self.contradictions = _Kind()
        self.junk = _Kind()
        self.unverified = _Kind()
        self.expired = _Kind()

    def look_at(self, item: Item) -> None:
        """Check one memory by itself, and keep what is needed to compare it."""
        if item.expires_at is not None and item.expires_at <= self._now:
            self.expired.add(item.id, reason=f"expired at {format_moment(item.expires_at)}")
            return  # gone for every read
        self.memories += 1
        suspicion = junk_reason(item.content, item.type)
        if suspicion is not None:
            self.junk.add(item.id, reason=suspicion)
        doubt = _doubt(item, self._now)
        if doubt is not None:
            self.unverified.add(item.id, reason=doubt)
        if len(self.kept) < MAX_PAIRED_MEMORIES:
            self._keep(item)
        else:
            self.duplicates.is_complete = self.contradictions.is_complete = False

    def _keep(self, item: Item) -> None:
        digest = content_hash(item.content)
        place = len(self.kept)
        self.kept.append(_Kept(item.id, item.theme, item.content[:_KEPT_CHARS], digest))
        first = self._first_with.setdefault(digest, place)
        if first != place:
            self.duplicates.add(
                self.kept[first].id, item.id, reason="same text in another theme", similarity=1.0
            )

    def compare(self, pairs: Iterable[Pair]) -> None:
        """Check near memories for saying the same, or the opposite."""
        for examined, (first, second, similarity) in enumerate(pairs):
            if examined >= MAX_EXAMINED_PAIRS:
                self.duplicates.is_complete = self.contradictions.is_complete = False
                return
            one, other = self.kept[first], self.kept[second]
            if one.digest == other.digest:
                continue  # counted already
            rounded = round(min(similarity, 1.0), 4)
            reason = opposed(one.text, other.text)
            if reason is not None:
                if one.theme == other.theme and similarity >= CONTRADICTION_MIN:
                    self.contradictions.add(one.id, other.id, reason=reason, similarity=rounded)
            elif similarity >= self.redundant_min and share_words(
                self._analyser, one.text, other.text
            ):
                self.duplicates.add(one.id, other.id, reason="says the same", similarity=rounded)


def _active(view: Reading, user_id: str) -> Iterator[Item]:
    after = 0
    own = sa.and_(items.c.user_id == user_id, items.c.status == Status.ACTIVE.value)
    while page := find_items(view.connection, own & (items.c.id > after), _PAGE_ROWS):
        yield from page
        after = page[-1].id


def _doubt(item: Item, now: datetime) -> str | None:
    if item.last_verified_at is not None:
        return None
    if item.confidence < DOUBTFUL_BELOW:
        return f"confidence {item.confidence}, never verified"
    age = now - item.created_at
    if item.source is Source.CONVERSATION and age > timedelta(days=UNVERIFIED_DAYS):
        return f"learned in a conversation {age.days} days ago, never verified"
    return None


def _pairs(view: Reading, recall: Recall, user_id: str, looked: _Audit) -> Iterator[Pair]:
    """Pairs of near memories: by their vectors or, without, as noted when they were written."""
    ids = [one.id for one in looked.kept]
    model = recall.embedders.chosen(view.connection, user_id).model
    compared: set[int] = set()
    if model is not None and len(ids) <= MAX_COMPARED_MEMORIES:
        vectors = read_vectors(view.connection, user_id, model, ids)
        compared.update(vectors.places.tolist())
        yield from pairs_of_vectors(vectors, _near(looked, vectors))
    if len(compared) == len(ids):
        return
    looked.duplicates.is_complete = looked.contradictions.is_complete = False
    for pair in pairs_of_relations(view.connection, user_id, ids):
        if not compared.issuperset(pair[:2]):
            yield pair


def _near(looked: _Audit, vectors: Vectors) -> Selection:
    """Which pairs are worth comparing: much alike, or somewhat alike under the same theme."""
    codes: dict[str, int] = {}
    themes = np.asarray(
        [codes.setdefault(looked.kept[place].theme, len(codes)) for place in vectors.places]
    )

    def wanted(cosines: Matrix, start: int) -> Wanted:
        same_theme = themes[start : start + len(cosines), None] == themes[None, start:]
        chosen: Wanted = (cosines >= looked.redundant_min) | (
            same_theme & (cosines >= CONTRADICTION_MIN)
        )
        return chosen

    return wanted
