"""A SQLite file with or without encryption: ``database encrypt``, ``decrypt`` and ``rekey``."""

import os
import sys
from typing import TYPE_CHECKING, Final

import typer

from ricordo.cli.options import Store
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.shapes import ConvertedDatabase
from ricordo.errors import InvalidValue

if TYPE_CHECKING:
    from pathlib import Path

    from ricordo.settings import Settings
    from ricordo.storage.sqlite.connection import DatabaseKey

NEW_KEY_VARIABLE: Final = "RICORDO_NEW_DATABASE_KEY"


def encrypt(*, store: Store) -> None:
    """Encrypt the file of a SQLite database.

    The key comes from RICORDO_DATABASE_KEY or RICORDO_DATABASE_KEY_FILE, or from the keyboard.
    Nothing may have the file open meanwhile. The old file is overwritten.
    """
    from ricordo.wiring import database_key

    settings, file = _named(store)
    key = database_key(settings) or _asked("Key of the database", "RICORDO_DATABASE_KEY")
    _convert(store, file, None, key)


def decrypt(*, store: Store) -> None:
    """Take the encryption off the file of a SQLite database.

    The key is that of RICORDO_DATABASE_KEY or RICORDO_DATABASE_KEY_FILE. Nothing may have the file
    open meanwhile. The old file is overwritten.
    """
    settings, file = _named(store)
    _convert(store, file, _present(settings), None)


def rekey(*, store: Store) -> None:
    """Encrypt the file of a SQLite database with another key.

    The present key is that of RICORDO_DATABASE_KEY or RICORDO_DATABASE_KEY_FILE, the new one comes
    from RICORDO_NEW_DATABASE_KEY or from the keyboard. Nothing may have the file open meanwhile.
    The old file is overwritten.
    """
    from ricordo.storage.sqlite.connection import DatabaseKey

    settings, file = _named(store)
    present = _present(settings)
    given = os.environ.get(NEW_KEY_VARIABLE)
    new = DatabaseKey(given) if given else _asked("New key of the database", NEW_KEY_VARIABLE)
    _convert(store, file, present, new)


def _named(store: Store) -> tuple["Settings", "Path"]:
    from ricordo.wiring import database_file, read_settings

    settings = read_settings(os.environ, store.settings())
    return settings, database_file(settings)


def _present(settings: "Settings") -> "DatabaseKey":
    from ricordo.wiring import database_key

    key = database_key(settings)
    if key is None:
        raise InvalidValue("setting database_key", "must be the key that the file has now")
    return key


def _asked(what: str, variable: str) -> "DatabaseKey":
    from ricordo.storage.sqlite.connection import DatabaseKey

    if not sys.stdin.isatty():
        name = variable.removeprefix("RICORDO_").lower()
        raise InvalidValue(f"setting {name}", f"must be the key; set {variable}")
    return DatabaseKey(typer.prompt(what, hide_input=True, confirmation_prompt=True, err=True))


def _convert(
    store: Store, file: "Path", old: "DatabaseKey | None", new: "DatabaseKey | None"
) -> None:
    from ricordo.storage.sqlite.rekey import convert

    with working("Writing the file anew", wanted=not store.as_json):
        convert(file, old, new)
    done = ConvertedDatabase(database=str(file), encrypted=new is not None)
    answer(store.as_json, done, lambda _: _sentence(file, old, new))


def _sentence(file: "Path", old: "DatabaseKey | None", new: "DatabaseKey | None") -> str:
    if new is None:
        return f"{file} is no longer encrypted. Unset RICORDO_DATABASE_KEY."
    what = "is encrypted" if old is None else "is encrypted with the new key"
    return f"{file} {what}. Nothing can be read without the key: keep a copy of it elsewhere."
