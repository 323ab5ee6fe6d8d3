"""The role that the application connects as: it may do all that ricordo does, and no more.

It owns nothing, so that row-level security binds it (``isolation.py``). The role that made the
tables owns them, migrates them, and gives the application's role what it needs.
"""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg import sql

from ricordo.errors import InvalidValue, RoleNotConfined
from ricordo.storage.migrations import VERSION_TABLE
from ricordo.storage.postgres.confinement import freedom_of, require_owner
from ricordo.storage.postgres.text_functions import SIGNATURES
from ricordo.storage.tables import ID_SERIES, metadata

_MAX_NAME_BYTES: Final = 63  # PostgreSQL cuts longer names off, which would make them another's
_CREATE: Final = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE")
_ROWS: Final = sql.SQL("SELECT, INSERT, UPDATE, DELETE")
_NUMBERS: Final = sql.SQL("USAGE, UPDATE")  # an import keeps its numbers: UPDATE
_CALLS: Final = sql.SQL("EXECUTE")


def checked_role(name: str) -> str:
    """A name that a role can have.

    Raises:
        InvalidValue: it is empty, too long, or has control characters.
    """
    if not name or len(name.encode("utf-8")) > _MAX_NAME_BYTES or not name.isprintable():
        problem = f"must be 1 to {_MAX_NAME_BYTES} bytes without control characters"
        raise InvalidValue("role", problem)
    return name


def role_exists(connection: sa.Connection, name: str) -> bool:
    """True where the server has such a role."""
    wanted = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %s)"
    return bool(connection.exec_driver_sql(wanted, (name,)).scalar_one())


def statements(connection: sa.Connection, name: str) -> list[str]:
    """What makes a role the application's, in SQL; doing it again changes nothing."""
    role = sql.Identifier(checked_role(name))
    made = [] if role_exists(connection, name) else [_CREATE.format(role)]
    schema: str = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    driver = _driver(connection)
    return [one.as_string(driver) for one in (*made, *_grants(role, sql.Identifier(schema)))]


def set_up_role(connection: sa.Connection, name: str, password: str | None) -> bool:
    """Make a role the application's, and the role itself where it is missing; whether it was.

    A password replaces the one that the role has, if it has one. It does not reach the server as
    it is, so no log of the server can hold it.

    Raises:
        InvalidValue: no role can have this name.
        RoleNotConfined: the role could read past row-level security; nothing was changed.
        AccessDenied: the tables belong to another role than the one that is connected.
    """
    is_new = not role_exists(connection, checked_role(name))
    require_owner(connection, "let another role use them")
    for statement in statements(connection, name):
        connection.exec_driver_sql(statement.replace("%", "%%"))
    if password is not None:
        _set_password(connection, name, password)
    freedom = freedom_of(connection, name)
    if freedom is not None:
        raise RoleNotConfined(f"{freedom}: choose another role for the application")
    return is_new


def _grants(role: sql.Identifier, schema: sql.Identifier) -> Iterator[sql.Composed]:
    tables = sql.SQL(", ").join(sql.Identifier(table.name) for table in metadata.sorted_tables)
    series = sql.SQL(", ").join(map(sql.Identifier, ID_SERIES))
    functions = sql.SQL(", ").join(map(sql.SQL, SIGNATURES))
    version = sql.Identifier(VERSION_TABLE)
    yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role)
    yield sql.SQL("GRANT {} ON {} TO {}").format(_ROWS, tables, role)
    yield sql.SQL("GRANT SELECT ON {} TO {}").format(version, role)
    yield sql.SQL("GRANT {} ON SEQUENCE {} TO {}").format(_NUMBERS, series, role)
    yield sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(functions, role)
    # What later versions of ricordo make is granted in the moment that it is made.
    later = sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT {} ON {} TO {}")
    for rights, what in ((_ROWS, "TABLES"), (_NUMBERS, "SEQUENCES"), (_CALLS, "FUNCTIONS")):
        yield later.format(schema, rights, sql.SQL(what), role)


def _set_password(connection: sa.Connection, name: str, password: str) -> None:
    driver = _driver(connection)
    sealed = driver.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
    statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), sealed.decode())
    driver.execute(statement)


def _driver(connection: sa.Connection) -> psycopg.Connection:
    driver: Any = connection.connection.dbapi_connection
    assert isinstance(driver, psycopg.Connection)
    return driver
