"""The beginnings and endings that a stemmer looks for, found in a table.

The stemmers as they come compare a word letter by letter with a sorted list, which takes most of
their time. Here what the word begins or ends with is looked up, the longest first. Every stem is
the same.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Affix(Protocol):
    """One entry of such a list, as the stemmers have it."""

    s: str
    result: int
    method: Callable[[Any], bool] | None


class QuickAffixes:
    """Goes before a stemmer among the classes of one that is to be quick.

    What is named here is what its stemmer calls and has; only the looking up is another one.
    """

    current: str
    cursor: int
    limit: int
    limit_backward: int

    def find_among(self, v: Sequence[Affix]) -> int:
        """What the longest beginning of the rest that fits leads to; 0 where none does."""
        start = self.cursor
        room = self.limit - start
        word = self.current
        lengths, by_text = _table(v)
        for length in lengths:
            if length <= room:
                met = by_text.get(word[start : start + length])
                if met is not None:
                    self.cursor = start + length
                    if met.method is None:
                        return met.result
                    if met.method(self):
                        self.cursor = start + length
                        return met.result
        return 0

    def find_among_b(self, v: Sequence[Affix]) -> int:
        """The same for endings."""
        end = self.cursor
        room = end - self.limit_backward
        word = self.current
        lengths, by_text = _table(v)
        for length in lengths:
            if length <= room:
                met = by_text.get(word[end - length : end])
                if met is not None:
                    self.cursor = end - length
                    if met.method is None:
                        return met.result
                    if met.method(self):
                        self.cursor = end - length
                        return met.result
        return 0


_Table = tuple[list[int], dict[str, Affix]]
_tables: dict[int, tuple[_Table, Sequence[Affix]]] = {}
"""By the identity of a list, which therefore is kept; they belong to classes, and are few."""


def _table(listed: Sequence[Affix]) -> _Table:
    known = _tables.get(id(listed))
    if known is None:
        by_text = {one.s: one for one in listed}
        table = (sorted({len(text) for text in by_text}, reverse=True), by_text)
        known = _tables[id(listed)] = (table, listed)
    return known[0]
