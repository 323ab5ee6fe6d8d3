"""How many facts one turn may give: several only where it is long or clearly says several."""

import re
from collections.abc import Iterable
from typing import Final

from ricordo.formation.candidate import Candidate, Passage
from ricordo.formation.rules.explicit import explicit_spans
from ricordo.limits import MAX_WRITES_PER_TURN

_LONG_CHARS: Final = 160
_JOINING: Final = re.compile(
    r"[,;:\n、，。]|[.!?]\s+\S|\b(?:and|but|also|plus|dan|tapi|juga|serta|und|aber|auch)\b",
    re.IGNORECASE,
)


def within_turns(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates without those that a short, simple turn can hardly mean.

    What was asked for explicitly comes first, then what matters most.
    """
    by_turn: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        by_turn.setdefault(candidate.passage.turn_id, []).append(candidate)
    kept: list[Candidate] = []
    for found in by_turn.values():
        room = MAX_WRITES_PER_TURN if says_several(found[0].passage) else 1
        best = sorted(found, key=lambda one: (not one.is_explicit, -one.importance))[:room]
        kept += [candidate for candidate in found if candidate in best]
    return kept


def says_several(passage: Passage) -> bool:
    """Whether a turn is long, or shows clearly that it says more than one thing."""
    text = passage.text.strip()
    return len(text) >= _LONG_CHARS or bool(_JOINING.search(text)) or bool(explicit_spans(text))
