"""What tells a standing instruction from the task at hand, and how one is kept."""

import re
from typing import Final

from ricordo.formation.rules.rule import Statement
from ricordo.formation.rules.trimming import has_pronoun
from ricordo.model.vocabulary import MemoryType

_MAX_WORDS: Final = 32

PRESENT_TASK: Final = re.compile(
    r"\b(?:here|this|these|that|those|for now|today|now|right now|in the (?:table|code|essay|"
    r"e-?mail|letter|story|text|report|file|"
    r"function|document|summary|article)|above|below|following|again|until|if|unless|"
    r"or (?:not|something|so|whatever)|"
    r"di sini|ini|itu|kali|tersebut|berikut|di atas|di bawah|sampai|kalau|jika|atau|dulu|"
    r"sekarang|hari)\b",
    re.IGNORECASE,
)
# Maxims, which are said to everyone and nobody.
IDIOM: Final = re.compile(
    r"(?:mind|give up|say (?:never|die)|be (?:yourself|afraid|alone|happy|kind|the same|prepared)|"
    r"make (?:sense|mistakes)|do (?:it|so)|used? to\b|keep (?:going|trying|smiling)|"
    r"stay (?:safe|strong|positive|hungry)|"
    r"(?:use|pakai|gunakan|pake) (?:an? )?(?:vpn|passwords?|mask|masker|helm|helmet|sunscreen|"
    r"seatbelt|protection|condoms?|common sense|caution))",
    re.IGNORECASE,
)


def standing(content: str, key: str | None = None) -> Statement | None:
    """A standing instruction as it is kept, unless it refers to something that is not in it."""
    if len(content.split()) > _MAX_WORDS or has_pronoun(content):
        return None
    return Statement(
        content,
        type=MemoryType.INSTRUCTION,
        theme="instructions",
        key=key,
        importance=4,
        is_explicit=True,
    )
