"""How much each part of a score counts. Every part can be turned off by its name."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from ricordo.errors import InvalidValue

PARTS: Final = (
    "semantic",
    "lexical",
    "names",
    "window",
    "actor",
    "date",
    "thread",
    "role",
    "recency",
    "importance",
    "confidence",
    "relations",
    "fuzzy",
    "exact",
)
"""What can be turned off: the two signals, then each thing that raises or lowers a score."""

SCORE_DIGITS: Final = 6
"""Scores are the same where they are shown as the same; sums of floats differ by their order."""

# Cosines that differ by less than this are not stretched to the whole scale.
LEAST_SPREAD: Final = 0.15
# Below this, the nearest text is far, and meaning counts for less beside words that match.
STRONG_COSINE: Final = 0.3
# What a rare exact term counts beside everything else; it wins over any nearness.
EXACT_SHARE: Final = 0.75
# The turn before counts this much beside the turn itself, by meaning and by words.
WINDOW_SEMANTIC: Final = 0.3
WINDOW_LEXICAL: Final = 0.4
# Added to the fused score of a turn, which is between 0 and 1.
ACTOR_BOOST: Final = 0.2
DATE_BOOST: Final = 0.2
ROLE_BOOST: Final = 0.2
THREAD_SHARE: Final = 0.2
THREAD_BEST: Final = 3  # turns of a thread that speak for it
# Shares by which the score of a memory is raised or lowered, together at most MAX_BOOST.
MAX_BOOST: Final = 0.25
RECENCY_BOOST: Final = 0.10
RECENCY_HALF_LIFE_DAYS: Final = 30.0
IMPORTANCE_BOOST: Final = 0.10
CONFIDENCE_BOOST: Final = 0.05
RELATION_BOOST: Final = 0.05
DATED_BOOST: Final = 0.10
INSIGHT_PENALTY: Final = 0.20


@dataclass(frozen=True, slots=True)
class Ranking:
    """Weights of the two signals, how many candidates each gives, and what is turned off."""

    semantic_weight: float = 0.7
    lexical_weight: float = 0.3
    candidates: int = 50
    off: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def parse(
        cls, semantic_weight: float, lexical_weight: float, candidates: int, off: str
    ) -> Self:
        """A ranking from settings; ``off`` names parts with commas between them.

        Raises:
            InvalidValue: no such part.
        """
        return cls(semantic_weight, lexical_weight, candidates, _parts(off.split(",")))

    def uses(self, part: str) -> bool:
        """True where a part was not turned off."""
        return part not in self.off


def _parts(names: Iterable[str]) -> frozenset[str]:
    wanted = {name.strip() for name in names} - {""}
    unknown = wanted - set(PARTS)
    if unknown:
        raise InvalidValue("ranking_off", f"{min(unknown)!r} is not one of: {', '.join(PARTS)}")
    return frozenset(wanted)
