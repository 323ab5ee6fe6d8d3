"""The contents of the mirror files: a user's active memories and daily summaries."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import groupby
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.disk import make_folder
from ricordo.files.mirror_merge import Notes
from ricordo.files.mirror_text import ShownMemory
from ricordo.files.sync import rewrite
from ricordo.frozen import dataclass
from ricordo.model.checks import format_moment
from ricordo.model.reports import MirrorEntry
from ricordo.model.vocabulary import Status
from ricordo.storage.database import Database
from ricordo.storage.history import revision_of
from ricordo.storage.sql import Condition
from ricordo.storage.tables import compactions, items
from ricordo.storage.where import not_expired

_MAX_SHOWN_BYTES: Final = limits.MAX_MIRROR_FILE_BYTES // 2  # leaves room for what people add
_ROWS_AT_ONCE: Final = 500
_THREADS_AT_ONCE: Final = 50
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Stored:
    """A user's own active memories at one moment; ``hidden`` older ones are not shown."""

    revision: int
    shown: dict[int, ShownMemory]
    hidden: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """The summary of a segment of a conversation, for the log of its day."""

    day: str
    at: datetime
    thread_id: str
    last_position: int
    summary: str


def stored_memories(database: Database, user_id: str) -> Stored:
    """The memories that MEMORY.md shows: the newest that fit. Raises StorageError."""
    with database.read(user_id) as view:
        own = sa.and_(
            items.c.user_id == user_id, items.c.status == Status.ACTIVE.value, not_expired(view.now)
        )
        newest = (
            sa.select(items.c.id, items.c.theme, items.c.content)
            .where(own)
            .order_by(items.c.id.desc())
            .limit(limits.MAX_MIRRORED_ITEMS)
        )
        shown: dict[int, ShownMemory] = {}
        size = 0
        for item_id, theme, content in view.connection.execute(newest):
            one = ShownMemory(item_id, theme, content)
            size += len(one.text.encode("utf-8"))
            if size > _MAX_SHOWN_BYTES:
                break
            shown[item_id] = one
        counted = sa.select(sa.func.count()).select_from(items).where(own)
        total: int = view.connection.execute(counted).scalar_one()
        return Stored(revision_of(view.connection, user_id), shown, total - len(shown))


def position_of(database: Database, user_id: str) -> tuple[int, int, str]:
    """The user's revision and log state: unchanged while there is nothing to write. Raises
    StorageError."""
    counted = sa.select(sa.func.count(), sa.func.max(compactions.c.at)).where(
        compactions.c.user_id == user_id
    )
    with database.read(user_id) as view:
        count, newest = view.connection.execute(counted).one()
        revision = revision_of(view.connection, user_id)
    return revision, count, "" if newest is None else format_moment(newest)


def log_entries(
    database: Database, user_id: str, reached: Mapping[str, int], since: datetime | None
) -> Iterator[LogEntry]:
    """Entries that are not in the daily logs yet.

    ``reached`` says up to which position the logs have each conversation, by its key; of other
    conversations, only entries later than ``since`` count, if it is given. Times alone are not
    reliable: clocks are set back, and machines differ.

    Raises:
        StorageError: the database could not answer.
    """
    tops = (
        sa.select(
            compactions.c.thread_id,
            sa.func.max(compactions.c.last_position),
            sa.func.max(compactions.c.at),
        )
        .where(compactions.c.user_id == user_id)
        .group_by(compactions.c.thread_id)
    )
    missing: list[Condition] = []
    with database.read(user_id) as view:
        for thread_id, last_position, at in view.connection.execute(tops):
            of_thread = compactions.c.thread_id == thread_id
            known = reached.get(thread_key(thread_id))
            if known is None and (since is None or at > since):
                later = sa.true() if since is None else compactions.c.at > since
                missing.append(sa.and_(of_thread, later))
            elif known is not None and last_position > known:
                missing.append(sa.and_(of_thread, compactions.c.last_position > known))
    for start in range(0, len(missing), _THREADS_AT_ONCE):
        some = sa.or_(*missing[start : start + _THREADS_AT_ONCE])
        yield from _log_entries(database, user_id, some)


