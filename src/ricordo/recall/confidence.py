"""How likely a hit is an answer at all, from 0 to 1, so that a caller can say "I do not know".

Two independent hints count: how near the hit is by meaning, and how much of what is rare in the
question stands in it. Either alone can convince. The scale is that of the model: a cosine means
something else for every one of them.
"""

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a cosine is as likely as not to be of an answer, and how sharp the change is."""

    even: float
    slope: float


_OURS: Final = Scale(even=0.5, slope=10.0)
_UNKNOWN: Final = Scale(even=0.6, slope=10.0)
_OUR_MODEL: Final = "ricordo-minilm"

COVERAGE_EVEN: Final = 0.8
COVERAGE_SLOPE: Final = 6.0


def confidence_of(cosine: float | None, coverage: float, model: str | None) -> float:
    """From the cosine to the question (None: not compared) and the share of its rare terms."""
    by_words = _logistic((coverage - COVERAGE_EVEN) * COVERAGE_SLOPE) if coverage > 0 else 0.0
    if cosine is None:
        return round(by_words, 4)
    scale = _OURS if model is not None and model.startswith(_OUR_MODEL) else _UNKNOWN
    by_meaning = _logistic((cosine - scale.even) * scale.slope)
    return round(1 - (1 - by_meaning) * (1 - by_words), 4)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
