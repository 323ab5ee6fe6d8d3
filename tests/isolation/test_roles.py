"""The role of an application: made by a command, bound by row-level security, enough for all."""

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from psycopg import sql

from ricordo import InvalidValue, Memory
from ricordo.errors import AccessDenied, DatabaseTooOld, RoleNotConfined
from ricordo.storage import migration
from ricordo.storage.database import require_confined
from ricordo.storage.postgres.security import checked_role, set_up_role, statements
from ricordo.testing import WordEmbedder
from ricordo.wiring import open_memory
from tests.isolation.conftest import connected
from tests.support import postgres
from tests.support.commandline import ricordo
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("access.confined-role")

HOSTILE = 'app%s"; DROP TABLE items; --'


@pytest.fixture
def role(worker_id: str) -> Iterator[str]:
    """The name of a role that is not there yet."""
    name = f"ricordo_role_{worker_id}"
    yield name
    drop_role(name)


@pytest.fixture
def made(worker_id: str, role: str) -> Iterator[str]:
    """A database that its owner has migrated and given to nobody; the owner's address."""
    with postgres.database(f"ricordo_roles_{worker_id}") as url:
        open_store(url).close()
        yield url


def open_store(url: str) -> Memory:
    return open_memory(url, run_jobs=False, upkeep=False, embedder=WordEmbedder())


def as_role(url: str, name: str, password: str | None = None) -> str:
    changed = sa.make_url(url).set(username=name, password=password)
    return changed.render_as_string(hide_password=False)


def drop_role(name: str) -> None:
    quoted = sql.Identifier(name)
    with psycopg.connect(os.environ[postgres.URL_VARIABLE], autocommit=True) as connection:
        connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(quoted))


def use_all(memory: Memory) -> None:
    """What a service does in a day, roughly."""
    ana = memory.user("ana")
    tea = ana.add("Prefers green tea", theme="drinks")
    share(ana, tea.id, "ben")
    memory.global_memories().add("The kitchen closes at nine")
    assert [hit.id for hit in ana.search("green tea")][:1] == [tea.id]
    assert tea.id in {hit.id for hit in memory.user("ben").search("green tea")}
    ana.observe([{"role": "user", "content": "I live in Lisbon"}], thread="t")
    assert ana.search_turns("Lisbon")
    memory.run_jobs()
    assert set(memory.users()) == {"*", "ana", "ben"}
    assert memory.reindex() == 0
    lines = list(memory.export_lines())
    receipt = memory.erase_user("ana")
    assert receipt.removed["items"] >= 1
    assert not receipt.scrubbed
    assert "ana" not in memory.users()
    assert len(lines) > 10


@pytest.mark.smoke
def test_the_command_makes_a_role_that_can_do_it_all(
    made: str, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_ROLE_PASSWORD", "ünlikely")
    assert ricordo("database", "grant", role, "--db", made, "--json").json == {
        "role": role,
        "created": True,
    }
    again = ricordo("database", "grant", role, "--db", made)
    assert (again.code, again.err) == (0, "")
    assert f"The role '{role}' can use this database" in again.out
    with open_store(as_role(made, role, "ünlikely")) as memory:
        require_confined(memory.database)
        use_all(memory)
    with psycopg.connect(made) as connection:
        asked = "SELECT rolpassword FROM pg_authid WHERE rolname = %s"
        (password,) = connection.execute(asked, (role,)).fetchone() or ("",)
    assert password.startswith("SCRAM-SHA-256$")


def test_printing_changes_nothing_and_can_be_run(made: str, role: str) -> None:
    printed = ricordo("database", "grant", role, "--print", "--db", made)
    assert (printed.code, printed.err) == (0, "")
    with psycopg.connect(made, autocommit=True) as connection:
        known = "SELECT count(*) FROM pg_roles WHERE rolname = %s"
        assert connection.execute(known, (role,)).fetchone() == (0,)
        connection.execute(printed.out)
    listed = ricordo("database", "grant", role, "--print", "--db", made, "--json").json
    assert not any("CREATE ROLE" in one for one in listed["statements"])
    with open_store(as_role(made, role)) as memory:
        require_confined(memory.database)
        use_all(memory)


def test_a_hostile_name_is_only_a_name(made: str) -> None:
    engine = connected(made)
    try:
        with engine.begin() as connection:
            assert set_up_role(connection, HOSTILE, "p%s'\"")
            assert not set_up_role(connection, HOSTILE, None)
            assert all("DROP TABLE items; --" in one for one in statements(connection, HOSTILE))
        with engine.begin() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM items").scalar_one() == 0
            quoted = sql.Identifier(HOSTILE).as_string()
            connection.exec_driver_sql(f"DROP OWNED BY {quoted}".replace("%", "%%"))
    finally:
        engine.dispose()
        drop_role(HOSTILE)


def test_a_name_that_no_role_can_have() -> None:
    for name in ("", "x" * 64, "ü" * 32, "a\nb", "a\x00b"):
        with pytest.raises(InvalidValue, match="role"):
            checked_role(name)


def test_a_role_with_liberties_is_not_given_anything(made: str, role: str) -> None:
    quoted = sql.Identifier(role)
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(quoted))
        for liberty in ("SUPERUSER", "BYPASSRLS", "CREATEROLE"):
            connection.execute(sql.SQL(f"ALTER ROLE {{}} {liberty}").format(quoted))
            refused = ricordo("database", "grant", role, "--db", made, "--json")
            assert refused.error["error"] == "RoleNotConfined"
            assert role in refused.error["message"]
            connection.execute(sql.SQL(f"ALTER ROLE {{}} NO{liberty}").format(quoted))
        granted = connection.execute(
            "SELECT count(*) FROM information_schema.role_table_grants WHERE grantee = %s", (role,)
        ).fetchone()
    assert granted == (0,)


