"""How well a text's terms match a question's: Okapi BM25."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final

SATURATION: Final = 1.2
"""How soon a term that is repeated stops counting more (k1)."""

LENGTH_SHARE: Final = 0.75
"""How far a long text needs more matches than a short one (b)."""


def rarity(documents: int, frequency: int) -> float:
    """What a match of a term is worth: the rarer, the more; never less than nothing."""
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def score(terms: str, weights: Mapping[str, float], mean_length: float) -> float:
    """The score of one text, given what each term of the question is worth."""
    counts = Counter(terms.split())
    length = counts.total()
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length / max(mean_length, 1.0))
    return sum(
        weight * counts[term] * (SATURATION + 1) / (counts[term] + norm)
        for term, weight in weights.items()
        if term in counts
    )
