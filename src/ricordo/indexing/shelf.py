"""One user's index in memory: vectors as a matrix, terms as postings.

A search over a shelf is exact, and takes well under a millisecond per thousand rows. A shelf is not
thread-safe: whoever uses it holds its lock (``shelves.py``).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ricordo.indexing.bm25 import LENGTH_SHARE, SATURATION, rarity
from ricordo.indexing.postings import Flags, Ints, Postings
from ricordo.storage.backend import Row

Floats = np.ndarray[tuple[int], np.dtype[np.float32]]

_FIRST_ROWS: Final = 64
_COMPACT_SHARE: Final = 0.25
_KEPT_IMPACTS: Final = 2_000


def best_rows(scores: Any, count: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The places of the highest scores, in no order; of equal ones the last, which are newest."""
    if count >= len(scores):
        return np.arange(len(scores))
    best = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    least = scores[best].min()
    above = best[scores[best] > least]
    equal = np.flatnonzero(scores == least)
    return np.concatenate([above, equal[len(equal) - (count - len(above)) :]])


class Column:
    """Numbers of one kind, one per row, that grows."""

    def __init__(self, kind: Any, width: int = 0, rows: int = _FIRST_ROWS) -> None:
        self._values = np.zeros((rows, width) if width else rows, kind)

    def set(self, row: int, value: Any) -> None:
        """Give a row its value, making room when needed."""
        if row >= len(self._values):
            self._make_room(row + 1)
        self._values[row] = value

    def fill(self, start: int, values: Any) -> None:
        """Give several rows their values at once."""
        if start + len(values) > len(self._values):
            self._make_room(start + len(values))
        self._values[start : start + len(values)] = values

    def _make_room(self, rows: int) -> None:
        grown = np.zeros((rows * 5 // 4 + 1, *self._values.shape[1:]), self._values.dtype)
        grown[: len(self._values)] = self._values
        self._values = grown

    def head(self, rows: int) -> Any:
        """The values of the first rows, without a copy; rows that were never set are zero."""
        if rows > len(self._values):
            self._make_room(rows)
        return self._values[:rows]

    @property
    def nbytes(self) -> int:
        """How much memory the values take."""
        return self._values.nbytes


class Shelf:
    """Rows with an id, terms and perhaps a vector.

    A row that is replaced or taken away keeps its place, marked dead.
    """

    def __init__(self, expected_rows: int = _FIRST_ROWS) -> None:
        self._expected_rows = max(expected_rows, _FIRST_ROWS)
        self.rows = 0
        self.row_of: dict[int, int] = {}
        self._ids = Column(np.int64)
        self._alive = Column(np.bool_)
        self._lengths = Column(np.float32)
        self._digests = Column(np.int64)
        self._has_vector = Column(np.bool_)
        self._vectors: Column | None = None
        self._postings = Postings()
        self._dead_have_words = False
        self._norms: Floats | None = None
        self._impacts: dict[str, tuple[Ints, Floats]] = {}

    @property
    def size(self) -> int:
        """How many rows are there."""
        return len(self.row_of)

    @property
    def needs_compacting(self) -> bool:
        """True where too much of the shelf is taken by what was replaced or taken away."""
        return self._is_worn(self.rows - self.size)

    def can_let_go(self, count: int) -> bool:
        """Whether so many rows can be taken away; if not, the shelf is to be made anew."""
        return not self._is_worn(self.rows - self.size + count)

    def _is_worn(self, dead: int) -> bool:
        return dead > _FIRST_ROWS + self.rows * _COMPACT_SHARE

    @property
    def nbytes(self) -> int:
        """About how much memory the shelf takes."""
        vectors = 0 if self._vectors is None else self._vectors.nbytes
        return vectors + self._postings.nbytes + self.rows * 150

    @property
    def ids(self) -> Ints:
        """The id of each row, dead ones included."""
        return self._ids.head(self.rows)  # type: ignore[no-any-return]

    @property
    def alive(self) -> Flags:
        """Which rows count."""
        return self._alive.head(self.rows)  # type: ignore[no-any-return]

    @property
    def with_vector(self) -> Flags:
        """Which rows can be compared by meaning."""
        return self._has_vector.head(self.rows)  # type: ignore[no-any-return]

    @property
    def vocabulary(self) -> Collection[str]:
        """Every term that stands in a row."""
        self._drop_words_of_dead()
        return self._postings.terms

    def take(self, stored: Sequence[tuple[Any, ...]], vectors: Sequence[Row | None]) -> None:
        """Put rows as ``index_reading`` gives them onto the shelf, new ones together."""
        fresh = []
        for row, vector in zip(stored, vectors, strict=True):
            if row[0] in self.row_of:
                self.put(row[0], row[1], vector)
            else:
                fresh.append((row, vector))
        if fresh:
            self._append_all([row for row, _ in fresh], [vector for _, vector in fresh])

    def put(self, row_id: int, terms: str, vector: Row | None) -> int:
        """Add a row, or replace the one of the same id; its place."""
        digest = hash(terms)
        row = self.row_of.get(row_id)
        if row is None or self._digests.head(self.rows)[row] != digest:
            if row is not None:
                self._alive.set(row, False)
                self._dead_have_words = True
            row = self._append(row_id, terms)
        self._set_vector(row, vector)
        return row

    def let_go(self, row_ids: Collection[int]) -> None:
        """Take rows away. Nothing of what they said stays in memory: no word and no vector."""
        places = [self.row_of.pop(row_id) for row_id in row_ids]
        if not places:
            return
        self.alive[places] = False
        self.with_vector[places] = False
        self._digests.head(self.rows)[places] = 0
        if self._vectors is not None:
            self._vectors.head(self.rows)[places] = 0.0
        self._dead_have_words = True
        self._drop_words_of_dead()

    def frequency(self, term: str) -> int:
        """In how many rows a term stands."""
        if self._dead_have_words and term in self._postings:
            return int(self.alive[self._postings.rows(term)].sum())
        return self._postings.frequency(term)

    def lexical(self, weights: Mapping[str, float]) -> Floats:
        """The BM25 score of every row, given what each term is worth."""
        scores = np.zeros(self.rows, np.float32)
        for term, weight in weights.items():
            if term in self._postings:
                rows, impact = self._impact(term)
                scores[rows] += np.float32(weight) * impact
        if self._dead_have_words:
            scores[~self.alive] = 0.0
        return scores

    def coverage(self, shares: Mapping[str, float]) -> Floats:
        """The sum over the terms that each row has of what they make up of a question."""
        covered = np.zeros(self.rows, np.float32)
        for term, share in shares.items():
            if term in self._postings:
                covered[self._impact(term)[0]] += np.float32(share)
        return covered

    def rows_with(self, terms: Sequence[str], rows: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each term, which of some rows have it."""
        found = np.zeros((len(terms), len(rows)), np.bool_)
        for place, term in enumerate(terms):
            if term in self._postings:
                having, _ = self._impact(term)
                at = np.searchsorted(having, rows)  # postings grow in the order of the rows
                found[place] = having[np.minimum(at, len(having) - 1)] == rows
        return found

    def cosines(self, query: Row) -> Floats | None:
        """How near every row is by meaning; None where nothing can be compared."""
        if self._vectors is None or self._vectors.head(1).shape[1] != len(query):
            return None
        return self._vectors.head(self.rows) @ query  # type: ignore[no-any-return]

    def cosines_to(
        self, queries: np.ndarray[Any, np.dtype[np.float32]]
    ) -> np.ndarray[Any, np.dtype[np.float32]] | None:
        """How near every row (down) is to each of several vectors (across)."""
        if self._vectors is None or self._vectors.head(1).shape[1] != queries.shape[1]:
            return None
        return self._vectors.head(self.rows) @ queries.T  # type: ignore[no-any-return]

    def _append(self, row_id: int, terms: str) -> int:
        row = self.rows
        self._append_all([(row_id, terms)], [None])
        return row

    def _append_all(self, stored: Sequence[tuple[Any, ...]], vectors: Sequence[Row | None]) -> None:
        start = self.rows
        self.rows += len(stored)
        self._ids.fill(start, [one[0] for one in stored])
        self._alive.fill(start, [True] * len(stored))
        self._digests.fill(start, [hash(one[1]) for one in stored])
        post = self._postings.add
        self._lengths.fill(start, [post(start + n, one[1]) for n, one in enumerate(stored)])
        self._has_vector.fill(start, [False] * len(stored))
        for place, (one, vector) in enumerate(zip(stored, vectors, strict=True), start=start):
            self.row_of[one[0]] = place
            if vector is not None:
                self._set_vector(place, vector)
        self._norms = None
        self._impacts.clear()

    def _drop_words_of_dead(self) -> None:
        if self._dead_have_words:
            self._norms = None
            self._impacts.clear()
            self._postings.keep_only(self.alive)
            self._dead_have_words = False

    def _set_vector(self, row: int, vector: Row | None) -> None:
        if vector is None:
            self._has_vector.set(row, False)
            return
        if self._vectors is None:
            self._vectors = Column(np.float32, len(vector), self._expected_rows)
        if self._vectors.head(1).shape[1] != len(vector):
            return  # another width cannot be compared; the row is found by its words
        self._vectors.set(row, vector)
        self._has_vector.set(row, True)

    def _impact(self, term: str) -> tuple[Ints, Floats]:
        """The rows of a term, and what it adds to the score of each before it is weighed.

        Worked out when a term is first asked for, and kept until a row is added or taken away.
        """
        found = self._impacts.get(term)
        if found is None:
            if len(self._impacts) >= _KEPT_IMPACTS:
                self._impacts.clear()
            rows = self._postings.rows(term)
            counts = self._postings.counts(term).astype(np.float32)
            impact = (SATURATION + 1) * counts / (counts + self._length_norms()[rows])
            found = self._impacts[term] = (rows, impact.astype(np.float32))
        return found

    def _length_norms(self) -> Floats:
        if self._norms is None:
            lengths = self._lengths.head(self.rows)
            mean = max(float(lengths[self.alive].mean()) if self.size else 1.0, 1.0)
            self._norms = (SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / mean)).astype(
                np.float32
            )
        return self._norms


def term_weights(shelves: Sequence[Shelf], terms: Mapping[str, float]) -> dict[str, float]:
    """What a match of each term is worth over several shelves together.

    ``terms`` are those of the question, each with how surely it is meant (1 unless guessed).
    """
    documents = sum(shelf.size for shelf in shelves)
    found = {term: sum(shelf.frequency(term) for shelf in shelves) for term in terms}
    return {
        term: sure * rarity(max(documents, found[term]), found[term])
        for term, sure in terms.items()
        if found[term]
    }
