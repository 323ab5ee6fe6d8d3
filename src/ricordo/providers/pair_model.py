"""Small models of ours that read two texts together, with the word table of the sentence encoder
and in all of its languages.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from typing import Any, Final

import numpy as np

from ricordo.providers.local_embedder import (
    SHIPPED,
    session_of,
    shipped_tokenizer,
    usable_cores,
)

_FIRST, _BETWEEN = 101, 102  # marks of the tokenizer
_CHARS_OF_A_TOKEN: Final = 20
_THREADS: Final = 2  # that each compute a batch do more than two that share one
_BATCH: Final = 2  # pairs; many do not fit into a core's cache

Pair = tuple[list[int], list[int]]


class PairModel:
    """Safe to share between threads."""

    def __init__(self, name: str) -> None:
        """Raises BadEmbedding: a file was changed."""
        graph = SHIPPED.graph.with_name(name)
        for file in (graph, SHIPPED.graph):  # the word table is in the second
            SHIPPED.check(file)
        self._session = session_of(str(graph), threads=1)
        self._pool = ThreadPoolExecutor(min(_THREADS, usable_cores()), "ricordo-pairs")
        self._tokenizer = shipped_tokenizer()

    def first(self, text: str, most: int) -> list[int]:
        """The tokens of the first text, up to ``most``, with their marks."""
        return [_FIRST, *self.second(text, most)]

    def second(self, text: str, most: int) -> list[int]:
        """The tokens of the second text, or of a part of it."""
        begin = text[: most * _CHARS_OF_A_TOKEN]
        ids: list[int] = self._tokenizer.encode(begin, add_special_tokens=False).ids
        return [*ids[:most], _BETWEEN]

    def run(self, pair: Callable[[int], Pair], count: int, until: float = math.inf) -> Any:
        """A row of numbers for each of so many pairs: for a first batch on each thread, and for
        those that follow as long as one more will probably be done by the moment ``until``. Each
        thread makes its own pairs.
        """
        took = 0.0

        def rows(number: int) -> Any:
            nonlocal took
            started = time.monotonic()
            if number >= _THREADS and started + took > until:
                return None
            start = number * _BATCH
            batch = [pair(place) for place in range(start, min(start + _BATCH, count))]
            found = self._session.run(None, packed(batch))[0]
            took = time.monotonic() - started
            return found

        found = self._pool.map(rows, range(math.ceil(count / _BATCH)))
        return np.concatenate(list(takewhile(lambda one: one is not None, found)))


def packed(pairs: Sequence[Pair]) -> dict[str, np.ndarray[Any, Any]]:
    """What a graph is given: the tokens of all pairs in one row, and where each pair has them."""
    lengths = np.array([len(first) + len(second) for first, second in pairs])
    starts = np.cumsum(lengths) - lengths
    steps = np.arange(lengths.max())
    mask = steps < lengths[:, None]
    return {
        "ids": np.array([token for pair in pairs for part in pair for token in part]),
        "kinds": np.repeat(
            np.tile([0, 1], len(pairs)), [len(part) for pair in pairs for part in pair]
        ),
        "places": np.broadcast_to(steps, mask.shape)[mask],
        "cells": np.flatnonzero(mask),
        "rows": np.where(mask, starts[:, None] + steps, 0),
        "mask": mask.astype(np.int32),
    }
