"""How a later statement stands to an earlier one: a small model of ours reads both together.

``training/stance`` has the recipe.
"""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ricordo.fork_safety import OnePerProcess
from ricordo.providers.local_embedder import SHIPPED_STANCE_GRAPH
from ricordo.providers.pair_model import PairModel

_log = logging.getLogger(__name__)

SURELY: Final = 0.9
_OLD_TOKENS, _NEW_TOKENS = 48, 64


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
        self._model = PairModel(SHIPPED_STANCE_GRAPH)

    def stances(self, new: str, olds: Sequence[str]) -> list[Stance]:
        later = self._model.second(new, _NEW_TOKENS)
        odds = np.exp(
            self._model.run([(self._model.first(old, _OLD_TOKENS), later) for old in olds])
        )
        return [Stance(*row) for row in (odds / odds.sum(1, keepdims=True)).tolist()]


_loaded = OnePerProcess(Comparer)
UNKNOWN: Final = Stance(0.0, 0.0, 0.0, 0.0)


def stances(new: str, olds: Sequence[str]) -> list[Stance]:
    """How a later statement stands to each of several earlier ones; not known where it fails."""
    try:
        return _loaded.get().stances(new, olds) if olds else []
    except Exception as error:  # noqa: BLE001 - onnxruntime has no public error class
        _log.warning("statements were not compared: %s", error)
        return [UNKNOWN] * len(olds)
