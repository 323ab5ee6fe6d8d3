"""Drafts: SQLite files that are complete before anything depends on them.

A backup is written as a draft and renamed; an older one is migrated in a draft. What an import
reads is put into the rows of a draft, checked there and then merged into the store, so that memory
holds a batch and not the file, and nothing is written before all of it is known to be right.
"""

import contextlib
import glob
import os
import secrets
import stat
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from ricordo.errors import InvalidValue
from ricordo.files.disk import file_errors, sync_folder, try_lock
from ricordo.limits import (
    BACKUP_LONG_ROWS_AT_ONCE,
    BACKUP_ROWS_AT_ONCE,
    BACKUP_WIDE_ROWS_AT_ONCE,
)
from ricordo.model.draft import NewMemory
from ricordo.model.thread import Compaction, NewTurn, Observer
from ricordo.platforms import REPLACES_OPEN_FILES
from ricordo.storage.database import Database
from ricordo.storage.sqlite.backend import SqliteBackend
from ricordo.storage.sqlite.connection import Use
from ricordo.storage.tables import (
    checkpoints,
    graph_channels,
    graph_checkpoints,
    graph_writes,
    kept_answers,
    store_entries,
    turns,
)
from ricordo.transfer.rows import TABLE_OF_KIND, DraftRow, Row, exported_columns

FileOpener: TypeAlias = Callable[[Path, Use], Database]
"""Opens a SQLite file with the settings of the store, including its key."""

_WIDE_TABLES: Final = frozenset(
    (checkpoints, graph_channels, graph_checkpoints, graph_writes, kept_answers, store_entries)
)
"""Tables whose rows can have many megabytes."""
_ENDING: Final = ".ricordo-draft"
_UNLOCKED: Final = ".ricordo-new"
_PRIVATE_FILE: Final = 0o600
_ABANDONED_SECONDS: Final = 86_400.0
_NAME_CHARS: Final = 100  # of the file's name: names may not exceed 255 bytes
_COPIED_BYTES: Final = 1_048_576
_BATCH_BYTES: Final = 1_048_576  # of rows that are written together …
_LEAST_ROW_BYTES: Final = 4_096  # … where each counts for at least so many


# A draft is locked while it is written. One without a lock was left by a killed process; the next
# draft of the same name removes it.


@contextlib.contextmanager
def draft_beside(path: Path) -> Iterator[Path]:
    """A new, empty file readable by its owner only; removed at the end if it is still there. Raises
    FilesUnavailable."""
    start = f".{path.name[:_NAME_CHARS]}."
    with file_errors(path):
        _remove_left(path.parent, start)
        draft = path.parent / f"{start}{secrets.token_hex(8)}{_ENDING}"
        # Locked before it has the name by which others look for abandoned ones.
        unlocked = draft.with_suffix(_UNLOCKED)
        handle = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE_FILE)
    held: int | None = handle
    try:
        if REPLACES_OPEN_FILES:
            try_lock(handle)
        else:  # open, it could not get its final name
            os.close(handle)
            held = None
        unlocked.rename(draft)
        yield draft
    finally:
        if held is not None:
            os.close(held)
        unlocked.unlink(missing_ok=True)
        _remove(draft)


def copy_into(draft: Path, source: Path) -> None:
    """Copy a file's bytes into a draft. Raises FilesUnavailable."""
    with file_errors(source), source.open("rb") as read, draft.open("wb") as written:
        while piece := read.read(_COPIED_BYTES):
            written.write(piece)


