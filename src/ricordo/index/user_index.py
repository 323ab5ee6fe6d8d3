"""One user's search index in memory: vectors as a matrix of 16-bit numbers, terms as postings."""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, KeysView, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, Generic, TypeVar

import numpy as np

from ricordo.storage.sql import Matrix, Row, dot_products
from ricordo.text.trigrams import TrigramIndex, similar_terms

FIRST_ROWS: Final = 64


class Column:
    """A growing array with one number per row."""

    def __init__(self, kind: Any, width: int = 0, rows: int = FIRST_ROWS) -> None:
        self._values = np.zeros((rows, width) if width else rows, kind)

    def set(self, row: int, value: Any) -> None:
        if row >= len(self._values):
            self._make_room(row + 1)
        self._values[row] = value

    def fill(self, start: int, values: Any) -> None:
        if start + len(values) > len(self._values):
            self._make_room(start + len(values))
        self._values[start : start + len(values)] = values

    def _make_room(self, rows: int) -> None:
        grown = np.zeros((rows * 5 // 4 + 1, *self._values.shape[1:]), self._values.dtype)
        grown[: len(self._values)] = self._values
        self._values = grown

    def head(self, rows: int) -> Any:
        """A view of the first rows; unset rows are zero."""
        if rows > len(self._values):
            self._make_room(rows)
        return self._values[:rows]

    @property
    def nbytes(self) -> int:
        return self._values.nbytes


_MOST: Final = 32_767
_BLOCK_ROWS: Final = 256  # what is unpacked at a time stays in the processor's cache


class PackedVectors:
    """Each number in sixteen bits, with a scale for each vector: cosines are right to 0.00001.

    Unpacking them takes no longer than reading twice as much from memory would.
    """

    def __init__(self, width: int, rows: int) -> None:
        self.width = width
        self._numbers = Column(np.int16, width, rows)
        self._scales = Column(np.float32, 0, rows)

    @property
    def nbytes(self) -> int:
        return self._numbers.nbytes + self._scales.nbytes

    def put(self, rows: Sequence[int], vectors: Sequence[Row | None]) -> None:
        given = np.array(vectors, np.float32)
        scales = np.maximum(np.abs(given).max(axis=1), np.finfo(np.float32).tiny) / _MOST
        count = max(rows) + 1
        self._numbers.head(count)[rows] = np.rint(given / scales[:, None])
        self._scales.head(count)[rows] = scales

    def clear(self, rows: Sequence[int]) -> None:
        count = max(rows) + 1
        self._numbers.head(count)[rows] = 0

    def cosines(self, rows: int, query: Row) -> Row:
        """Of each of the first rows with a vector."""
        found = np.empty(rows, np.float32)
        for start, block in self._blocks(rows):
            found[start : start + len(block)] = dot_products(block, query)
        found *= self._scales.head(rows)
        return np.clip(found, -1.0, 1.0, out=found)

    def cosines_to(self, rows: int, queries: Matrix) -> Matrix:
        """Of each of the first rows (down) with each of several vectors (across)."""
        if len(queries) == 1:  # for which BLAS would wake its threads at each block
            return self.cosines(rows, queries[0])[:, None]
        found = np.empty((rows, len(queries)), np.float32)
        for start, block in self._blocks(rows):
            np.matmul(block, queries.T, out=found[start : start + len(block)])
        found *= self._scales.head(rows)[:, None]
        return np.clip(found, -1.0, 1.0, out=found)

    def _blocks(self, rows: int) -> Any:
        """The numbers by their first rows, each block in the place of the last."""
        unpacked = np.empty((_BLOCK_ROWS, self.width), np.float32)
        numbers = self._numbers.head(rows)
        for start in range(0, rows, _BLOCK_ROWS):
            packed = numbers[start : start + _BLOCK_ROWS]
            block = unpacked[: len(packed)]
            np.copyto(block, packed)
            yield start, block


SATURATION: Final = 1.2
"""BM25's k1: how soon repeated terms stop counting more."""

LENGTH_SHARE: Final = 0.75
"""BM25's b: how much long texts are penalised."""


def rarity(documents: int, frequency: int) -> float:
    """BM25's inverse document frequency, never negative."""
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def score(terms: str, weights: Mapping[str, float], mean_length: float) -> float:
    """The BM25 score of one text, given the weights of the query's terms."""
    counts = Counter(terms.split())
    length = counts.total()
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / max(mean_length, 1.0))
    return sum(
        weight * counts[term] * (SATURATION + 1) / (counts[term] + norm)
        for term, weight in weights.items()
        if term in counts
    )


Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

_COUNT_BITS: Final = 8
_MAX_COUNT: Final = (1 << _COUNT_BITS) - 1
_BYTES_PER_TERM: Final = 200  # a dictionary entry, its key and a small array
_BYTES_PER_POSTING: Final = 8
_TERMS_AT_ONCE: Final = 4_096  # looked through together, which bounds the memory that it takes


class Postings:
    def __init__(self) -> None:
        # A posting is a row and its term count, packed into one integer.
        self._by_term: defaultdict[str, array[int]] = defaultdict(partial(array, "q"))
        self._postings = 0

    def __contains__(self, term: str) -> bool:
        return term in self._by_term

    @property
    def terms(self) -> KeysView[str]:
        return self._by_term.keys()

    @property
    def nbytes(self) -> int:
        return len(self._by_term) * _BYTES_PER_TERM + self._postings * _BYTES_PER_POSTING

    def add(self, row: int, terms: str) -> int:
        words = terms.split()
        by_term = self._by_term
        shifted = row << _COUNT_BITS
        once = dict.fromkeys(words)
        if len(once) == len(words):
            for term in words:
                by_term[term].append(shifted | 1)
        else:
            for term, count in Counter(words).items():
                by_term[term].append(shifted | min(count, _MAX_COUNT))
        self._postings += len(once)
        return len(words)

    def frequency(self, term: str) -> int:
        return len(self._by_term.get(term, ()))

    def rows(self, term: str) -> Ints:
        return self._packed(term) >> _COUNT_BITS

    def counts(self, term: str) -> Ints:
        return self._packed(term) & _MAX_COUNT

    def keep_only(self, wanted: Flags) -> None:
        """Remove all other rows, and terms without rows.

        Rows do not know their terms, so all terms are scanned.
        """
        terms = iter(list(self._by_term))
        while some := list(islice(terms, _TERMS_AT_ONCE)):
            self._keep_only(wanted, some)

    def _keep_only(self, wanted: Flags, terms: Sequence[str]) -> None:
        """The same for some terms, whose postings are filtered as one array."""
        lists = [self._by_term[term] for term in terms]
        ends = np.cumsum([len(one) for one in lists])
        packed = np.frombuffer(b"".join(lists), np.int64)
        stays = wanted[packed >> _COUNT_BITS]
        gone = np.flatnonzero(~stays)
        kept_ends = [0, *(ends - np.searchsorted(gone, ends)).tolist()]
        kept = packed[stays]
        for place in np.unique(np.searchsorted(ends, gone, side="right")).tolist():
            left = kept[kept_ends[place] : kept_ends[place + 1]]
            if len(left):
                self._by_term[terms[place]] = array("q", left.tobytes())
            else:
                del self._by_term[terms[place]]
        self._postings -= len(gone)

    def _packed(self, term: str) -> Ints:
        # A view: nothing may be added while it is in use.
        return np.frombuffer(self._by_term[term], np.int64)


Floats = np.ndarray[tuple[int], np.dtype[np.float32]]
Values = TypeVar("Values")

_COMPACT_SHARE: Final = 0.25
_KEPT_IMPACTS: Final = 2_000
_MOST_SCANS: Final = 4
"""Lookups of similar terms before their trigrams are indexed, which takes as long as twenty."""


def best_rows(scores: Any, count: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The places of the highest scores, unordered; of equal ones the last, which are newest."""
    if count >= len(scores):
        return np.arange(len(scores))
    best = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    least = scores[best].min()
    above = best[scores[best] > least]
    equal = np.flatnonzero(scores == least)
    return np.concatenate([above, equal[len(equal) - (count - len(above)) :]])


class Filled(Generic[Values]):
    """A property of an index: the filled rows of one of its columns."""

    def __init__(self, column: str) -> None:
        self._column = column

    def __get__(self, index: "UserIndex", _: type | None = None) -> Values:
        return getattr(index, self._column).head(index.rows)  # type: ignore[no-any-return]


class UserIndex:
    """Rows with an id, terms and perhaps a vector.

    A replaced or removed row keeps its place, marked dead. Searches are exact, and take well under
    a millisecond per thousand rows. Not thread-safe: hold its lock (``cache.py``).
    """

    ids = Filled[Ints]("_ids")  # also of dead rows
    source_ids = Filled[Ints]("_ids")  # what each row is a text of
    alive = Filled[Flags]("_alive")
    with_vector = Filled[Flags]("_has_vector")

    def __init__(self, expected_rows: int = FIRST_ROWS) -> None:
        self._expected_rows = max(expected_rows, FIRST_ROWS)
        self.rows = 0
        self.row_of: dict[int, int] = {}
        self._ids = Column(np.int64)
        self._alive = Column(np.bool_)
        self._lengths = Column(np.float32)
        self._digests = Column(np.int64)
        self._has_vector = Column(np.bool_)
        self._vectors: PackedVectors | None = None
        self._postings = Postings()
        self._dead_have_words = False
        self._norms: Floats | None = None
        self._impacts: dict[str, tuple[Ints, Floats]] = {}
        self._trigrams: TrigramIndex | None = None
        self._scans = 0

    @property
    def size(self) -> int:
        return len(self.row_of)

    @property
    def needs_compacting(self) -> bool:
        """True where too much space is taken by dead rows."""
        return self._has_too_many_dead(self.rows - self.size)

    def can_remove(self, count: int) -> bool:
        """Whether so many rows can be removed in place; if not, rebuild the index."""
        return not self._has_too_many_dead(self.rows - self.size + count)

    def _has_too_many_dead(self, dead: int) -> bool:
        return dead > FIRST_ROWS + self.rows * _COMPACT_SHARE

    @property
    def nbytes(self) -> int:
        vectors = 0 if self._vectors is None else self._vectors.nbytes
        trigrams = 0 if self._trigrams is None else len(self._trigrams) * _BYTES_PER_TERM
        return vectors + trigrams + self._postings.nbytes + self.rows * 150

    def similar_terms(self, term: str, limit: int, at_least: float) -> list[tuple[str, float]]:
        """Terms that a mistyped or truncated word may mean, with their similarity."""
        self._drop_words_of_dead()
        known = self._postings.terms
        if self._trigrams is None:
            self._scans += 1
            if self._scans <= _MOST_SCANS:
                return similar_terms(term, known, limit=limit, at_least=at_least)
            self._trigrams = TrigramIndex()
        if len(self._trigrams) < len(known):
            self._trigrams.extend(islice(known, len(self._trigrams), None))
        return self._trigrams.similar(term, limit=limit, at_least=at_least)

    def take(self, stored: Sequence[tuple[Any, ...]], vectors: Sequence[Row | None]) -> None:
        """Add rows as read from the database, new ones in bulk."""
        fresh = []
        for row, vector in zip(stored, vectors, strict=True):
            if row[0] in self.row_of:
                self.put(row[0], row[1], vector)
            else:
                fresh.append((row, vector))
        if fresh:
            self._append_all([row for row, _ in fresh], [vector for _, vector in fresh])

    def put(self, row_id: int, terms: str, vector: Row | None) -> int:
        """Add or replace a row; returns its place."""
        digest = hash(terms)
        row = self.row_of.get(row_id)
        if row is None or self._digests.head(self.rows)[row] != digest:
            if row is not None:
                self._alive.set(row, False)
                self._dead_have_words = True
            row = self.rows
            self._append_all([(row_id, terms)], [None])
        self._set_vectors([row], [vector])
        return row

    def remove(self, row_ids: Collection[int]) -> None:
        """Remove rows with their terms and vectors from memory."""
        places = [self.row_of.pop(row_id) for row_id in row_ids]
        if not places:
            return
        self.alive[places] = False
        self.with_vector[places] = False
        self._digests.head(self.rows)[places] = 0
        if self._vectors is not None:
            self._vectors.clear(places)
        self._dead_have_words = True
        self._drop_words_of_dead()

    def frequency(self, term: str) -> int:
        if self._dead_have_words and term in self._postings:
            return int(self.alive[self._postings.rows(term)].sum())
        return self._postings.frequency(term)

    def lexical(self, weights: Mapping[str, float]) -> Floats:
        """The BM25 score of every row, given the weights of the terms."""
        scores = np.zeros(self.rows, np.float32)
        for term, weight in weights.items():
            if term in self._postings:
                rows, impact = self._impact(term)
                scores[rows] += np.float32(weight) * impact
        if self._dead_have_words:
            scores[~self.alive] = 0.0
        return scores

    def rows_with(self, terms: Sequence[str], rows: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        found = np.zeros((len(terms), len(rows)), np.bool_)
        for place, term in enumerate(terms):
            if term in self._postings:
                having, _ = self._impact(term)
                at = np.searchsorted(having, rows)  # postings grow in the order of the rows
                found[place] = having[np.minimum(at, len(having) - 1)] == rows
        return found

    def cosines(self, query: Row) -> Row | None:
        """The cosine of every row; None where none has a vector."""
        if self._vectors is None or self._vectors.width != len(query):
            return None
        return self._vectors.cosines(self.rows, query)

    def cosines_to(self, queries: Matrix) -> Matrix | None:
        """The cosine of every row (down) with each of several vectors (across)."""
        if self._vectors is None or self._vectors.width != queries.shape[1]:
            return None
        return self._vectors.cosines_to(self.rows, queries)

    def _append_all(self, stored: Sequence[tuple[Any, ...]], vectors: Sequence[Row | None]) -> None:
        start = self.rows
        self.rows += len(stored)
        self._ids.fill(start, [one[0] for one in stored])
        self._alive.fill(start, [True] * len(stored))
        self._digests.fill(start, [hash(one[1]) for one in stored])
        post = self._postings.add
        self._lengths.fill(start, [post(start + n, one[1]) for n, one in enumerate(stored)])
        self._has_vector.fill(start, [False] * len(stored))
        self.row_of |= {one[0]: place for place, one in enumerate(stored, start=start)}
        self._set_vectors(range(start, self.rows), vectors)
        self._norms = None
        self._impacts.clear()

    def _drop_words_of_dead(self) -> None:
        if self._dead_have_words:
            self._norms = None
            self._impacts.clear()
            self._trigrams, self._scans = None, 0
            self._postings.keep_only(self.alive)
            self._dead_have_words = False

    def _set_vectors(self, rows: Sequence[int], vectors: Sequence[Row | None]) -> None:
        self.with_vector[rows] = False
        widths = [0 if vector is None else len(vector) for vector in vectors]
        if self._vectors is None and any(widths):
            self._vectors = PackedVectors(next(filter(None, widths)), self._expected_rows)
        if self._vectors is None:
            return
        # Another width cannot be compared; such a row is found by its words.
        places = [place for place, width in enumerate(widths) if width == self._vectors.width]
        if places:
            fitting = [rows[place] for place in places]
            self._vectors.put(fitting, [vectors[place] for place in places])
            self.with_vector[fitting] = True

    def _impact(self, term: str) -> tuple[Ints, Floats]:
        """The rows of a term, and its unweighted contribution to their scores.

        Cached until rows are added or removed.
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


NO_TURN: Final = -1


class TurnIndex(UserIndex):
    """Also has the pieces of long turns, which stand alone: they have no preceding turn."""

    before = Filled[Ints]("_before")  # the preceding turn in the thread, or ``NO_TURN``
    source_ids = Filled[Ints]("_turn_ids")

    def __init__(self, expected_rows: int = 0) -> None:
        super().__init__(expected_rows)
        self.speakers: dict[str, None] = {}  # a set in the order of appearance
        self._before = Column(np.int32)
        self._turn_ids = Column(np.int64)
        self._threads: dict[str, dict[int, int]] = defaultdict(dict)  # rows by position
        self._lenders: Ints | None = None
        self._divided: Ints | None = None

    def _append_all(self, stored: Sequence[tuple[Any, ...]], vectors: Sequence[Row | None]) -> None:
        start = self.rows
        super()._append_all(stored, vectors)
        self._lenders = self._divided = None
        self._turn_ids.fill(start, [one[-1] for one in stored])
        for row, (row_id, _, _, thread_id, position, actor, turn_id) in enumerate(
            stored, start=start
        ):
            if actor is not None:
                self.speakers[actor] = None
            if turn_id != row_id:
                self._before.set(row, NO_TURN)
                continue
            thread = self._threads[thread_id]
            thread[position] = row
            self._before.set(row, thread.get(position - 1, NO_TURN))
            if position + 1 in thread:  # turns may come in any order
                self._before.set(thread[position + 1], row)

    @property
    def divided(self) -> Ints:
        """The rows of turns that have several."""
        if self._divided is None:
            of_pieces = np.unique(self.source_ids[self.ids != self.source_ids])
            self._divided = np.flatnonzero(np.isin(self.source_ids, of_pieces))
        return self._divided

    def can_remove(self, count: int) -> bool:
        return not count  # turns are deleted only with their user, and refer to each other

    @property
    def lenders(self) -> Ints:
        """The row whose similarity each row shares: the preceding turn, or itself."""
        if self._lenders is None:
            before = self.before
            usable = (before != NO_TURN) & self.with_vector[before]
            self._lenders = np.where(usable, before, np.arange(self.rows))
        return self._lenders

    def _set_vectors(self, rows: Sequence[int], vectors: Sequence[Row | None]) -> None:
        super()._set_vectors(rows, vectors)
        self._lenders = None
