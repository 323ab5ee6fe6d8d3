"""The commands of the page about backups, as they stand there, against a server of the tests."""

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
from tests.deploy.statements import BACKUP, commands
from tests.support import postgres

pytestmark = pytest.mark.requirement("deploy.backup")

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
        named = named.replace("ROLE ricordo_owner", f"ROLE {self.owner}")
        named = named.replace("ROLE ricordo_app", f"ROLE {self.app}")
        named = named.replace("grant ricordo_app", f"grant {self.app}")
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


def set_up(operator: Operator) -> None:
    """A database as the page about deployment has it made: two roles, neither a superuser."""
    making_roles, _ = commands(BACKUP, "## Restore PostgreSQL")
    operator.do(making_roles)
    operator.do("ricordo migrate --db 'postgresql://ricordo_owner@db.example.com/ricordo'")
    operator.do(
        "ricordo database grant ricordo_app"
        " --db 'postgresql://ricordo_owner@db.example.com/ricordo'"
    )


def contents(memory: Memory, user: str) -> list[str]:
    return sorted(item.content for item in memory.user(user).list())


def test_what_was_dumped_comes_back(operator: Operator, open_store: Callable[..., Memory]) -> None:
    set_up(operator)
    app_url = operator.url(operator.app)
    before = open_store(app_url)
    shared = before.user("ana").add("Prefers tea to coffee", theme="drinks")
    before.user("ana").link(shared.id, "ben")
    before.user("ana").observe([{"role": "user", "content": "I live in Lisbon"}], thread="t")
    key = before.create_key("laptop", user="ana")
    revision = before.user("ana").revision()
    (dumping,) = commands(BACKUP, "## Back up PostgreSQL")
    operator.do(dumping)
    before.user("ana").add("Said after the backup")
    before.close()
    operator.remove_everything()

    for block in commands(BACKUP, "## Restore PostgreSQL"):
        operator.do(block)
    after = open_store(app_url)
    assert after.database.backend.confinement_problem() is None
    assert contents(after, "ana") == ["Prefers tea to coffee"]
    assert after.user("ben").get(shared.id).content == "Prefers tea to coffee"
    assert after.user("ana").revision() == revision
    assert after.authenticate(key.secret).user_id == "ana"
    assert after.user("ana").search("tea").results[0].id == shared.id
    assert after.user("ana").add("Something new").id > shared.id
    with after.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_functions_with_the_owners_rights_stay_closed_to_others(operator: Operator) -> None:
    set_up(operator)
    (dumping,) = commands(BACKUP, "## Back up PostgreSQL")
    operator.do(dumping)
    operator.remove_everything()
    for block in commands(BACKUP, "## Restore PostgreSQL"):
        operator.do(block)
    with psycopg.connect(operator.url(operator.owner)) as connection:
        open_to_all = connection.execute(
            "SELECT proname FROM pg_proc WHERE prosecdef AND has_function_privilege('public', oid,"
            " 'EXECUTE')"
        ).fetchall()
    assert open_to_all == []


def test_the_applications_role_cannot_make_an_empty_dump(operator: Operator) -> None:
    set_up(operator)
    (dumping,) = commands(BACKUP, "## Back up PostgreSQL")
    done = operator.run(dumping.replace("ricordo_owner", "ricordo_app"))
    assert done.returncode != 0
    assert "row-level security" in done.stderr or "permission denied" in done.stderr
