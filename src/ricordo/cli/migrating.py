"""Bringing the database up to date: ``migrate``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.exit_codes import CONFLICT
from ricordo.cli.options import Store
from ricordo.cli.progress import working
from ricordo.cli.render import answer
from ricordo.cli.session import is_made, untouched_database
from ricordo.cli.shapes import Migrated

if TYPE_CHECKING:
    from ricordo.storage.database import Database

Check = Annotated[bool, typer.Option("--check", help="Only say whether it is needed.")]


def migrate(*, check: Check = False, store: Store) -> None:
    """Bring the database up to date.

    Every command does so when it opens an older one. With --check the exit code is 0 when it is
    up to date, and 4 otherwise.
    """
    from ricordo.storage.migrations import HEAD
    from ricordo.storage.migrations.upgrade import secure_again, upgrade

    with (
        untouched_database(store) as database,
        working("Bringing the database up to date", wanted=not (check or store.as_json)),
    ):
        before = schema_of(database)
        if not check and not upgrade(database):
            secure_again(database)
    needed = check and before != HEAD
    found: Migrated = {"from": before, "to": HEAD, "up_to_date": not needed}
    answer(store.as_json, found, lambda _: _sentence(before, HEAD, check))
    if needed:
        raise typer.Exit(CONFLICT)


def schema_of(database: "Database") -> str | None:
    """The version of a database's schema; None where there is none yet. Makes no file.

    Raises:
        DatabaseTooNew: this version of ricordo does not know it.
        StorageError: the database cannot be opened.
    """
    from ricordo.storage.migrations.upgrade import version_of

    return version_of(database) if is_made(database) else None


def _sentence(before: str | None, head: str, check: bool) -> str:
    if before == head:
        return f"Up to date: schema {head}."
    start = "nothing" if before is None else f"schema {before}"
    if check:
        return f"Needed: from {start} to schema {head}. Do it: ricordo migrate"
    return f"Brought from {start} to schema {head}."
