"""The statements and commands that make a database, as they stand on the pages."""

import subprocess

import psycopg
import pytest

from ricordo.wiring import open_memory
from tests.deploy.statements import DEPLOY, POSTGRES, commands, statements
from tests.deploy.test_backup import Operator, operator
from tests.support import postgres

__all__ = ["operator"]

pytestmark = [
    pytest.mark.requirement("docs.blocks-run"),
    pytest.mark.requirement("deploy.servers"),
]


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
