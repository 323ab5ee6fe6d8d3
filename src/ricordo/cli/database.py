"""The whole store: ``migrate``, ``backup``, ``database``, ``users``, ``erase``, ``version``."""

import os
import platform
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.errors import CONFLICT
from ricordo.cli.json_answers import (
    ConvertedDatabase,
    GrantedRole,
    Migrated,
    PrintedGrant,
    Versions,
)
from ricordo.cli.render import TableListing, answer, confirm, working
from ricordo.cli.store import Store, Yes, is_made, open_store, untouched_database
from ricordo.errors import DatabaseTooOld, InvalidValue, StorageUnavailable
from ricordo.operations import store as describe
from ricordo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    import sqlalchemy as sa

    from ricordo.model.reports import BackupReport, RestoreReport
    from ricordo.settings import Settings
    from ricordo.storage.database import Database
    from ricordo.storage.sqlite.connection import DatabaseKey

Check = Annotated[bool, typer.Option("--check", help="Only say whether it is needed.")]

PASSWORD_VARIABLE: Final = "RICORDO_ROLE_PASSWORD"  # noqa: S105 - the name of a variable
NEW_KEY_VARIABLE: Final = "RICORDO_NEW_DATABASE_KEY"
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_STEP: Final = 1_000


def migrate(*, check: Check = False, store: Store) -> None:
    """Bring the database up to date.

    Every command does so when it opens an older one. With --check the exit code is 0 when it is
    up to date, and 4 otherwise.
    """
    from ricordo.storage.migration import HEAD, secure_again, upgrade

    with (
        untouched_database(store) as database,
        working("Bringing the database up to date", wanted=not (check or store.as_json)),
    ):
        before = schema_of(database)
        if not check and not upgrade(database):
            secure_again(database)
    needed = check and before != HEAD
    found: Migrated = {"from": before, "to": HEAD, "up_to_date": not needed}
    answer(store.as_json, found, lambda _: _migration_sentence(before, HEAD, check))
    if needed:
        raise typer.Exit(CONFLICT)


def schema_of(database: "Database") -> str | None:
    """The schema version of a database; None where there is none yet. Creates no file. Raises
    DatabaseTooNew: this version of ricordo does not know it; StorageError: the database cannot be
    opened."""
    from ricordo.storage.migration import version_of

    return version_of(database) if is_made(database) else None


def _migration_sentence(before: str | None, head: str, check: bool) -> str:
    if before == head:
        return f"Up to date: schema {head}."
    start = "nothing" if before is None else f"schema {before}"
    if check:
        return f"Needed: from {start} to schema {head}. Do it: ricordo migrate"
    return f"Brought from {start} to schema {head}."


Role = Annotated[str, typer.Argument(metavar="ROLE", help="What the application connects as.")]
Print = Annotated[
    bool, typer.Option("--print", help="Only print the SQL, for whoever administers the server.")
]


def grant(role: Role = "ricordo_app", *, only_print: Print = False, store: Store) -> None:
    """Let a role use a PostgreSQL database, bound by its row-level security.

    To be run as the role that owns the tables. The role is made where it is missing. Its password
    comes from the variable RICORDO_ROLE_PASSWORD or, for a new one, from the keyboard. Doing it
    again changes nothing else.
    """
    with untouched_database(store) as database:
        _check(database)
        with database.transaction() as connection:
            if only_print:
                from ricordo.storage.postgres.security import statements

                wanted = statements(connection, role)
                found = PrintedGrant(role=role, statements=list(wanted))
                answer(store.as_json, found, lambda _: "\n".join(f"{one};" for one in wanted))
                return
            is_new = _set_up(connection, role)
    done = GrantedRole(role=role, created=is_new)
    answer(store.as_json, done, lambda _: _sentence(role, is_new))


