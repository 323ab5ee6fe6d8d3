"""How a later statement stands to an earlier one: a small model of ours reads both together.

It reads the word table of the sentence encoder, in all of its languages. ``training/stance`` has
the recipe.
"""

import logging
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ricordo.fork_safety import OnePerProcess
from ricordo.providers.local_embedder import (
    SHIPPED,
    SHIPPED_STANCE_GRAPH,
    session_of,
    shipped_tokenizer,
)

_log = logging.getLogger(__name__)

SURELY: Final = 0.9
_OLD_TOKENS, _NEW_TOKENS = 48, 64
_FIRST, _BETWEEN = 101, 102  # marks of the tokenizer
_CHARS_OF_A_TOKEN: Final = 20
_AT_ONCE: Final = 4
_THREADS: Final = 2


class Stance(NamedTuple):
    """How likely a later statement ends an earlier one, says the same, says more, or something
    else.
    """

    replaced: float
    same: float
    refined: float
    other: float


class Comparer:
    """Safe to share between threads."""

    def __init__(self) -> None:
        graph = SHIPPED.graph.with_name(SHIPPED_STANCE_GRAPH)
        for file in (graph, SHIPPED.graph):  # the word table is in the second
            SHIPPED.read_checked(file)
        self._session = session_of(str(graph), _THREADS)
        self._tokenizer = shipped_tokenizer()

    def stances(self, new: str, olds: Sequence[str]) -> list[Stance]:
        later = [*self._ids(new, _NEW_TOKENS), _BETWEEN]
        pairs = [([_FIRST, *self._ids(old, _OLD_TOKENS), _BETWEEN], later) for old in olds]
        order = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0]))
        found: dict[int, Stance] = {}
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            odds = np.exp(self._run([pairs[place] for place in places]))
            shares = (odds / odds.sum(1, keepdims=True)).tolist()
            found |= {place: Stance(*row) for place, row in zip(places, shares, strict=True)}
        return [found[place] for place in range(len(pairs))]

    def _ids(self, text: str, most: int) -> list[int]:
        begin = text[: most * _CHARS_OF_A_TOKEN]
        ids: list[int] = self._tokenizer.encode(begin, add_special_tokens=False).ids
        return ids[:most]

    def _run(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Any:
        shape = (len(pairs), max(len(first) + len(second) for first, second in pairs))
        ids, mask, kinds = (np.zeros(shape, np.int64) for _ in range(3))
        for row, (first, second) in enumerate(pairs):
            end = len(first) + len(second)
            ids[row, :end] = [*first, *second]
            mask[row, :end] = 1
            kinds[row, len(first) : end] = 1
        return self._session.run(None, {"ids": ids, "mask": mask, "kinds": kinds})[0]


_loaded = OnePerProcess(Comparer)
UNKNOWN: Final = Stance(0.0, 0.0, 0.0, 0.0)


def stances(new: str, olds: Sequence[str]) -> list[Stance]:
    """How a later statement stands to each of several earlier ones; not known where it fails."""
    try:
        return _loaded.get().stances(new, olds) if olds else []
    except Exception as error:  # noqa: BLE001 - onnxruntime has no public error class
        _log.warning("statements were not compared: %s", error)
        return [UNKNOWN] * len(olds)
