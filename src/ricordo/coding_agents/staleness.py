"""Memories that are tied to files which have changed since, or are gone."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo.formation.work import BLOB_TAG, FILE_TAG, WorkKind, blob_tag
from ricordo.formation.work_known import kind_of, known_of_project
from ricordo.model.item import Item

if TYPE_CHECKING:
    from ricordo.user_memory import UserMemory

MAX_HASHED_BYTES: Final = 1024 * 1024
_WRITTEN_WITHIN: Final = timedelta(seconds=5)  # of a call of a tool
GONE_FOR_GOOD: Final = timedelta(days=14)
"""So old is a memory that is archived with its files: a branch may only lack them for now."""


class Standing(StrEnum):
    """Whether the files that a memory is tied to are as they were."""

    CURRENT = "current"
    CHANGED = "changed"
    GONE = "gone"


def blob_of(path: Path) -> str | None:
    """The hash that git gives a file's content; None if it cannot be read, or is too large."""
    try:
        if path.stat().st_size > MAX_HASHED_BYTES:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def blobs_of(root: Path, files: Iterable[str], at: datetime | None = None) -> dict[str, str]:
    """Those of the files that can be read; with ``at``, that have not changed since then."""
    found = {
        name: blob_of(root / name)
        for name in files
        if at is None or _is_older(root / name, at + _WRITTEN_WITHIN)
    }
    return {name: blob for name, blob in found.items() if blob is not None}


def _is_older(path: Path, moment: datetime) -> bool:
    try:
        return path.stat().st_mtime <= moment.timestamp()
    except OSError:
        return False


def standing_of(items: Sequence[Item], root: Path | None) -> Mapping[int, Standing]:
    """How the files of each memory are; current where that cannot be seen."""
    if root is None or not root.is_dir():
        return {item.id: Standing.CURRENT for item in items}
    files = _Files(root)
    return {item.id: _standing(item, files) for item in items}


class _Files:
    """The files below a root, each looked at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._blobs: dict[str, str | None] = {}

    def exists(self, name: str) -> bool:
        return (self._root / name).exists()

    def blobs(self, names: Iterable[str]) -> dict[str, str]:
        for name in names:
            if name not in self._blobs:
                self._blobs[name] = blob_of(self._root / name)
        return {name: blob for name in names if (blob := self._blobs[name]) is not None}


def _standing(item: Item, root: _Files) -> Standing:
    files = files_of(item)
    if not files:
        return Standing.CURRENT
    if not any(map(root.exists, files)):
        return Standing.GONE
    noted = next((tag for tag in item.tags if tag.startswith(BLOB_TAG)), None)
    if noted is None or noted == blob_tag(root.blobs(files), files):
        return Standing.CURRENT
    return Standing.CHANGED


def files_of(item: Item) -> tuple[str, ...]:
    """The files that a memory is tied to, relative to the root of its project."""
    return tuple(tag.removeprefix(FILE_TAG) for tag in item.tags if tag.startswith(FILE_TAG))


def archive_stale(user: "UserMemory", project: str, root: Path) -> tuple[int, ...]:
    """Archive pitfalls whose files are gone for good; their ids.

    Decisions outlive their files: they are shown with a note.
    """
    if not root.is_dir():
        return ()
    user_id = user.scope.user_id
    with user.database.read(user_id) as view:
        known = known_of_project(view, user_id, project)
        before = view.now - GONE_FOR_GOOD
    files = _Files(root)
    gone = [
        item
        for item in known
        if kind_of(item) is WorkKind.PITFALL
        and item.updated_at < before
        and _standing(item, files) is Standing.GONE
    ]
    for item in gone:
        user.archive(item.id, reason=f"gone: {', '.join(files_of(item))}"[:200])
    return tuple(item.id for item in gone)
