"""What a key looks like, and how the one that somebody shows is held against what is kept of it."""

import hashlib
import hmac
import re
import secrets
from typing import Final

from ricordo.errors import NotAuthenticated

PREFIX: Final = "rk_"
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_ID_CHARS: Final = 12
_RANDOM_CHARS: Final = 52  # of five bits each: more than 256
_SHAPE: Final = re.compile(
    rf"{PREFIX}([{_ALPHABET}]{{{_ID_CHARS}}})_[{_ALPHABET}]{{{_RANDOM_CHARS}}}", re.ASCII
)
_NOBODYS_HASH: Final = hashlib.sha256(b"").hexdigest()
"""No secret has it: those have characters."""


def new_id() -> str:
    """The part of a new key that may be shown; it says nothing about the rest."""
    return _random(_ID_CHARS)


def new_secret(key_id: str) -> str:
    """A whole new key, which is what callers send."""
    return f"{PREFIX}{key_id}_{_random(_RANDOM_CHARS)}"


def hash_of(secret: str) -> str:
    """What is kept of a key.

    A fast hash is right here: the slow ones make guessing passwords dear, and nobody guesses 256
    random bits however fast it goes, while every request would pay for it.
    """
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()


def id_in(secret: object) -> str:
    """The id of the key that somebody shows.

    Raises:
        NotAuthenticated: it cannot be a key of ours.
    """
    found = _SHAPE.fullmatch(secret) if isinstance(secret, str) else None
    if found is None:
        raise refused()
    return found.group(1)


def is_the_one(secret: str, kept_hash: str | None) -> bool:
    """Whether a key is the one whose hash is kept. Takes as long for None, where none is."""
    is_same = hmac.compare_digest(hash_of(secret), kept_hash or _NOBODYS_HASH)
    return is_same and kept_hash is not None


def refused() -> NotAuthenticated:
    """The answer to every key that is no good: one and the same, so that it tells nothing."""
    return NotAuthenticated(
        "no valid key: it is missing or unknown, was revoked or has expired;"
        " `ricordo keys create` makes one"
    )


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
