"""Small models of ours that read two texts together, with the word table of the sentence encoder
and in all of its languages.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ricordo.providers.local_embedder import SHIPPED, session_of, shipped_tokenizer

_FIRST, _BETWEEN = 101, 102  # marks of the tokenizer
_CHARS_OF_A_TOKEN: Final = 20
_THREADS: Final = 2

Pair = tuple[list[int], list[int]]


class PairModel:
    """Safe to share between threads."""

    def __init__(self, name: str) -> None:
        """Raises BadEmbedding: a file was changed."""
        graph = SHIPPED.graph.with_name(name)
        for file in (graph, SHIPPED.graph):  # the word table is in the second
            SHIPPED.read_checked(file)
        self._session = session_of(str(graph), _THREADS)
        self._tokenizer = shipped_tokenizer()

    def first(self, text: str, most: int) -> list[int]:
        """The tokens of the first text, up to ``most``, with their marks."""
        return [_FIRST, *self.second(text, most)]

    def second(self, text: str, most: int) -> list[int]:
        """The tokens of the second text, or of a part of it."""
        begin = text[: most * _CHARS_OF_A_TOKEN]
        ids: list[int] = self._tokenizer.encode(begin, add_special_tokens=False).ids
        return [*ids[:most], _BETWEEN]

    def run(self, pairs: Sequence[Pair]) -> Any:
        """A row of numbers for each pair."""
        shape = (len(pairs), max(len(first) + len(second) for first, second in pairs))
        ids, mask, kinds = (np.zeros(shape, np.int64) for _ in range(3))
        for row, (first, second) in enumerate(pairs):
            end = len(first) + len(second)
            ids[row, :end] = [*first, *second]
            mask[row, :end] = 1
            kinds[row, len(first) : end] = 1
        return self._session.run(None, {"ids": ids, "mask": mask, "kinds": kinds})[0]
