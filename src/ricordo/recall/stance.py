"""How a later statement stands to an earlier one: a small model of ours reads both together.

``training/stance`` has the recipe.
"""

import logging
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ricordo.fork_safety import OnePerProcess
from ricordo.providers.local_embedder import SHIPPED_STANCE_GRAPH
from ricordo.providers.pair_model import Pair, PairModel

_log = logging.getLogger(__name__)

SURELY: Final = 0.9
_QUESTION: Final = re.compile(r"[^.!?。！？]*[?？]")
_WORD: Final = re.compile(r"\w+(?:['’.:-]\w+)*")
_FEWEST_FRAMING: Final = 2
_INSTEAD: Final = re.compile(
    r"[^,.:;–—]*\b(?:instead of|rather than|statt|anstatt|en lugar de|en vez de|daripada)\b.*",
    re.IGNORECASE,
)
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

        def pair(place: int) -> Pair:
            return self._model.first(olds[place], _OLD_TOKENS), later

        odds = np.exp(self._model.run(pair, len(olds)))
        return [Stance(*row) for row in (odds / odds.sum(1, keepdims=True)).tolist()]


def stated_in(text: str) -> str:
    """Without questions, if it states anything."""
    return _QUESTION.sub("", text).strip() or text


def has_another_value(new: str, old: str) -> bool:
    """Whether a later text has most words of an earlier one, in order, and then another word."""
    said, known = (_WORD.findall(text.lower()) for text in (new, stated_in(old)))
    for end in range(len(known) - 1, max(_FEWEST_FRAMING, len(known) // 2) - 1, -1):
        for start in range(len(said) - end):
            if said[start : start + end] == known[:end] and said[start + end] not in known:
                return True
    return False


_loaded = OnePerProcess(Comparer)
UNKNOWN: Final = Stance(0.0, 0.0, 0.0, 0.0)


def stances(new: str, olds: Sequence[str]) -> list[Stance]:
    """How a later statement stands to each of several earlier ones; not known where it fails.

    A clause that names what it gives up is read alone, too.
    """
    if not olds:
        return []
    stated = [stated_in(old) for old in olds]
    clause = _INSTEAD.search(new)
    try:
        found = _loaded.get().stances(new, stated)
        again = _loaded.get().stances(clause[0], stated) if clause else found
    except Exception as error:  # noqa: BLE001 - onnxruntime has no public error class
        _log.warning("statements were not compared: %s", error)
        return [UNKNOWN] * len(olds)
    return [max(pair, key=lambda one: one.replaced) for pair in zip(found, again, strict=True)]
