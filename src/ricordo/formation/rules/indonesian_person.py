"""Indonesian statements turned from the first person into the third."""

import re
from typing import Final

from ricordo.formation.rules.indonesian_forms import regular
from ricordo.formation.rules.trimming import has_indonesian_possessive, has_pronoun
from ricordo.formation.rules.word_sets import words

_SELF = re.compile(r"\bsaya\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\b\w{3,}ku\b", re.IGNORECASE)
_NO_SUFFIX: Final = words("""
buku suku kaku laku saku siku paku baku beku kuku liku perilaku berlaku selaku pelaku
""")


def in_third_person(text: str) -> str | None:
    """The statement about "pengguna", or None where it cannot be turned safely."""
    turned = _SELF.sub("pengguna", regular(text))
    owned = (word.group().lower() for word in _SUFFIX.finditer(turned))
    if any(word not in _NO_SUFFIX for word in owned):
        return None
    return None if has_pronoun(turned) or has_indonesian_possessive(turned) else turned