def put_in_place(draft: Path, path: Path, *, force: bool) -> None:
    """Rename a complete draft durably. Raises InvalidValue: the name is taken, and ``force`` is
    off; FilesUnavailable: it cannot be written."""
    with file_errors(path):
        handle = os.open(draft, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        require_free(path, force=force)
        if force or not _link(draft, path):
            draft.replace(path)
        sync_folder(path.parent)


def require_free(path: Path, *, force: bool) -> None:
    """Check that a file can be created at the path. Raises InvalidValue: something is there, and it
    is not a file or ``force`` is off; FilesUnavailable: the path cannot be accessed."""
    with file_errors(path):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
    if not stat.S_ISREG(mode):
        raise InvalidValue("path", f"{path} is not an ordinary file, and is not replaced by one")
    if not force:
        raise InvalidValue("path", f"{path} exists already; name another, or force to replace it")


def _link(draft: Path, path: Path) -> bool:
    """Link the draft to a free name; False where the file system has no hard links."""
    try:
        os.link(draft, path)
    except FileExistsError:
        require_free(path, force=False)
        raise
    except OSError:
        return False
    return True


def _remove_left(folder: Path, start: str) -> None:
    for left in folder.glob(f"{glob.escape(start)}*{_ENDING}"):
        with contextlib.suppress(FileNotFoundError, PermissionError):  # in a shared folder
            if _is_abandoned(left):
                _remove(left)


def _is_abandoned(draft: Path) -> bool:
    if not REPLACES_OPEN_FILES:  # nor locked: nobody leaves one that is needed alone for so long
        return time.time() - draft.stat().st_mtime > _ABANDONED_SECONDS
    handle = os.open(draft, os.O_RDWR)
    try:
        return try_lock(handle)
    finally:
        os.close(handle)


def _remove(draft: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        draft.with_name(f"{draft.name}{ending}").unlink(missing_ok=True)


@contextlib.contextmanager
def opened(path: Path, use: Use, open_file: FileOpener) -> Iterator[Database]:
    """Open a SQLite file. Raises InvalidValue: there is no such file."""
    with file_errors(path):
        is_there = path.is_file()
    if not is_there:
        raise InvalidValue("path", f"there is no file {path}")
    database = open_file(path, use)
    try:
        yield database
    finally:
        database.backend.close()


def rows_at_once(table: sa.Table) -> int:
    if table in _WIDE_TABLES:
        return BACKUP_WIDE_ROWS_AT_ONCE
    return BACKUP_LONG_ROWS_AT_ONCE if table is turns else BACKUP_ROWS_AT_ONCE


def pages(
    connection: sa.Connection, wanted: sa.Select[Any], at_once: int = BACKUP_ROWS_AT_ONCE
) -> Iterator[list[Row]]:
    """The rows of a query, as many at once as memory should hold."""
    with connection.execute(wanted.execution_options(yield_per=at_once)) as found:
        for page in found.mappings().partitions():
            yield [dict(row) for row in page]


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A conversation in a file.

    ``turn_ids`` are the ids of its turns in the file, if any; the first ``formed`` turns have been
    formed into memories. ``compactions`` are its summaries, ``project_id`` its project.
    """

    thread_id: str
    title: str | None
    turns: Sequence[NewTurn]
    turn_ids: Sequence[int] = ()
    formed: int = 0
    compactions: Sequence[Compaction] = ()
    project_id: str | None = None


@dataclass(slots=True)
class ImportedData:
    """A part of a file of another system. ``skipped`` counts what was left out, by reason;
    ``user`` is whose it is there, where the file says so."""

    memories: list[NewMemory] = field(default_factory=list)
    threads: list[FoundThread] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    user: str | None = None

    def add_thread(self, thread_id: str, title: str | None, turns: list[NewTurn]) -> None:
        """Add a conversation, unless nothing of it can be stored."""
        if turns:
            self.threads.append(FoundThread(thread_id, title, turns))
        else:
            self.skipped["conversations without text"] += 1


@cache
def _tables() -> dict[str, sa.Table]:
    """The tables of an export without their constraints: a file may break any of them."""
    metadata = sa.MetaData()
    for kind, table in TABLE_OF_KIND.items():
        made = sa.Table(
            kind,
            metadata,
            sa.Column("draft_line", sa.Integer, primary_key=True),
            sa.Column("draft_user", sa.Text, nullable=False),
            sa.Column("draft_part", sa.Integer, nullable=False),
            *(sa.Column(column.name, column.type) for column in exported_columns(table).values()),
        )
        indexed = ("draft_user", "thread_id", "draft_part", "position")
        sa.Index(f"of_{kind}", *(made.c[name] for name in indexed if name in made.c))
    return dict(metadata.tables)


class UserDraft:
    """The rows of one user in a draft."""

    def __init__(self, connection: sa.Connection, user_id: str) -> None:
        self.connection = connection
        self.user_id = user_id

    @property
    def revision(self) -> int:
        found: int = self.connection.execute(self.select("user", "revision")).scalar_one()
        return found

    def table(self, kind: str) -> sa.Table:
        return _tables()[kind]

    def select(self, kind: str, *names: str) -> sa.Select[Any]:
        """These columns of the user's rows of a kind, or all, in the order of the file."""
        table = _tables()[kind]
        chosen = [table.c[name] for name in names] or [
            one for one in table.c if not one.name.startswith("draft_")
        ]
        return sa.select(*chosen).where(self.owns(kind)).order_by(table.c.draft_line)

    def owns(self, kind: str) -> sa.ColumnElement[bool]:
        return _tables()[kind].c.draft_user == self.user_id

    def count(self, kind: str, where: sa.ColumnElement[bool] | None = None) -> int:
        counted = sa.select(sa.func.count()).where(self.owns(kind))
        counted = counted if where is None else counted.where(where)
        found: int = self.connection.execute(counted).scalar_one()
        return found

    def pages(self, kind: str) -> Iterator[list[Row]]:
        return pages(self.connection, self.select(kind), rows_at_once(TABLE_OF_KIND[kind]))

    def rows(self, kind: str) -> Iterator[Row]:
        for page in self.pages(kind):
            yield from page

    def rows_of_thread(self, kind: str, thread_id: str) -> list[Row]:
        wanted = self.select(kind).where(_tables()[kind].c.thread_id == thread_id)
        return [dict(row) for row in self.connection.execute(wanted).mappings()]

    def threads(self) -> Iterator[FoundThread]:
        """The conversations, one in memory at a time."""
        turn = _tables()["turn"].c
        wanted = self.select("thread", "draft_part", "thread_id", "title", "project_id")
        for page in pages(self.connection, wanted):
            for thread in page:
                thread_id = thread["thread_id"]
                of_thread = sa.and_(
                    turn.thread_id == thread_id, turn.draft_part == thread["draft_part"]
                )
                said = self.select("turn").where(of_thread).order_by(None).order_by(turn.position)
                turns = self.connection.execute(said).mappings().all()
                formed = self.rows_of_thread("formation", thread_id)
                yield FoundThread(
                    thread_id=thread_id,
                    title=thread["title"],
                    turns=[_turn(row) for row in turns],
                    turn_ids=[row["id"] for row in turns if row["id"] is not None],
                    formed=formed[0]["formed_position"] if formed else 0,
                    compactions=[
                        Compaction(**{name: row[name] for name in row if name != "user_id"})
                        for row in self.rows_of_thread("compaction", thread_id)
                    ],
                    project_id=thread["project_id"],
                )


def _turn(row: Mapping[Any, Any]) -> NewTurn:
    given = {one.name: row[one.name] for one in fields(NewTurn)}
    if given["observed_by"] is not None:
        given["observed_by"] = Observer.parse(given["observed_by"])
    return NewTurn(**given)


@contextlib.contextmanager
def imported_draft(
    database: Database, open_file: FileOpener, rows: Iterable[DraftRow]
) -> Iterator[list[UserDraft]]:
    """The users of a draft that these rows are put into.

    Raises:
        ImportFailed: where the rows come from.
        FilesUnavailable, StorageError: the draft cannot be written.
    """
    backend = database.backend
    beside = Path(tempfile.gettempdir(), "ricordo-import")
    if isinstance(backend, SqliteBackend):
        beside = backend.path
    with draft_beside(beside) as path, opened(path, Use.DRAFT, open_file) as draft:
        with draft.transaction() as connection:
            _tables()["user"].metadata.create_all(connection)
            _write(connection, rows)
        user = _tables()["user"].c
        with draft.read_all() as reading:
            wanted = sa.select(user.draft_user).order_by(user.draft_line)
            user_ids = reading.connection.execute(wanted).scalars().all()
            yield [UserDraft(reading.connection, user_id) for user_id in user_ids]


def _write(connection: sa.Connection, rows: Iterable[DraftRow]) -> None:
    waiting: defaultdict[str, list[Row]] = defaultdict(list)
    size = 0

    def flush() -> None:
        for kind, values in waiting.items():
            connection.execute(sa.insert(_tables()[kind]), values)
        waiting.clear()

    for row in rows:
        named = {"draft_user": row.user_id, "draft_part": row.part, **row.values}
        waiting[row.kind].append(named)
        size += max(row.size, _LEAST_ROW_BYTES)
        if size >= _BATCH_BYTES:
            flush()
            size = 0
    flush()
