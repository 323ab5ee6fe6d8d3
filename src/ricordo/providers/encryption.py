"""Encryption of API keys at rest, with a key that is not in the database."""

import base64
import logging
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import EmbedderRefused, InvalidValue

if TYPE_CHECKING:  # loaded where a secret is used: most commands use none
    from cryptography.fernet import Fernet

_log = logging.getLogger(__name__)


class SecretBox:
    """Encrypts short texts. The key is a setting, or a file created on first use."""

    def __init__(self, key_path: Path | None = None, key: str | None = None) -> None:
        """``key`` takes precedence over ``key_path``. Raises InvalidValue."""
        if key is None and key_path is None:
            raise InvalidValue("secret_key", "give a key, or a file to keep one in")
        self._key_path = key_path
        self._key: bytes | None = None
        if key is not None:
            try:
                self._key = _checked(key.encode("utf-8"))
            except ValueError:
                raise InvalidValue(
                    "secret_key", "expected 32 random bytes in URL-safe base64 (44 characters)"
                ) from None

    def __repr__(self) -> str:
        return f"SecretBox(key_path={self._key_path!r})"

    @staticmethod
    def new_key() -> str:
        return _new_key().decode("ascii")

    def seal(self, secret: str) -> str:
        """Encrypt a secret. Raises EmbedderRefused."""
        return self._opened().encrypt(secret.encode("utf-8")).decode("ascii")

    def open(self, sealed: str) -> str:
        """Decrypt a secret. Raises EmbedderRefused."""
        from cryptography.fernet import InvalidToken

        try:
            return self._opened().decrypt(sealed.encode("utf-8")).decode("utf-8")
        except InvalidToken:
            raise EmbedderRefused(
                "the stored key cannot be decrypted: it was sealed with another secret key,"
                " or damaged; enter it again"
            ) from None

    def key_for(self, purpose: str) -> bytes:
        """A derived key for another purpose, independent of all others. Raises EmbedderRefused."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derivation = HKDF(hashes.SHA256(), 32, salt=None, info=purpose.encode("utf-8"))
        return base64.urlsafe_b64encode(derivation.derive(self._read()))

    def _opened(self) -> "Fernet":
        from cryptography.fernet import Fernet

        return Fernet(self._read())

    def _read(self) -> bytes:
        if self._key is None:
            if self._key_path is None:
                raise InvalidValue("secret_key", "give a key, or a file to keep one in")
            self._key = _from_file(self._key_path)
        return self._key


def _new_key() -> bytes:
    from cryptography.fernet import Fernet

    return Fernet.generate_key()


def _checked(key: bytes) -> bytes:
    """The decoded key. Raises ValueError."""
    from cryptography.fernet import Fernet

    Fernet(key)
    return key


def _from_file(path: Path) -> bytes:
    try:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            _create_key_file(path)
            content = path.read_bytes()
    except OSError as error:
        raise _unusable(path, f"{path.name}: {error.strerror}") from None
    try:
        return _checked(content.strip())
    except ValueError:
        raise _unusable(path, f"{path.name} does not hold a key") from None


def _unusable(path: Path, problem: str) -> EmbedderRefused:
    """Users see the error too, so the path of the key file only goes to the log."""
    _log.warning("the secret key cannot be used: %s (at %s)", problem, path)
    return EmbedderRefused(f"the stored key cannot be decrypted: {problem}")


def _create_key_file(path: Path) -> None:
    """Create a key file atomically, unless another process was first. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_new_key())
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(draft)
    except FileExistsError:
        pass  # their key is used
    finally:
        draft.unlink()