def _check(database: "Database") -> None:
    from ricordo.storage.migration import HEAD

    if database.backend.name != "postgresql":
        raise InvalidValue("db", "a database in a file has no roles; give postgresql://…")
    schema = schema_of(database)
    if schema != HEAD:
        found = "has no tables yet" if schema is None else f"is at schema {schema}, not {HEAD}"
        raise DatabaseTooOld(f"{database.backend.location} {found}: first run ricordo migrate")


def _set_up(connection: "sa.Connection", role: str) -> bool:
    from ricordo.storage.postgres.security import role_exists, set_up_role

    password = os.environ.get(PASSWORD_VARIABLE) or None
    if password is None and not role_exists(connection, role) and sys.stdin.isatty():
        asked = typer.prompt(
            f"Password of the new role {role} (empty: none)",
            default="",
            hide_input=True,
            show_default=False,
            confirmation_prompt=True,
            err=True,
        )
        password = asked or None
    return set_up_role(connection, role, password)


def _sentence(role: str, is_new: bool) -> str:
    start = f"Made the role {role!r}. It" if is_new else f"The role {role!r}"
    return f"{start} can use this database, and row-level security binds it."


def encrypt(*, store: Store) -> None:
    """Encrypt the file of a SQLite database.

    The key comes from RICORDO_DATABASE_KEY or RICORDO_DATABASE_KEY_FILE, or from the keyboard.
    Nothing may have the file open meanwhile. The old file is overwritten.
    """
    from ricordo.wiring import database_key

    settings, file = _settings_and_file(store)
    key = database_key(settings) or _prompt_for_key("Key of the database", "RICORDO_DATABASE_KEY")
    _convert(store, file, None, key)


def decrypt(*, store: Store) -> None:
    """Take the encryption off the file of a SQLite database.

    The key is that of RICORDO_DATABASE_KEY or RICORDO_DATABASE_KEY_FILE. Nothing may have the file
    open meanwhile. The old file is overwritten.
    """
    settings, file = _settings_and_file(store)
    _convert(store, file, _current_key(settings), None)


def rekey(*, store: Store) -> None:
    """Encrypt the file of a SQLite database with another key.

    The present key is that of RICORDO_DATABASE_KEY or RICORDO_DATABASE_KEY_FILE, the new one comes
    from RICORDO_NEW_DATABASE_KEY or from the keyboard. Nothing may have the file open meanwhile.
    The old file is overwritten.
    """
    from ricordo.storage.sqlite.connection import DatabaseKey

    settings, file = _settings_and_file(store)
    present = _current_key(settings)
    given = os.environ.get(NEW_KEY_VARIABLE)
    new = (
        DatabaseKey(given)
        if given
        else _prompt_for_key("New key of the database", NEW_KEY_VARIABLE)
    )
    _convert(store, file, present, new)


def _settings_and_file(store: Store) -> tuple["Settings", "Path"]:
    from ricordo.wiring import database_file, read_settings

    settings = read_settings(os.environ, store.settings())
    return settings, database_file(settings)


def _current_key(settings: "Settings") -> "DatabaseKey":
    from ricordo.wiring import database_key

    key = database_key(settings)
    if key is None:
        raise InvalidValue("setting database_key", "must be the key that the file has now")
    return key


def _prompt_for_key(what: str, variable: str) -> "DatabaseKey":
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
    answer(store.as_json, done, lambda _: _encryption_sentence(file, old, new))


def _encryption_sentence(file: "Path", old: "DatabaseKey | None", new: "DatabaseKey | None") -> str:
    if new is None:
        return f"{file} is no longer encrypted. Unset RICORDO_DATABASE_KEY."
    what = "is encrypted" if old is None else "is encrypted with the new key"
    return f"{file} {what}. Nothing can be read without the key: keep a copy of it elsewhere."


BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace all that the store holds, if it holds anything.")
]


