"""Which rows each term stands in, and how often."""

from array import array
from collections import Counter
from collections.abc import KeysView, Sequence
from itertools import islice
from typing import Final

import numpy as np

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

_COUNT_BITS: Final = 8
_MAX_COUNT: Final = (1 << _COUNT_BITS) - 1
_BYTES_PER_TERM: Final = 200  # a dictionary entry, its key and a small array
_BYTES_PER_POSTING: Final = 8
_TERMS_AT_ONCE: Final = 4_096  # looked through together, which bounds the memory that it takes


class Postings:
    """Rows by term, in the order in which they were added, which is that of their numbers."""

    def __init__(self) -> None:
        # Each posting is a row and how often the term stands there, in one number.
        self._by_term: dict[str, array[int]] = {}
        self._postings = 0

    def __contains__(self, term: str) -> bool:
        return term in self._by_term

    @property
    def terms(self) -> KeysView[str]:
        """Every term that stands in a row."""
        return self._by_term.keys()

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return len(self._by_term) * _BYTES_PER_TERM + self._postings * _BYTES_PER_POSTING

    def add(self, row: int, terms: str) -> int:
        """Note a row under each of its terms; how many there are."""
        words = terms.split()
        counts = Counter(words)
        by_term = self._by_term
        shifted = row << _COUNT_BITS
        for term, count in counts.items():
            found = by_term.get(term)
            if found is None:
                found = by_term[term] = array("q")
            found.append(shifted | min(count, _MAX_COUNT))
        self._postings += len(counts)
        return len(words)

    def frequency(self, term: str) -> int:
        """In how many rows a term stands."""
        return len(self._by_term.get(term, ()))

    def rows(self, term: str) -> Ints:
        """The rows of a term that stands in some."""
        return self._packed(term) >> _COUNT_BITS

    def counts(self, term: str) -> Ints:
        """How often the term stands in each of its rows."""
        return self._packed(term) & _MAX_COUNT

    def keep_only(self, wanted: Flags) -> None:
        """Forget every row that is not wanted, and the terms that stand in no other.

        Rows are not kept with their terms, so all terms have to be looked through.
        """
        terms = iter(list(self._by_term))
        while some := list(islice(terms, _TERMS_AT_ONCE)):
            self._keep_only(wanted, some)

    def _keep_only(self, wanted: Flags, terms: Sequence[str]) -> None:
        """The same for some terms, whose postings are looked at as one long list."""
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
        # Without a copy; nothing may be added while somebody holds on to it.
        return np.frombuffer(self._by_term[term], np.int64)
