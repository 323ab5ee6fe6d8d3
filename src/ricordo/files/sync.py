"""Syncing a file that people edit with the store: ``MEMORY.md``, the daily logs and ``USER.md``.

Locks, notes, reading, comparing and replacing are here. What the text of a file means is said by
its own module, in the function that it passes to :func:`rewrite`.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.disk import (
    Stamp,
    has_contents,
    locked,
    make_folder,
    read_file,
    remove_drafts,
    replace_file,
    replace_if_same,
    stamp_of,
)
from ricordo.frozen import dataclass

_ATTEMPTS: Final = 5
"""Retries when the file is saved by somebody else during a sync."""
_SETTLING_SECONDS: Final = 0.05
"""Edits are taken over once the file has been unchanged for this long."""
_FEW: Final = 5
_USER: Final = "user"

Merge = Callable[[bytes | None], bytes | None]
"""Applies the edits in a file's contents to the store, and returns what the file should say."""


class Unreadable(Exception):
    """Nothing of the file may be applied or written; the message says why."""


class Refused(FilesUnavailable):
    """The file was left as it is."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.why = why


class _SavedMeanwhile(Exception):
    """The file was saved by somebody else during a sync."""


class Side(Enum):
    """Which side has changed since they last agreed."""

    NONE = auto()
    FILE = auto()
    STORE = auto()
    BOTH = auto()


def changed_side(base: object, in_file: object, in_store: object) -> Side:
    """Compare three versions of a text, or of its digest; None where there is none."""
    if in_file == in_store:
        return Side.NONE
    if in_file == base:
        return Side.STORE
    return Side.FILE if in_store == base else Side.BOTH


def looks_accidental(missing: int, known: int) -> bool:
    """Whether so many lines are missing that a person has to confirm their deletion."""
    return missing >= _FEW and 4 * missing > known


def rewrite(path: Path, max_bytes: int, merge: Merge) -> tuple[Stamp | None, bool]:
    """Replace a file by what ``merge`` makes of it; its stamp, and whether it was written.

    ``merge`` is called again where somebody saves the file meanwhile.

    Raises:
        Refused: it cannot be read or used, or would be too large; it is unchanged.
        FilesUnavailable: it cannot be written.
    """
    for _ in range(_ATTEMPTS):
        stamp = stamp_of(path)
        try:
            contents = read_file(path, max_bytes)
        except FilesUnavailable as problem:
            raise Refused(path, str(problem).removeprefix(f"{path}: ")) from problem
        try:
            new = merge(contents)
        except _SavedMeanwhile:
            continue
        except Unreadable as problem:
            raise Refused(path, str(problem)) from problem
        if new is None or new == contents:
            return stamp, False
        if len(new) > max_bytes:
            raise Refused(path, f"would be larger than the {max_bytes} bytes that are allowed")
        replaced = replace_if_same(path, new, contents)
        if replaced is not None:
            return replaced, True
    raise Refused(path, "keeps changing; try again")


def require_settled(path: Path, contents: bytes | None) -> None:
    """Wait a moment, and start again if the file is still being written: some editors write in
    pieces, and what is not there yet is not deleted."""
    time.sleep(_SETTLING_SECONDS)
    if not has_contents(path, contents):
        raise _SavedMeanwhile


@dataclass(frozen=True, slots=True)
class SyncedFile:
    """A file of one user, its lock, and the notes of its last sync."""

    user_id: str
    path: Path
    lock: Path
    notes: Path
    max_bytes: int

    @contextlib.contextmanager
    def locked(self, patience_seconds: float | None = None) -> Iterator[None]:
        """Keep other processes from syncing the file. Raises Busy, FilesUnavailable."""
        patience = limits.MIRROR_LOCK_SECONDS if patience_seconds is None else patience_seconds
        make_folder(self.path.parent)
        with locked(self.lock, patience):
            for path in (self.path, self.notes):
                remove_drafts(path)
            yield

    def rewrite(self, merge: Merge) -> tuple[Stamp | None, bool]:
        """See :func:`rewrite`. The file must be locked."""
        return rewrite(self.path, self.max_bytes, merge)

    def read_notes(self) -> dict[str, Any]:
        """The notes; empty where there are none that are usable. Raises FilesUnavailable."""
        contents = read_file(self.notes, self.max_bytes)
        try:
            noted = {} if contents is None else json.loads(contents)
        except (ValueError, RecursionError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def write_notes(self, noted: Mapping[str, Any]) -> None:
        """Replace the notes. The file must be locked. Raises FilesUnavailable."""
        document = json.dumps({_USER: self.user_id, **noted}, ensure_ascii=False)
        replace_file(self.notes, document.encode("utf-8"))

    def noted_user(self) -> str | None:
        """The user whose file this is; None where unknown. Raises FilesUnavailable."""
        user_id = self.read_notes().get(_USER)
        return user_id if isinstance(user_id, str) else None

    def check_owner(self) -> None:
        """Refuse the file of another user. Raises FilesUnavailable."""
        if self.noted_user() not in (None, self.user_id):
            raise FilesUnavailable(
                f"{self.path}: is another user's; move it away, or remove {self.notes.name} beside"
                " it to keep it"
            )
