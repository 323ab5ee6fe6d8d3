"""Three ways to make texts comparable, each for one purpose.

``canonical`` decides whether two memories say exactly the same; ``folded`` is what a substring
search looks at; ``slug`` names a theme. All are computed here, never in a database, so that SQLite
and PostgreSQL agree to the last character.
"""

import hashlib
import unicodedata


def canonical(text: str) -> str:
    """Equal for texts that differ only in case, white space, Unicode form or a final full stop.

    Strict otherwise: letters that merely look or sound alike (ß and ss, ² and 2) can change what
    a text says.
    """
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    lowered = composed.lower()
    flat = _single_spaced(lowered if lowered.isascii() else unicodedata.normalize("NFC", lowered))
    return flat.rstrip(".。 ") or flat


def content_hash(text: str) -> str:
    """A short stand-in for the canonical form, long enough that two texts never share one."""
    return hashlib.blake2b(canonical(text).encode("utf-8"), digest_size=16).hexdigest()


def folded(text: str) -> str:
    """Case- and diacritic-folded text with single spaces."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.casefold())
        bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
        text = unicodedata.normalize("NFKC", bare)
    return _single_spaced(text.casefold())


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def slug(name: str) -> str:
    """A theme's name: letters, marks and digits of any script, ``_``, and ``-`` for the rest."""
    kept = (letter if _belongs_in_slug(letter) else " " for letter in _folded_case(name))
    return "-".join("".join(kept).split()).strip("-_")


def _belongs_in_slug(letter: str) -> bool:
    return letter == "_" or unicodedata.category(letter)[0] in "LMN"


def _folded_case(text: str) -> str:
    if text.isascii():
        return text.casefold()
    # Case folding can leave the normal form, and normalising can bring capitals back.
    once = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", once).casefold())
