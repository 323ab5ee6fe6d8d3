"""Importing memories of Open WebUI: what its API lists, or its database ``webui.db``.

Both have the memories of a user, the database those of all users.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ricordo import limits
from ricordo.errors import ImportFailed
from ricordo.model.draft import NewMemory
from ricordo.model.vocabulary import Source
from ricordo.transfer import foreign_files
from ricordo.transfer.drafts import ImportedData
from ricordo.transfer.foreign_files import JsonObject, is_kept

NAME: Final = "openwebui"
_BEGINNING: Final = b"SQLite format 3\x00"
_LOG_MODE_AT: Final = 18
_COLUMNS: Final = ("id", "user_id", "content", "created_at")
_ROWS: Final = "SELECT id, user_id, content, created_at FROM memory ORDER BY rowid"


def fits(data: object) -> bool:
    """Whether the JSON looks like a list of its memories."""
    first = foreign_files.first_object(data)
    is_said = isinstance(first.get("content"), str) and isinstance(first.get("user_id"), str)
    return is_said and isinstance(first.get("created_at"), int)  # seconds since 1970


def is_database(path: Path) -> bool:
    """Whether a file begins like one of SQLite. Raises ImportFailed."""
    try:
        with path.open("rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None


def read(path: Path) -> Iterator[ImportedData]:
    """The memories, each with its user. Raises ImportFailed."""
    if is_database(path):
        yield from _of_database(path)
        return
    document = foreign_files.document(path)
    for place, entry in foreign_files.numbered(document.place, document.data, "memory"):
        given = foreign_files.an_object(place, entry)
        foreign_files.a_text(f"{place}, 'content'", given.get("content"))
        yield _found(given)


def _found(given: JsonObject) -> ImportedData:
    found = ImportedData(user=foreign_files.user(given.get("user_id")))
    content = foreign_files.text(given.get("content"))
    if is_kept(found, content, limits.MAX_CONTENT_CHARS):
        found.memories.append(
            NewMemory(
                content=content,
                source=Source.IMPORT,
                message_id=foreign_files.origin(NAME, given.get("id")),
                created_at=foreign_files.moment(given.get("created_at")),
            )
        )
    return found


def _of_database(path: Path) -> Iterator[ImportedData]:
    with _opened(path) as connection:
        kind = connection.execute("SELECT type FROM sqlite_master WHERE name = 'memory'").fetchone()
        columns = {row[1] for row in connection.execute("PRAGMA table_info(memory)")}
        if kind != ("table",) or not columns.issuperset(_COLUMNS):
            raise ImportFailed(
                f"{path}: a database without the table 'memory' of Open WebUI;"
                " allowed of databases: its webui.db"
            )
        for row in connection.execute(_ROWS):
            yield _found(dict(zip(_COLUMNS, row, strict=True)))


def _is_left_by_a_log(path: Path) -> bool:
    """Whether it was written through a write-ahead log that is not here."""
    with path.open("rb") as file:
        header = file.read(_LOG_MODE_AT + 1)
    return header[_LOG_MODE_AT:] == b"\x02" and not Path(f"{path}-wal").exists()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Only for reading, and distrusted: anybody can have made it."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    if _is_left_by_a_log(path):
        address += "&immutable=1"  # otherwise files for a new log are made beside it, and stay
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.MAX_IMPORT_ENTRY_BYTES)
            connection.text_factory = lambda given: given.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            yield connection
    except sqlite3.Error as problem:
        raise ImportFailed(f"{path}: not a readable database ({problem})") from None
