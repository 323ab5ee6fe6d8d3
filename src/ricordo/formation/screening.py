"""What nobody may store unasked, in nine languages: by words and forms, and by the gate."""

import functools
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ricordo.formation.gate import gate
from ricordo.formation.injected import has_attack
from ricordo.formation.own_words import KINDS, THE_USER
from ricordo.formation.resources import pattern
from ricordo.formation.sensitive import sensitive_fields_of
from ricordo.text.normalise import is_dense
from ricordo.text.secrets import has_secret
from ricordo.text.spans import plain_view

_SECRET: Final = 0.7
_SENSITIVE: Final = 0.4
_WISH: Final = 0.25
_WISHES: Final = ("rule", "inject")
_SENSITIVE_IF_SHORT: Final = 0.9
_FEWEST_WORDS: Final = 5
_FEWEST_DENSE: Final = 8
_LONGEST_NAME: Final = 80
_NAME: Final = re.compile(rf"\A[^:：\n]{{1,{_LONGEST_NAME}}}[:：]\s*(?=\S)")
_SIGNS_IN_NAMES: Final = str.maketrans("_-./", "    ")
_ORDERS: Final = pattern("consent", "standing wish or role", re.IGNORECASE)
_LEARNS: Final = re.compile(r"\blearn(s|ing|ed|t)?\b", re.IGNORECASE)
"""Who learns is taken by the gate to learn a language, whatever it is: words tell."""
_FIELD_OF: Final = {label: kind.field for label, kind in KINDS.items() if kind.field is not None}


def holds_secret(text: str, *names: str | None) -> bool:
    """``names`` are those under which it is filed: one may tell what a bare value is."""
    said = _said(text, names)
    return any(map(has_secret, said)) or any(
        _is_sentence(one) and _seen(one).is_secret for one in said
    )


def _said(text: str, names: Iterable[str | None]) -> list[str]:
    """What a text says; of a bare value, also under each of its names: "debit card pin: 4821"."""
    is_bare = len(text) <= _LONGEST_NAME and len(text.split()) < _FEWEST_WORDS
    told = [name for name in names if is_bare and name and len(name) <= _LONGEST_NAME]
    return [text, *(f"{name.translate(_SIGNS_IN_NAMES)}: {text}" for name in told)]


def _is_sentence(text: str) -> bool:
    """The gate knows what people say, not names of files and values of fields."""
    return len(text.split()) >= _FEWEST_WORDS or sum(map(is_dense, text)) >= _FEWEST_DENSE


def sensitive_in(text: str, *names: str | None) -> frozenset[str]:
    """The sensitive fields that the gate sees in a text about the user, and its names tell.

    Under a name the gate sees only what a number is; of names and words it makes a sentence.
    """
    _, *named = _said(text, names)
    fields = _seen(text).sensitive
    if _LEARNS.search(text) and "language" not in sensitive_fields_of(text, "", None):
        fields -= {"language"}
    fields = fields.union(*(sensitive_fields_of(one, "", None) for one in named))
    has_number = any(map(str.isdigit, text))
    return fields.union(*(_seen(one, is_value=True).sensitive for one in named if has_number))


def instructs(text: str, *, has_steps: bool = False) -> bool:
    """Whether a text about the user has a standing wish, or orders to a model. Steps are orders."""
    if _ORDERS.search(text) or has_attack(plain_view(text).text):
        return True
    return not has_steps and _is_sentence(text) and _seen(text).is_wish


class _Seen(NamedTuple):
    is_secret: bool
    is_wish: bool
    sensitive: frozenset[str]


@functools.lru_cache(maxsize=512)
def _seen(text: str, *, is_value: bool = False) -> _Seen:
    is_secret = is_wish = False
    fields: set[str] = set()
    is_short = is_value or not _is_sentence(text)
    sensitive = _SENSITIVE_IF_SHORT if is_short else _SENSITIVE
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

    In English, and without a subject, as many languages do; and without a name before it.
    """
    without = " ".join(THE_USER.sub(" ", text).split())
    first = THE_USER.sub(lambda found: "my" if found["owner"] else "I", text)
    told = first.replace("I is ", "I am ").replace("I has ", "I have ")
    return {text, told, without, _NAME.sub("", text)}
