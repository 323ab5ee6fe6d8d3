"""The audit of a user's memories: duplicates, contradictions, junk, unverified and expired ones."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import sqlalchemy as sa

from ricordo.formation.decisions import past_decisions
from ricordo.formation.resources import patterns, words
from ricordo.formation.sensitive import words_of
from ricordo.formation.statements import CONTRADICTION_MIN, opposed, share_words
from ricordo.frozen import dataclass
from ricordo.limits import MAX_CONTENT_CHARS, MAX_PAGE_ITEMS
from ricordo.model import checks
from ricordo.model.checks import format_moment
from ricordo.model.embedding import VectorModel
from ricordo.model.item import Item, counted, doubts_of_agents
from ricordo.model.reports import AuditReport, Finding, Findings
from ricordo.model.vocabulary import Action, MemoryType, Source, Status
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.items import find_items
from ricordo.storage.relations import relations_of
from ricordo.storage.search_rows import whole_index
from ricordo.storage.sql import Matrix, matrix_of
from ricordo.storage.tables import ITEMS, items
from ricordo.text.analyser import Analyser
from ricordo.text.normalise import content_hash, fold_letters, is_dense, lazy_pattern

_FEWEST_WORDS: Final = 2
_FEWEST_DENSE_SIGNS: Final = 3  # in scripts without spaces
_QUOTED: Final = lazy_pattern(r"\"[^\"]{1,300}\"|“[^”]{1,300}”|«[^»]{1,300}»|「[^」]{1,300}」")
_SUSPECTS: Final = {
    title.removeprefix("suspected "): found
    for title, found in patterns("audit", "suspected ", re.DOTALL).items()
}
_FIRST_OR_SECOND_PERSON: Final = words("audit", "first or second person")
_MAY_ADDRESS: Final = frozenset(
    {MemoryType.INSTRUCTION, MemoryType.PROCEDURE, MemoryType.SUMMARY, MemoryType.OTHER}
)

MAX_COMPARED_MEMORIES: Final = 20_000
"""Up to this many memories of a user are all compared with each other (some seconds)."""

_BLOCK_ROWS: Final = 64  # of one matrix product: at most 5 MB of cosines
_RELATION_BATCH: Final = 500

Pair = tuple[int, int, float]
"""The indexes of two memories, the smaller first, and their cosine."""

DOUBTFUL_BELOW: Final = 60
"""Memories with less confidence should be verified."""
UNVERIFIED_DAYS: Final = 90
"""A memory from a conversation should be verified within this time."""
MAX_COUNTED_FINDINGS: Final = 10_000
"""Per kind."""
MAX_EXAMINED_PAIRS: Final = 100_000
"""Pairs of similar memories whose words are compared."""
MAX_PAIRED_MEMORIES: Final = 100_000
"""The oldest memories are checked for duplicates and contradictions."""

_PAGE_ROWS: Final = 1_000
_KEPT_CHARS: Final = 500  # of a memory: at most 50 MB in all


def junk_reason(content: str, type: MemoryType) -> str | None:
    """Why a memory looks like junk, or None.

    Instructions and procedures may say "you" and "me": they are addressed to the assistant.
    """
    plain = fold_letters(content[:MAX_CONTENT_CHARS]).strip()
    for reason, suspect in _SUSPECTS.items():
        if suspect.search(plain):
            return reason
    words = words_of(plain)
    dense = sum(is_dense(sign) for sign in plain)
    if len(words) < _FEWEST_WORDS and dense < _FEWEST_DENSE_SIGNS:
        return "shorter than two words"
    if type not in _MAY_ADDRESS:
        said = set(words_of(_QUOTED.sub(" ", plain)))
        if not said.isdisjoint(_FIRST_OR_SECOND_PERSON):
            return "first or second person"
    return None


def _vectors(
    connection: sa.Connection, user_id: str, model: VectorModel, ids: Sequence[int]
) -> tuple[list[int], Matrix]:
    """The comparable vectors of these memories, if they have one, after the indexes of these."""
    place_of = {item_id: place for place, item_id in enumerate(ids)}
    places: list[int] = []
    blocks: list[Matrix] = []
    for page in whole_index(connection, ITEMS, user_id, model):
        rows = [row for row in page if row[2] is not None and row[0] in place_of]
        width = len(rows[0][2]) if rows else 0
        kept = [row for row in rows if len(row[2]) == width]
        if kept:
            block = matrix_of(connection, [row[2] for row in kept])
            if not blocks or block.shape[1] == blocks[0].shape[1]:
                blocks.append(block)
                places += [place_of[row[0]] for row in kept]
    return places, np.concatenate(blocks) if blocks else np.zeros((0, 0), np.float32)


def _similar(state: "_Audit", places: Sequence[int], matrix: Matrix) -> Iterator[Pair]:
    """Very similar pairs, and somewhat similar ones under the same theme, each once."""
    _, themes = np.unique([state.kept[place].theme for place in places], return_inverse=True)
    for start in range(0, len(matrix), _BLOCK_ROWS):
        cosines = matrix[start : start + _BLOCK_ROWS] @ matrix[start:].T
        same_theme = themes[start : start + len(cosines), None] == themes[None, start:]
        near = (cosines >= state.redundant_min) | (same_theme & (cosines >= CONTRADICTION_MIN))
        for row, column in np.argwhere(np.triu(near, 1)):  # not itself, nor reversed
            one, other = sorted((places[start + row], places[start + column]))
            yield one, other, float(cosines[row, column])


def _related(connection: sa.Connection, user_id: str, ids: Sequence[int]) -> Iterator[Pair]:
    place_of = {item_id: place for place, item_id in enumerate(ids)}
    for start in range(0, len(ids), _RELATION_BATCH):
        batch = ids[start : start + _RELATION_BATCH]
        for low, high, similarity in sorted(relations_of(connection, user_id, batch)):
            one, other = place_of.get(low), place_of.get(high)
            if one is None or other is None:
                continue
            # A pair in two batches is found twice: it counts in the first.
            first, second = min(one, other), max(one, other)
            if first >= start:
                yield first, second, similarity


@dataclass(frozen=True, slots=True)
class _Kept:
    id: int
    theme: str
    text: str
    digest: str
    project: str | None


class _Kind:
    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.is_complete = True

    def add(self, *ids: int, reason: str, similarity: float | None = None) -> None:
        if len(self.found) >= MAX_COUNTED_FINDINGS:
            self.is_complete = False
        else:
            self.found.append(Finding(ids=ids, reason=reason, similarity=similarity))

    def findings(self, limit: int) -> Findings:
        """The most similar first, then by id."""
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
    thread_id: str | None = None,
    action: Action | None = None,
) -> AuditReport:
    """Audit a user's own active memories; at most ``limit`` findings of a kind are listed.

    Also the latest decisions of formation; ``thread_id`` and ``action`` select among them.

    Reads only. Memory and time are bounded however much is stored; ``is_complete`` says where a
    bound was reached. Raises InvalidValue: a limit below 1 or above 1000, or a ``redundant_min``
    outside of 0 to 1.
    """
    most = checks.integer("limit", limit, 1, MAX_PAGE_ITEMS)
    near = checks.number("redundant_min", redundant_min, 0, 1)
    with database.read(user_id) as view:
        state = _Audit(view.now, database.analyser, near)
        for item in _active(view, user_id):
            state.check(item)
        state.compare(_pairs(view, recall, user_id, state))
        decisions = past_decisions(view.connection, user_id, thread_id, action, most)
    return AuditReport(
        user_id=user_id,
        memories=state.memories,
        duplicates=state.duplicates.findings(most),
        contradictions=state.contradictions.findings(most),
        junk=state.junk.findings(most),
        unverified=state.unverified.findings(most),
        expired=state.expired.findings(most),
        decisions=decisions,
    )


class _Audit:
    def __init__(self, now: datetime, analyser: Analyser, redundant_min: float) -> None:
        self._now = now
        self._analyser = analyser
        self.redundant_min = redundant_min
        self.memories = 0
        self.kept: list[_Kept] = []
        self._first_with: dict[tuple[str, str | None], int] = {}
        self.duplicates = _Kind()
        self.contradictions = _Kind()
        self.junk = _Kind()
        self.unverified = _Kind()
        self.expired = _Kind()

    def check(self, item: Item) -> None:
        """Check one memory by itself, and keep what comparisons need."""
        if item.expires_at is not None and item.expires_at <= self._now:
            self.expired.add(item.id, reason=f"expired at {format_moment(item.expires_at)}")
            return  # no read returns it
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
        text = item.content[:_KEPT_CHARS]
        self.kept.append(_Kept(item.id, item.theme, text, digest, item.project_id))
        first = self._first_with.setdefault((digest, item.project_id), place)
        if first != place:
            self.duplicates.add(
                self.kept[first].id, item.id, reason="same text in another theme", similarity=1.0
            )

    def compare(self, pairs: Iterable[Pair]) -> None:
        for examined, (first, second, similarity) in enumerate(pairs):
            if examined >= MAX_EXAMINED_PAIRS:
                self.duplicates.is_complete = self.contradictions.is_complete = False
                return
            one, other = self.kept[first], self.kept[second]
            if one.project != other.project:
                continue
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


def _active(view: ReadTransaction, user_id: str) -> Iterator[Item]:
    after = 0
    own = sa.and_(items.c.user_id == user_id, items.c.status == Status.ACTIVE.value)
    while page := find_items(view.connection, own & (items.c.id > after), _PAGE_ROWS):
        yield from page
        after = page[-1].id


def _doubt(item: Item, now: datetime) -> str | None:
    doubts = doubts_of_agents(counted(item.ratings))
    if doubts:
        latest = max(doubts, key=lambda one: one.at)
        return f"called {latest.verdict} by the agent {latest.by}"
    if item.last_verified_at is not None:
        return None
    if item.confidence < DOUBTFUL_BELOW:
        return f"confidence {item.confidence}, never verified"
    age = now - item.created_at
    if item.source is Source.CONVERSATION and age > timedelta(days=UNVERIFIED_DAYS):
        return f"learned in a conversation {age.days} days ago, never verified"
    return None


def _pairs(view: ReadTransaction, recall: Recall, user_id: str, state: _Audit) -> Iterator[Pair]:
    """Pairs of similar memories: by vectors or, without vectors, the recorded relations."""
    ids = [one.id for one in state.kept]
    model = recall.embedders.chosen(view.connection, user_id).model
    compared: set[int] = set()
    if model is not None and len(ids) <= MAX_COMPARED_MEMORIES:
        places, matrix = _vectors(view.connection, user_id, model, ids)
        compared.update(places)
        yield from _similar(state, places, matrix)
    if len(compared) == len(ids):
        return
    state.duplicates.is_complete = state.contradictions.is_complete = False
    for pair in _related(view.connection, user_id, ids):
        if not compared.issuperset(pair[:2]):
            yield pair
