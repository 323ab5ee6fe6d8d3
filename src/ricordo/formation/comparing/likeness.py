"""Whether two statements that lie near each other say the same, as far as words can tell."""

from typing import Final

from ricordo.formation.comparing.statements import statements_of
from ricordo.text.analyser import Analyser

CONTRADICTION_MIN: Final = 0.55
"""The least cosine of memories that can contradict each other: they are about the same."""
OVERLAP_MIN: Final = 0.6
"""The least share of words that memories which say the same have in common."""

_FILLERS: Final = frozenset(
    {"a", "an", "the", "my", "his", "her", "its", "their", "our", "your", "is", "are", "am", "be"}
    | {"been", "being", "has", "have", "had", "do", "does", "did", "yang", "adalah", "ialah"}
    | {"sebuah", "seorang", "seekor"}
)
_TERMS: Final = Analyser("english")


def share_words(analyser: Analyser, one: str, other: str) -> bool:
    """True where texts have most of their words in common, and no figure or denial apart."""
    if figures_and_denials(one) != figures_and_denials(other):
        return False
    return share_of_words(analyser, one, other) >= OVERLAP_MIN


def share_of_words(analyser: Analyser, one: str, other: str) -> float:
    """How many of all their words texts have in common, 0 to 1."""
    first, second = set(analyser.terms(one)), set(analyser.terms(other))
    return len(first & second) / len(first | second) if first and second else 0.0


def figures_and_denials(text: str) -> tuple[set[str], set[bool]]:
    """What must not differ between texts that say the same, however alike they are."""
    said = statements_of(text)
    return {number for one in said for number in one.numbers}, {one.is_positive for one in said}


def keep_the_order(one: str, other: str) -> bool:
    """True where all words of one text stand in the other, in the same order.

    Small words count, fillers do not. Of texts that pass, one says what the other says and perhaps
    more. Of those that do not, the same words may say something else: "from Rome to Paris" is not
    "from Paris to Rome", nor "before work" "after work".
    """
    first, second = sorted((_words(one), _words(other)), key=len)
    remaining = iter(second)
    return all(word in remaining for word in first)


def _words(text: str) -> list[str]:
    words = [word for said in statements_of(text) for word in said.text.split()]
    return [(_TERMS.terms(word) or [word])[0] for word in words if word not in _FILLERS]