def thread_key(thread_id: str) -> str:
    """The key of a conversation in the notes and files of a mirror."""
    return hashlib.blake2b(thread_id.encode("utf-8"), digest_size=8).hexdigest()


def _log_entries(database: Database, user_id: str, where: Condition) -> Iterator[LogEntry]:
    place = (compactions.c.thread_id, compactions.c.last_position)
    wanted = (
        sa.select(
            compactions.c.day,
            compactions.c.at,
            compactions.c.thread_id,
            compactions.c.last_position,
            compactions.c.summary,
        )
        .where(compactions.c.user_id == user_id, where, compactions.c.summary != "")
        .order_by(*place)
        .limit(_ROWS_AT_ONCE)
    )
    page = wanted
    while True:
        with database.read(user_id) as view:
            found = [_entry(*row) for row in view.connection.execute(page)]
        yield from found
        if len(found) < _ROWS_AT_ONCE:
            return
        last = found[-1]
        page = wanted.where(sa.tuple_(*place) > (last.thread_id, last.last_position))


def _entry(day: str, at: datetime, thread_id: str, last_position: int, summary: str) -> LogEntry:
    # The day becomes a file name, and rows may be imported.
    safe = day if _DAY.fullmatch(day) else at.date().isoformat()
    return LogEntry(safe, at, thread_id, last_position, summary)


class DailyFiles:
    """Appends to a user's daily logs. The caller locks the mirror and saves the notes.

    Daily logs are a person's to edit. An entry is written once: later changes and deletions stay,
    and a deleted file only comes back with new entries.
    """

    def __init__(self, database: Database, folder: Path, zone: tzinfo) -> None:
        self._database = database
        self._folder = folder
        self._zone = zone

    def append_new(self, user_id: str, notes: Notes) -> tuple[int, list[MirrorEntry]]:
        """Append new entries; their number and what went wrong. Raises StorageError."""
        found = log_entries(self._database, user_id, notes.daily_reached, notes.daily_since)
        entries = sorted(found, key=lambda one: (one.day, one.at, one.thread_id, one.last_position))
        written = 0
        problems: list[MirrorEntry] = []
        for day, of_day in groupby(entries, lambda one: one.day):
            try:
                written += self._append(day, list(of_day))
            except FilesUnavailable as problem:
                problems.append(MirrorEntry(note=str(problem)))
        if entries and not problems:  # otherwise all are retried
            notes.note_logged(
                [(thread_key(one.thread_id), one.last_position, one.at) for one in entries]
            )
        return written, problems

    def _append(self, day: str, entries: Sequence[LogEntry]) -> int:
        missing: list[LogEntry] = []

        def with_entries(contents: bytes | None) -> bytes | None:
            nonlocal missing
            text = f"# {day}\n".encode() if contents is None else contents
            # A process may have been killed after writing here and before saving the notes.
            missing = [entry for entry in entries if _mark(entry).encode() not in text]
            gap = b"" if text.endswith(b"\n") or not text else b"\n"
            added = "".join(map(self._shown, missing)).encode("utf-8")
            return text + gap + added if missing else contents

        make_folder(self._folder)
        rewrite(self._folder / f"{day}.md", limits.MAX_MIRROR_FILE_BYTES, with_entries)
        return len(missing)

    def _shown(self, entry: LogEntry) -> str:
        time = entry.at.astimezone(self._zone).strftime("%H:%M")
        said = entry.summary.replace("<!--", "&lt;!--").strip()  # content must not look like a mark
        thread = entry.thread_id.replace("<!--", "&lt;!--")
        return f"\n{_mark(entry)}\n## {time} · {thread}\n\n{said}\n"


def _mark(entry: LogEntry) -> str:
    """An HTML comment that identifies the entry."""
    return f"<!-- ricordo {thread_key(entry.thread_id)} {entry.last_position} -->"
