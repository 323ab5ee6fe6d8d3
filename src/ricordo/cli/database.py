"""The roles of a PostgreSQL database: ``database grant``."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo.cli.migrating import schema_of
from ricordo.cli.options import Store
from ricordo.cli.render import answer
from ricordo.cli.session import untouched_database
from ricordo.cli.shapes import GrantedRole, PrintedGrant
from ricordo.errors import DatabaseTooOld, InvalidValue

if TYPE_CHECKING:
    import sqlalchemy as sa

    from ricordo.storage.database import Database

PASSWORD_VARIABLE: Final = "RICORDO_ROLE_PASSWORD"  # noqa: S105 - the name of a variable
_APP_ROLE: Final = "ricordo_app"

Role = Annotated[str, typer.Argument(metavar="ROLE", help="What the application connects as.")]
Print = Annotated[
    bool, typer.Option("--print", help="Only print the SQL, for whoever administers the server.")
]


def grant(role: Role = _APP_ROLE, *, only_print: Print = False, store: Store) -> None:
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
    from ricordo.storage.migrations import HEAD

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
