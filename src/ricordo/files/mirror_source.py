"""What the files tell: a user's active memories, and what was said in short, from the database."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import groupby
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.disk import make_folder, read_file, replace_if_same
from ricordo.files.mirror_merge import Notes
from ricordo.files.mirror_text import ShownMemory
from ricordo.model.checks import format_moment
from ricordo.model.reports import MirrorEntry
from ricordo.model.vocabulary import Status
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.history import revision_of
from ricordo.storage.tables import compactions, items
from ricordo.storage.where import Condition, not_expired

_MAX_SHOWN_BYTES: Final = limits.MAX_MIRROR_FILE_BYTES // 2  # the rest is for what people add
_ROWS_AT_ONCE: Final = 500
_THREADS_AT_ONCE: Final = 50
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Stored:
    """A user's own active memories at one moment. ``hidden`` older ones are not shown."""

    revision: int
    shown: dict[int, ShownMemory]
    hidden: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """What was said in a stretch of a conversation, for the log of its day."""

    day: str
    at: datetime
    thread_id: str
    last_position: int
    summary: str


def stored_memories(database: Database, user_id: str) -> Stored:
    """What MEMORY.md is to show: the newest memories, as many as fit.

    Raises:
        StorageError: the database could not answer.
    """
    with database.read(user_id) as view:
        own = _own_active(view, user_id)
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


def _own_active(view: ReadTransaction, user_id: str) -> Condition:
    return sa.and_(
        items.c.user_id == user_id,
        items.c.status == Status.ACTIVE.value,
        not_expired(view.now),
    )


def position_of(database: Database, user_id: str) -> tuple[int, int, str]:
    """Where a user's feed and daily log stand: equal as long as there is nothing to write.

    Raises:
        StorageError: the database could not answer.
    """
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
    """Entries of the daily logs that are not in them yet.

    ``reached`` says up to where the logs have each conversation, by its key; of conversations that
    it does not name, only what is later than ``since`` counts, or all of them. Times alone would
    not do: clocks are set back, and two machines have two of them.

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
    """What stands for a conversation in the notes and files of a mirror."""
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
    # The day becomes the name of a file, and rows may come from an import.
    safe = day if _DAY.fullmatch(day) else at.date().isoformat()
    return LogEntry(safe, at, thread_id, last_position, summary)


# They are a person's to edit. An entry is written once: what a person changes or deletes stays
# changed or deleted, and a file that was deleted comes back only with new entries.

_ATTEMPTS: Final = 5
"""How often to begin again when somebody saves the file just then."""


class DailyFiles:
    """Writes a user's daily logs. The caller holds the lock of the mirror and saves the notes."""

    def __init__(self, database: Database, folder: Path, zone: tzinfo) -> None:
        self._database = database
        self._folder = folder
        self._zone = zone

    def append_new(self, notes: Notes) -> tuple[int, list[MirrorEntry]]:
        """Append what the logs do not have yet; how many entries, and what went wrong.

        Raises:
            StorageError: the database could not answer.
        """
        found = log_entries(self._database, notes.user_id, notes.daily_reached, notes.daily_since)
        entries = sorted(found, key=lambda one: (one.day, one.at, one.thread_id, one.last_position))
        written = 0
        problems: list[MirrorEntry] = []
        for day, of_day in groupby(entries, lambda one: one.day):
            try:
                written += self._append(day, list(of_day))
            except FilesUnavailable as problem:
                problems.append(MirrorEntry(note=str(problem)))
        if entries and not problems:  # otherwise all of them are looked at again
            notes.note_logged(
                [(thread_key(one.thread_id), one.last_position, one.at) for one in entries]
            )
        return written, problems

    def _append(self, day: str, entries: Sequence[LogEntry]) -> int:
        make_folder(self._folder)
        path = self._folder / f"{day}.md"
        for _ in range(_ATTEMPTS):
            held = read_file(path, limits.MAX_MIRROR_FILE_BYTES)
            text = f"# {day}\n".encode() if held is None else held
            # A process may have been killed after it wrote here and before it noted that.
            missing = [entry for entry in entries if _mark(entry).encode() not in text]
            if not missing:
                return 0
            gap = b"" if text.endswith(b"\n") or not text else b"\n"
            added = "".join(self._shown(entry) for entry in missing).encode("utf-8")
            if len(text) + len(added) > limits.MAX_MIRROR_FILE_BYTES:
                raise FilesUnavailable(f"{path}: has no room for more")
            if replace_if_same(path, text + gap + added, held) is not None:
                return len(missing)
        raise FilesUnavailable(f"{path}: is being changed all the time: not written")

    def _shown(self, entry: LogEntry) -> str:
        time = entry.at.astimezone(self._zone).strftime("%H:%M")
        said = entry.summary.replace("<!--", "&lt;!--").strip()  # nothing said is taken for a mark
        thread = entry.thread_id.replace("<!--", "&lt;!--")
        return f"\n{_mark(entry)}\n## {time} · {thread}\n\n{said}\n"


def _mark(entry: LogEntry) -> str:
    """Which entry it is, for the program; people do not see it when the file is shown."""
    return f"<!-- ricordo {thread_key(entry.thread_id)} {entry.last_position} -->"
