"""Finding out whether row-level security binds the role that is connected."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from ricordo import Memory
from ricordo.errors import RoleNotConfined
from ricordo.storage.database import require_confined
from ricordo.storage.postgres.security import confinement_problem, secure
from tests.isolation.conftest import connected
from tests.support import postgres
from tests.support.commandline import ricordo

pytestmark = pytest.mark.requirement("access.confined-role")


@pytest.fixture
def undone(owner: sa.Engine) -> Iterator[sa.Connection]:
    """A connection of the owner's whose changes are undone at the end."""
    with owner.connect() as connection:
        yield connection
        connection.rollback()


def as_app(connection: sa.Connection) -> str | None:
    """What is wrong in the middle of the owner's transaction, seen as the application's role.

    The session is the owner's and could go back, which is looked at by another test.
    """
    connection.exec_driver_sql(f"SET LOCAL SESSION AUTHORIZATION {postgres.APP_ROLE}")
    return confinement_problem(connection)


def test_the_role_of_the_application_is_bound_and_a_superuser_is_not(
    app: sa.Engine, owner: sa.Engine
) -> None:
    with app.connect() as connection:
        assert confinement_problem(connection) is None
    with owner.connect() as connection:
        assert "is a superuser" in str(confinement_problem(connection))


def test_nor_is_a_session_that_can_go_back_to_being_one(postgres_url: str) -> None:
    disguised = f"{postgres.as_owner(postgres_url)}&options=-crole%3D{postgres.APP_ROLE}"
    engine = connected(disguised)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT current_user").scalar() == postgres.APP_ROLE
        assert "is a superuser" in str(confinement_problem(connection))
    engine.dispose()


@pytest.mark.parametrize("inherits", ["INHERIT", "NOINHERIT"])
def test_nor_is_who_belongs_to_such_a_role(owner: sa.Engine, inherits: str) -> None:
    with owner.connect() as connection:
        for liberty in ("SUPERUSER", "BYPASSRLS", "CREATEROLE"):
            connection.exec_driver_sql(
                f"CREATE ROLE free_one {liberty}; CREATE ROLE between_them {inherits};"
                f" GRANT free_one TO between_them; GRANT between_them TO {postgres.APP_ROLE}"
            )
            told = "is a superuser" if liberty == "SUPERUSER" else f"has {liberty}"
            belongs = f"the role 'free_one', to which {postgres.APP_ROLE!r} belongs, {told}"
            assert as_app(connection) == belongs
            connection.rollback()


APP = postgres.APP_ROLE
LIBERTIES = {
    "CREATE ROLE holder; GRANT CREATE ON SCHEMA public TO holder;"
    f" ALTER TABLE turns OWNER TO holder; GRANT holder TO {APP}": "'holder'",
    f"ALTER SCHEMA public OWNER TO {APP}": "or their schema",
    f"ALTER ROLE {APP} REPLICATION": "has REPLICATION",
    f"GRANT pg_execute_server_program TO {APP}": "reaches the files of the server",
    f"GRANT pg_read_server_files TO {APP}": "reaches the files of the server",
    f"GRANT pg_write_server_files TO {APP}": "reaches the files of the server",
    f"GRANT TRUNCATE ON history TO {APP}": "may empty tables",
    f"GRANT TRIGGER ON history TO {APP}": "may empty tables",
    f"GRANT ALL ON history TO {APP}": "may empty tables",
    "ALTER TABLE turns DISABLE ROW LEVEL SECURITY": "row-level security is off for turns",
    "DROP POLICY ricordo_own ON proposals": "the row-level security of proposals is not",
    "CREATE POLICY more ON items USING (true)": "the row-level security of items is not",
    "ALTER POLICY ricordo_own ON items USING (true)": "the row-level security of items is not",
    "ALTER POLICY ricordo_own ON turns WITH CHECK (true)": "the row-level security of turns is not",
    "ALTER POLICY ricordo_both_insert ON links WITH CHECK (true)": "security of links is not",
    "ALTER POLICY ricordo_own ON jobs TO CURRENT_USER": "the row-level security of jobs is not",
    "DROP POLICY ricordo_either_delete ON links; CREATE POLICY ricordo_either_delete ON links"
    " FOR SELECT USING (true)": "the row-level security of links is not",
}


def test_nor_is_who_has_too_many_rights_or_policies_that_are_not_ours(owner: sa.Engine) -> None:
    with owner.connect() as connection:
        for change, told in LIBERTIES.items():
            connection.exec_driver_sql(change)
            assert told in str(as_app(connection)), change
            connection.rollback()


def test_nor_is_who_gets_at_a_partition(undone: sa.Connection) -> None:
    """One in the schema of the tables is granted by default, and has no policies of its own."""
    for statement in (
        "ALTER TABLE tallies RENAME TO before",
        "CREATE TABLE tallies (LIKE before) PARTITION BY HASH (user_id)",
        "CREATE TABLE tallies_0 PARTITION OF tallies FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    ):
        undone.exec_driver_sql(statement)
    secure(undone)
    assert "may use partitions" in str(as_app(undone))
    undone.exec_driver_sql("RESET SESSION AUTHORIZATION")
    undone.exec_driver_sql(f"REVOKE ALL ON tallies_0 FROM {postgres.APP_ROLE}")
    assert as_app(undone) is None


@pytest.mark.parametrize("setting", ["ricordo.users=%7Bana%7D", "ricordo.all_users=on"])
def test_nor_is_a_session_that_acts_for_somebody_from_the_start(
    postgres_url: str, open_store: Callable[..., Memory], setting: str
) -> None:
    given = f"{postgres_url}&options=-c{setting.replace('=', '%3D')}"
    with pytest.raises(RoleNotConfined, match=setting.partition("=")[0]):
        require_confined(open_store(given).database)


def test_migrating_an_up_to_date_database_mends_its_policies(
    postgres_url: str, owner: sa.Engine, app: sa.Engine
) -> None:
    with owner.begin() as connection:
        connection.exec_driver_sql("ALTER POLICY ricordo_own ON items USING (true)")
    # Only the owner can.
    assert ricordo("migrate", "--db", postgres_url).code == 0
    with app.connect() as connection:
        assert confinement_problem(connection) is not None
    assert ricordo("migrate", "--db", postgres.as_owner(postgres_url)).code == 0
    with app.connect() as connection:
        assert confinement_problem(connection) is None


def test_serving_is_refused(postgres_url: str, open_store: Callable[..., Memory]) -> None:
    require_confined(open_store(postgres_url).database)
    owners = open_store(postgres.as_owner(postgres_url))
    with pytest.raises(RoleNotConfined, match="ricordo database grant"):
        require_confined(owners.database)


def test_a_file_has_no_roles(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    require_confined(open_store(sqlite_url).database)


@pytest.mark.slow
def test_doctor_tells(postgres_url: str, sqlite_url: str) -> None:
    def told(url: str) -> list[tuple[str, str, str | None]]:
        found = ricordo("doctor", "--db", url, "--json").json
        return [
            (one["state"], one["found"], one["advice"])
            for one in found
            if one["check"] == "isolation"
        ]

    assert told(sqlite_url) == []
    assert told(postgres_url) == [
        ("ok", "row-level security keeps the users apart for this role", None)
    ]
    ((verdict, message, advice),) = told(postgres.as_owner(postgres_url))
    assert (verdict, advice) == ("ok", "to serve, see: ricordo database grant")
    assert "is a superuser" in message
