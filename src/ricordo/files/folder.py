"""The layout of the home folder: prompts, profiles and mirrors."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

from ricordo import limits
from ricordo.errors import InvalidValue, RicordoError
from ricordo.files.disk import folder_names
from ricordo.files.sync import SyncedFile
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.group import is_person

_PEOPLE: Final = "people"
_MAX_NAME_CHARS: Final = 120  # file systems allow 255 bytes; some tools much less
_CUT_NAME_CHARS: Final = 60
_CUT_SIGN: Final = "%h"
"""Precedes the hash that ends a long name. ``h`` is no hex digit, so no other name has it."""
_PLAIN: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])\Z")
_BROKEN_ESCAPE: Final = re.compile(r"%.?\Z")


@dataclass(frozen=True, slots=True)
class UserFiles:
    """The files of one user. None of them need exist."""

    user_id: str
    profile: Path
    """``USER.md``, the profile in every prompt."""
    memory: Path
    """The folder of the mirror; it exists where the mirror is enabled."""

    @property
    def memory_file(self) -> Path:
        """MEMORY.md: the active memories by theme."""
        return self.memory / "MEMORY.md"

    @property
    def daily(self) -> Path:
        return self.memory / "daily"

    @property
    def seen(self) -> Path:
        """The state at the last sync, to see quickly whether there is anything to do."""
        return self.memory / ".mirror.seen.json"

    @property
    def mirror(self) -> SyncedFile:
        """``MEMORY.md``, its lock and its notes."""
        return SyncedFile(
            self.user_id,
            self.memory_file,
            lock=self.memory / ".mirror.lock",
            notes=self.memory / ".mirror.json",
            max_bytes=limits.MAX_MIRROR_FILE_BYTES,
        )

    @property
    def profile_sync(self) -> SyncedFile:
        """``USER.md``, its lock and its notes: the user, and hashes of the values, which show that
        a line or a memory has changed without leaking either."""
        return SyncedFile(
            self.user_id,
            self.profile,
            lock=self.profile.with_name(".profile.lock"),
            notes=self.profile.with_name(".profile.json"),
            max_bytes=limits.MAX_PROMPT_FILE_BYTES,
        )


@dataclass(frozen=True, slots=True)
class FilesFolder:
    """The folder of all files. One user's are at the top, those of others under ``people/``."""

    top: Path
    files_user: str

    def __post_init__(self) -> None:
        checks.user_id(self.files_user)

    @property
    def prompts(self) -> Path:
        return self.top / "prompts"

    @property
    def briefs(self) -> Path:
        """What hooks of coding agents show while nothing else runs, of whichever user."""
        return self.top / "agents" / "briefs"

    def of(self, user_id: str) -> UserFiles:
        """The files of a user. Raises InvalidValue: global memories have no files."""
        if not is_person(user_id):
            raise InvalidValue("user_id", "global memories and groups have no files")
        if user_id == self.files_user:
            return UserFiles(user_id, self.prompts / "USER.md", self.top / "memory")
        own = self.folder_of(user_id)
        return UserFiles(user_id, own / "USER.md", own / "memory")

    def folder_of(self, user_id: str) -> Path:
        """The folder of a user other than the one at the top."""
        return self.top / _PEOPLE / folder_name(user_id)

    def mirrored(self) -> Iterator[UserFiles]:
        """The files of every user whose mirror is enabled. Raises FilesUnavailable."""
        first = self.of(self.files_user)
        if first.memory.is_dir():
            yield first
        for name in folder_names(self.top / _PEOPLE):
            user_id = _user_named(name) or self._user_noted(name)
            if user_id is not None and user_id != self.files_user:
                files = self.of(user_id)
                if files.memory.is_dir():
                    yield files

    def _user_noted(self, name: str) -> str | None:
        """The user of a folder by the notes of its mirror: a long name does not say."""
        if _CUT_SIGN not in name:
            return None
        files = UserFiles("", Path(), self.top / _PEOPLE / name / "memory")
        try:
            user_id = checks.user_id(files.mirror.noted_user())
        except RicordoError:
            return None
        return user_id if folder_name(user_id) == name else None


def folder_name(user_id: str) -> str:
    """A folder name for a user: safe on every file system, and unique.

    Lower-case letters, digits, ``_`` and ``-`` stay; every other byte becomes ``%`` and its hex
    code, so that there are no capitals, dots or separators. A name that is too long is cut and ends
    in a hash of the whole.
    """
    stored = user_id.encode("utf-8")
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in stored)
    if _DEVICES.match(name):  # reserved device names on Windows
        return f"%{stored[0]:02x}{name[1:]}"
    if len(name) <= _MAX_NAME_CHARS:
        return name
    digest = hashlib.blake2b(stored, digest_size=16).hexdigest()
    return f"{_BROKEN_ESCAPE.sub('', name[:_CUT_NAME_CHARS])}{_CUT_SIGN}{digest}"


def _user_named(name: str) -> str | None:
    """The user of a folder by its name; None where it does not say."""
    try:
        user_id = checks.user_id(unquote_to_bytes(name).decode("utf-8"))
    except (RicordoError, UnicodeDecodeError):
        return None
    return user_id if folder_name(user_id) == name else None
