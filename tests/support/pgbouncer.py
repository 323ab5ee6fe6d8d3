"""PgBouncer in front of the tests' PostgreSQL, installed by ``scripts/services.sh all``."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import sqlalchemy as sa

from tests.support.brokers import free_port
from tests.support.own_postgres import user_for_servers
from tests.support.waiting import wait_until

_SETTINGS = """\
[databases]
{name} = host={host} port={port} dbname={name} pool_size={connections}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
max_client_conn = 200
logfile = {folder}/log
pidfile = {folder}/pid
{more}
"""


@contextlib.contextmanager
def pooler(url: str, mode: str, *, connections: int = 3, more: str = "") -> Iterator[str]:
    """The address of a database through a pooler with that few connections to it."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    asked = sa.make_url(url)
    folder = Path(tempfile.mkdtemp(prefix="ricordo-pool-"))
    port = free_port()
    settings = folder / "pgbouncer.ini"
    # As in a deployment the pooler logs in as whoever connects to it, or as this one role.
    login = f" user={asked.username}" + (f" password={asked.password}" if asked.password else "")
    settings.write_text(
        _SETTINGS.format(
            name=asked.database,
            host=parts["host"],
            port=str(parts.get("port") or 5432) + login,
            own=port,
            mode=mode,
            connections=connections,
            folder=folder,
            more=more,
        ),
        encoding="utf-8",
    )
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert program is not None, "pgbouncer is not installed; run: sh scripts/services.sh"
    user = user_for_servers()
    if user is not None:
        shutil.chown(folder, user)
    process = subprocess.Popen(
        [program, "-q", str(settings)],
        user=user,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: process.poll() is not None or _answers(port))
        assert process.poll() is None, (folder / "log").read_text()
        pooled = asked.set(host="127.0.0.1", port=port, query={})
        yield pooled.render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