def make(*, given: Given = options_of(describe.backup), store: Store) -> None:
    """Write all that the store holds to one file, while others go on using it.

    The store is not migrated for it. On PostgreSQL, run it as the role that owns the tables.

    Example: ricordo backup make ricordo-monday.backup
    """
    from ricordo.transfer.backup import make_backup
    from ricordo.wiring import file_opener, read_settings

    with untouched_database(store) as database, working("Backing up", wanted=not store.as_json):
        if schema_of(database) is None:
            raise StorageUnavailable(f"{database.backend.location}: there is no store to back up")
        settings = read_settings(os.environ, store.settings())
        wanted = describe.backup.accept(given)
        report = make_backup(database, open_file=file_opener(settings), **wanted)
    answer(store.as_json, report, lambda found: _backup_text("Backed up", found))


def check(*, path: BackupFile, store: Store) -> None:
    """Look whether a file is a sound backup. It reads all of it, and changes nothing.

    Example: ricordo backup check ricordo-monday.backup
    """
    from ricordo.wiring import check_backup

    with working("Checking the backup", wanted=not store.as_json):
        report = check_backup(path, **store.settings())
    answer(store.as_json, report, lambda found: _backup_text("Sound", found))


def restore(*, path: BackupFile, replace: Replace = False, store: Store) -> None:
    """Have a new or empty store hold what a backup does, on either database.

    Stop the service and all other programs that use the store first. The whole backup is checked
    before anything is changed; whatever goes wrong, the store is as it was.

    Example: ricordo backup restore ricordo-monday.backup --replace
    """
    from ricordo.wiring import restore_backup

    with working("Restoring", wanted=not store.as_json):
        report = restore_backup(path, replace=replace, **store.settings())
    answer(store.as_json, report, _restore_text)


def _backup_text(done: str, report: "BackupReport") -> str:
    made = f"{report.made_at:%Y-%m-%d %H:%M} UTC"
    first = (
        f"{done}: {report.path}, {_size(report.size_bytes)}, {_counts(report.rows)};"
        f" made {made} by ricordo {report.version} from {report.database}."
    )
    return f"{first}\n{_left_out_text(report.left_out)}"


def _restore_text(report: "RestoreReport") -> str:
    made = f"{report.made_at:%Y-%m-%d %H:%M} UTC"
    migrated = "" if report.migrated_from is None else f", migrated from {report.migrated_from}"
    instead = " in place of what it held" if report.replaced else ""
    first = (
        f"Restored {_counts(report.rows)}, as of {made}{migrated}, to {report.database}{instead}."
    )
    return f"{first}\n{_left_out_text(report.left_out)}"


def _counts(rows: "Mapping[str, int]") -> str:
    users, items, turns = (rows.get(name, 0) for name in ("users", "items", "turns"))
    return f"users {users}, memories {items}, turns {turns}"


def _left_out_text(left_out: tuple[str, ...]) -> str:
    return f"Not in it: {'; '.join(left_out)}."


def _size(size_bytes: float) -> str:
    for unit in _UNITS:
        if size_bytes < _STEP or unit == _UNITS[-1]:
            break
        size_bytes /= _STEP
    return f"{size_bytes:.0f} {unit}" if unit == _UNITS[0] else f"{size_bytes:.1f} {unit}"


def erase(
    *,
    given: Given = options_of(describe.erase_user, user_id="USER"),
    yes: Yes = False,
    store: Store,
) -> None:
    """Remove every trace of a user, for good, and show the receipt."""
    if not yes:
        confirm(f"removes everything of user {given['user_id']!r} for good", given["user_id"])
    with open_store(store) as memory, working("Erasing", wanted=not store.as_json):
        receipt = memory.erase_user(**given)
    answer(store.as_json, receipt, lambda done: tables.receipt_text(done, f"user {done.user_id!r}"))


def version(store: Store) -> None:
    """Show the versions in use, and where the database is."""
    with untouched_database(store) as database:
        location = database.backend.location
    found = Versions(
        version=__version__,
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        database=location,
    )
    rows = [[name, str(value)] for name, value in found.items()]
    answer(store.as_json, found, lambda _: TableListing([], rows))


users = command_of(
    describe.users,
    tables.table({"User": str}, empty="No users yet. Add a memory: ricordo add -u NAME 'TEXT'"),
)
