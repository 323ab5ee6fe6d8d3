"""What nobody may store unasked, in nine languages: by words and forms, and by the gate."""

import functools
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ricordo.formation.gate import gate
from ricordo.formation.own_words import KINDS, THE_USER
from ricordo.formation.words import pattern
from ricordo.text.normalise import is_dense
from ricordo.text.secrets import has_secret

_SECRET: Final = 0.7
_SENSITIVE: Final = 0.4
_WISH: Final = 0.25
_WISHES: Final = ("rule", "inject")
_SENSITIVE_IF_SHORT: Final = 0.9
_FEWEST_WORDS: Final = 5
_FEWEST_DENSE: Final = 8
_STANDING_WISH: Final = pattern("consent", "standing wish", re.IGNORECASE)
_FIELD_OF: Final = {label: kind.field for label, kind in KINDS.items() if kind.field is not None}


def holds_secret(text: str) -> bool:
    return has_secret(text) or (_is_sentence(text) and _seen(text).is_secret)


def _is_sentence(text: str) -> bool:
    """The gate knows what people say, not names of files and values of fields."""
    return len(text.split()) >= _FEWEST_WORDS or sum(map(is_dense, text)) >= _FEWEST_DENSE


def sensitive_in(text: str) -> frozenset[str]:
    """The sensitive fields that the gate sees in a text about the user."""
    return _seen(text).sensitive


def instructs(text: str) -> bool:
    """Whether a text about the user has a standing wish, or orders to a model."""
    return _STANDING_WISH.search(text) is not None or (_is_sentence(text) and _seen(text).is_wish)


class _Seen(NamedTuple):
    is_secret: bool
    is_wish: bool
    sensitive: frozenset[str]


@functools.lru_cache(maxsize=512)
def _seen(text: str) -> _Seen:
    is_secret = is_wish = False
    fields: set[str] = set()
    sensitive = _SENSITIVE if _is_sentence(text) else _SENSITIVE_IF_SHORT
    for said in _as_said(text):
        reading = gate().read(said)
        is_secret = is_secret or reading.chance_of("secret", 0, len(said)) > _SECRET
        for piece in reading.pieces():
            wishes = (reading.mean_of(label, piece.start, piece.end) for label in _WISHES)
            is_wish = is_wish or sum(wishes) > _WISH
            fields.update(
                field
                for label, field in _FIELD_OF.items()
                if reading.mean_of(label, piece.start, piece.end) > sensitive
            )
    return _Seen(is_secret, is_wish, frozenset(fields))


def _as_said(text: str) -> Iterable[str]:
    """A note about the user as the user would say it: the gate was made for that.

    In English, and without a subject, as many languages do.
    """
    without = " ".join(THE_USER.sub(" ", text).split())
    first = THE_USER.sub(lambda found: "my" if found["owner"] else "I", text)
    return {text, first.replace("I is ", "I am ").replace("I has ", "I have "), without}
