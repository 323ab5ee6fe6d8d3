"""Files that are encrypted as a whole: SQLCipher's driver, and the key of a file.

The key is made of the passphrase and the salt at the start of the file, as SQLCipher itself does it
(PBKDF2-HMAC-SHA512), so that its own tools open the file with the same passphrase. It is made here
because SQLCipher would make it for every connection, which takes a part of a second each time.
"""

import contextlib
import functools
import hashlib
from pathlib import Path
from typing import Any, Final

from ricordo.errors import DatabaseKeyMismatch, InvalidValue, StorageUnavailable

PLAIN_START: Final = b"SQLite format 3\0"
_ROUNDS: Final = 256_000
_KEY_BYTES: Final = 32
_PAGE_BYTES: Final = 4_096
_MANY_VALUES: Final = 240  # of 256: what a page of noise has, and no page of a plain file
_ANY_KEY: Final = "x'" + "00" * _KEY_BYTES + "'"


def encrypting_driver() -> Any:
    """SQLCipher's driver, which is used like the one of the standard library.

    Raises:
        StorageUnavailable: it is not installed.
    """
    try:
        from sqlcipher3 import dbapi2
    except ImportError:
        raise StorageUnavailable(
            "an encrypted database needs its driver: pip install 'ricordo[encrypted]'"
        ) from None
    return dbapi2


class DatabaseKey:
    """The passphrase of a file. It is never shown, and any text will do but an empty one."""

    def __init__(self, passphrase: str) -> None:
        """Keep a passphrase.

        Raises:
            InvalidValue: it is empty, or no text that can be written as UTF-8.
        """
        if not passphrase:
            raise InvalidValue("setting database_key", "must not be empty")
        try:
            self._passphrase = passphrase.encode("utf-8")
        except UnicodeEncodeError:
            raise InvalidValue("setting database_key", "is not valid text") from None

    def __repr__(self) -> str:
        return "DatabaseKey(***)"

    def specification(self, salt: bytes) -> str:
        """What SQLCipher is told: a key as it is and its salt, in hexadecimal digits alone."""
        return f"x'{_derived(self._passphrase, salt).hex()}{salt.hex()}'"

    def specification_for(self, path: Path) -> str:
        """What opens a file, or what a file with nothing in it will be encrypted with.

        Raises:
            DatabaseKeyMismatch: the file is not encrypted.
        """
        salt = salt_of(path)
        if salt == PLAIN_START:
            raise DatabaseKeyMismatch(
                f"{path}: the database is not encrypted, but a key is set: unset"
                " RICORDO_DATABASE_KEY, or run ricordo database encrypt"
            )
        return self.specification(salt)


@functools.lru_cache(maxsize=16)
def _derived(passphrase: bytes, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha512", passphrase, salt, _ROUNDS, _KEY_BYTES)


def unlock(connection: Any, specification: str) -> None:
    """Give a connection its key, before anything else is asked of it."""
    connection.execute("PRAGMA cipher_log_level = NONE")  # standard error is not its place
    connection.execute(f'PRAGMA key = "{specification}"')


def salt_of(path: Path) -> bytes:
    """The first bytes of a file, or random ones where there is nothing in it yet.

    SQLite itself has to read them: a file that this process opened and closed beside it would lose
    the locks that SQLite holds on it.
    """
    with contextlib.closing(encrypting_driver().connect(path)) as connection:
        unlock(connection, _ANY_KEY)
        (salt,) = connection.execute("PRAGMA cipher_salt").fetchone()
    return bytes.fromhex(salt)


def looks_encrypted(path: Path) -> bool:
    """True for a file of whole pages that starts with noise. Only for one that is of no use anyway:
    see :func:`salt_of`."""
    try:
        with path.open("rb") as file:
            start = file.read(_PAGE_BYTES)
        whole_pages = path.stat().st_size % _PAGE_BYTES == 0
    except OSError:
        return False
    return whole_pages and len(set(start)) >= _MANY_VALUES