def test_it_is_for_the_owner_of_a_migrated_database(
    tmp_path: Path, worker_id: str, role: str
) -> None:
    def refused(url: object) -> dict[str, str]:
        return ricordo("database", "grant", role, "--db", url, "--json").error

    assert refused(tmp_path / "x.db")["error"] == "InvalidValue"
    assert not (tmp_path / "x.db").exists()
    with postgres.database(f"ricordo_roles_{worker_id}") as url:
        assert refused(url)["error"] == "DatabaseTooOld"
        open_store(url).close()
        application = postgres.let_app_in(url)
        told = refused(application)
        indexes = pytest.raises(AccessDenied, match="owns the tables, 'postgres', can make their")
        with open_store(application) as memory, indexes:
            memory.reindex(everything=True)
    assert told["error"] == "AccessDenied"
    assert "postgres" in told["message"]


def test_what_a_migration_makes_is_granted_at_once(worker_id: str, role: str) -> None:
    with postgres.database(f"ricordo_roles_{worker_id}") as url:
        engine = connected(url)
        with engine.begin() as connection:
            config = Config()
            config.set_main_option("script_location", str(migration.FOLDER))
            config.attributes["connection"] = connection
            command.upgrade(config, "0007")
            # As it would have been then: grants on the tables of that time, and for later ones.
            quoted = sql.Identifier(role).as_string()
            connection.exec_driver_sql(f"CREATE ROLE {quoted} LOGIN")
            rows, numbers = "SELECT, INSERT, UPDATE, DELETE", "USAGE, UPDATE"
            connection.exec_driver_sql(f"GRANT {rows} ON ALL TABLES IN SCHEMA public TO {quoted}")
            for one in statements(connection, role):
                if one.startswith("ALTER DEFAULT PRIVILEGES"):
                    connection.exec_driver_sql(one)
            connection.exec_driver_sql(
                f"GRANT {numbers} ON ALL SEQUENCES IN SCHEMA public TO {quoted}"
            )
        engine.dispose()
        with pytest.raises(DatabaseTooOld, match="ricordo migrate as the role .* 'postgres'"):
            open_store(as_role(url, role))
        assert ricordo("migrate", "--db", url, "--json").json["up_to_date"]
        with open_store(as_role(url, role)) as memory:
            require_confined(memory.database)
            use_all(memory)


@pytest.mark.slow
def test_an_owner_who_is_no_superuser(worker_id: str, role: str) -> None:
    owner = f"ricordo_owner_{worker_id}"
    with postgres.database(f"ricordo_roles_{worker_id}") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(owner)))
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
            connection.execute("CREATE SCHEMA memories")
            connection.execute(
                sql.SQL("ALTER SCHEMA memories OWNER TO {}").format(sql.Identifier(owner))
            )
            connection.execute("CREATE EXTENSION vector SCHEMA memories")
        within = f"{url}&options=-csearch_path%3Dmemories"
        assert ricordo("migrate", "--db", as_role(within, owner), "--json").json["up_to_date"]
        granted = ricordo("database", "grant", role, "--db", as_role(within, owner), "--json")
        assert granted.json == {"role": role, "created": False}
        with open_store(as_role(within, role)) as memory:
            require_confined(memory.database)
            use_all(memory)
        with open_store(as_role(within, owner)) as memory:  # one role for all still works
            use_all(memory)
            with pytest.raises(RoleNotConfined, match=f"'{owner}' owns tables"):
                require_confined(memory.database)
    drop_role(owner)
