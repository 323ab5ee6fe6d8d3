"""The commands and statements of the pages about databases, as they stand there."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ricordo import Memory
from ricordo.storage.consistency import find_inconsistencies
from ricordo.wiring import open_memory
from tests.deploy.statements import BACKUP, DEPLOY, POSTGRES, commands, statements
from tests.support import postgres
from tests.support.sharing import share

NAMED_URL = re.compile(r"postgresql://(\w+)@db\.example\.com/(\w+)")


class Operator:
    """Runs what a page says, with names of this test's own instead of those of the page."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder = folder
        self.owner, self.app, self.database = (
            f"{name}_{mark}" for name in ("ricordo_owner", "ricordo_app", "ricordo_backup")
        )

    def run(self, script: str) -> "subprocess.CompletedProcess[str]":
        """Run a block; the shell stops at the first command that fails."""
        path = [str(postgres.tools()), str(Path(sys.executable).parent), os.environ["PATH"]]
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.translated(script)],
            cwd=self.folder,
            env={**os.environ, "PATH": os.pathsep.join(path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def do(self, script: str) -> None:
        done = self.run(script)
        assert done.returncode == 0, done.stderr

    def url(self, role: str, database: str | None = None) -> str:
        parts = psycopg.conninfo.conninfo_to_dict(os.environ[postgres.URL_VARIABLE])
        port = f"&port={parts['port']}" if parts.get("port") else ""
        return f"postgresql://{role}@/{database or self.database}?host={parts['host']}{port}"

    @property
    def administrator(self) -> str:
        return str(psycopg.conninfo.conninfo_to_dict(os.environ[postgres.URL_VARIABLE])["user"])

    def translated(self, script: str) -> str:
        roles = {
            "postgres": self.administrator,
            "ricordo_owner": self.owner,
            "ricordo_app": self.app,
        }
        databases = {"postgres": "postgres", "ricordo": self.database}
        named = NAMED_URL.sub(lambda found: self.url(roles[found[1]], databases[found[2]]), script)
        for word, role in (("ROLE", "owner"), ("ROLE", "app"), ("grant", "app")):
            named = named.replace(f"{word} ricordo_{role}", f"{word} {roles[f'ricordo_{role}']}")
        named = named.replace("AUTHORIZATION ricordo_owner", f"AUTHORIZATION {self.owner}")
        named = named.replace("\\connect ricordo\n", f"\\connect {self.database}\n")
        return named.replace(
            "DATABASE ricordo OWNER ricordo_owner", f"DATABASE {self.database} OWNER {self.owner}"
        )

    def remove_everything(self) -> None:
        """As on a server on which none of this has ever been."""
        server = psycopg.connect(os.environ[postgres.URL_VARIABLE], autocommit=True)
        with server as connection:
            database = sql.Identifier(self.database)
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
            for role in (self.owner, self.app):
                connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


@pytest.fixture
def operator(tmp_path: Path, worker_id: str) -> Iterator[Operator]:
    made = Operator(tmp_path, worker_id)
    made.remove_everything()
    yield made
    made.remove_everything()


@pytest.mark.requirement("deploy.backup")
@pytest.mark.slow
def test_what_was_dumped_comes_back(operator: Operator, open_store: Callable[..., Memory]) -> None:
    making_roles, _ = commands(BACKUP, "## Restore PostgreSQL")
    operator.do(making_roles)
    owners = "--db 'postgresql://ricordo_owner@db.example.com/ricordo'"
    operator.do(f"ricordo migrate {owners}")
    operator.do(f"ricordo database grant ricordo_app {owners}")
    app_url = operator.url(operator.app)
    before = open_store(app_url)
    shared = before.user("ana").add("Prefers tea to coffee", theme="drinks")
    share(before.user("ana"), shared.id, "ben")
    before.user("ana").observe([{"role": "user", "content": "I live in Lisbon"}], thread="t")
    key = before.create_key("laptop", user="ana")
    revision = before.user("ana").revision()
    (dumping,) = commands(BACKUP, "## Back up PostgreSQL")
    empty = operator.run(dumping.replace("ricordo_owner", "ricordo_app"))
    assert empty.returncode != 0, "the application's role must not make an empty dump"
    assert "row-level security" in empty.stderr or "permission denied" in empty.stderr
    operator.do(dumping)
    before.user("ana").add("Said after the backup")
    before.close()
    operator.remove_everything()

    for block in commands(BACKUP, "## Restore PostgreSQL"):
        operator.do(block)
    after = open_store(app_url)
    assert after.database.backend.confinement_problem() is None
    assert [item.content for item in after.user("ana").list()] == ["Prefers tea to coffee"]
    assert after.user("ben").get(shared.id).content == "Prefers tea to coffee"
    assert after.user("ana").revision() == revision
    assert after.authenticate(key.secret).user_id == "ana"
    assert after.user("ana").search("tea").results[0].id == shared.id
    assert after.user("ana").add("Something new").id > shared.id
    with after.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []
    with psycopg.connect(operator.url(operator.owner)) as connection:  # none with its rights
        open_to_all = connection.execute(
            "SELECT proname FROM pg_proc WHERE prosecdef AND has_function_privilege('public', oid,"
            " 'EXECUTE')"
        ).fetchall()
    assert open_to_all == []


def run_as_administrator(operator: Operator, script: str, database: str = "postgres") -> None:
    """Run what an administrator types into psql."""
    done = subprocess.run(
        [
            *(str(postgres.tools() / "psql"), "--set=ON_ERROR_STOP=1", "--no-psqlrc"),
            f"--dbname={operator.url(operator.administrator, database)}",
        ],
        input=operator.translated(script),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.requirement("docs.blocks-run")
@pytest.mark.requirement("deploy.servers")
@pytest.mark.slow
def test_the_database_of_a_deployment(operator: Operator) -> None:
    (making,) = statements(DEPLOY, "## The database")
    run_as_administrator(operator, making)
    (migrating,) = commands(DEPLOY, "## The database")
    operator.do(migrating)
    (granting,) = commands(POSTGRES, "### The role of the application")
    operator.do(granting)  # again, as the other page has it: nothing changes
    with open_memory(operator.url(operator.app), run_jobs=False, upkeep=False) as memory:
        assert memory.database.backend.confinement_problem() is None
        memory.user("ana").add("Prefers tea to coffee")


@pytest.mark.requirement("docs.blocks-run")
@pytest.mark.requirement("deploy.servers")
@pytest.mark.slow
def test_a_schema_of_its_own(operator: Operator) -> None:
    (making,) = statements(POSTGRES, "### The role of the application")
    run_as_administrator(operator, f"CREATE DATABASE {operator.database}")
    run_as_administrator(operator, making, operator.database)
    within = "&options=-csearch_path%3Dmemories"
    owners = operator.url(operator.owner) + within
    operator.do(f"ricordo migrate --db '{owners}'")
    operator.do(f"ricordo database grant ricordo_app --db '{owners}'")
    apps = operator.url(operator.app) + within
    with open_memory(apps, run_jobs=False, upkeep=False) as memory:
        assert memory.database.backend.confinement_problem() is None
        memory.user("ana").add("Prefers tea to coffee")
    with psycopg.connect(owners) as connection:
        schemas = connection.execute(
            "SELECT DISTINCT schemaname FROM pg_tables WHERE tableowner = %s", [operator.owner]
        ).fetchall()
    assert schemas == [("memories",)]
