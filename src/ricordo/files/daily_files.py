"""The daily logs: a file for each day, to which what was said is appended in short.

They are a person's to edit. An entry is written once: what a person changes or deletes stays
changed or deleted, and a file that was deleted comes back only with new entries.
"""

from collections.abc import Sequence
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import FilesUnavailable
from ricordo.files.atomic import make_folder, read_file, replace_if_same
from ricordo.files.mirror_notes import Notes
from ricordo.files.mirror_source import LogEntry, log_entries, thread_key
from ricordo.model.reports import MirrorEntry
from ricordo.storage.database import Database

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
