"""Names that stand in a store, for the shell to complete and for a near miss to be told.

Read straight from the file of SQLite, without any of the libraries that take long to load. There
may be no file, an older one, or one that cannot be read: then there are no names. A database on a
server is not asked, because nobody waits for one while typing.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

_MAX_NAMES: Final = 200
_PATIENCE_SECONDS: Final = 0.1
_PREFIX: Final = "sqlite:///"
_DEFAULT_HOME: Final = "~/.ricordo"
_DEFAULT_USER: Final = "me"
_GLOBAL: Final = "--global"
_EVERYBODY: Final = "*"


class Named(StrEnum):
    """What has names, and the column that they are in."""

    THEME = "SELECT slug FROM themes WHERE user_id = :user ORDER BY slug"
    THREAD = "SELECT thread_id FROM threads WHERE user_id = :user ORDER BY updated_at DESC"
    USER = "SELECT user_id FROM users WHERE :user = :user AND user_id <> '*' ORDER BY user_id"


def names_in_store(kind: Named, arguments: Sequence[str]) -> list[str]:
    """Names of a kind in the store, and of the user, that a command line speaks of."""
    place = _file(arguments)
    if place is None or not place.is_file():
        return []
    user = _option(arguments, "--user", "-u") or os.environ.get("RICORDO_USER") or _DEFAULT_USER
    if _GLOBAL in arguments:
        user = _EVERYBODY
    # Only ever to read: not even an empty file is made.
    uri = f"{place.absolute().as_uri()}?mode=ro"
    wanted = f"{kind.value} LIMIT {_MAX_NAMES}"
    with contextlib.suppress(sqlite3.Error):
        reading = sqlite3.connect(uri, uri=True, timeout=_PATIENCE_SECONDS)
        with contextlib.closing(reading):
            return [str(row[0]) for row in reading.execute(wanted, {"user": user})]
    return []


def completing_names(kind: Named) -> Callable[[list[str], str], list[str]]:
    """What the shell offers for an option or argument that takes such a name."""

    def matching(args: list[str], incomplete: str) -> list[str]:
        found = names_in_store(kind, args)
        return [name for name in found if name.startswith(incomplete) and name.isprintable()]

    return matching


def _file(arguments: Sequence[str]) -> Path | None:
    given = _option(arguments, "--db") or os.environ.get("RICORDO_URL")
    if given:
        path = given.removeprefix(_PREFIX)
        return None if "://" in path or path.startswith(":") else Path(path).expanduser()
    home = _option(arguments, "--home") or os.environ.get("RICORDO_HOME") or _DEFAULT_HOME
    return Path(home).expanduser() / "ricordo.db"


def _option(arguments: Sequence[str], *names: str) -> str | None:
    """The value that an option has on a command line, whichever way it is written."""
    for position, argument in enumerate(arguments):
        if argument in names and position + 1 < len(arguments):
            return arguments[position + 1]
        name, equals, value = argument.partition("=")
        if equals and name in names:
            return value
    return None
