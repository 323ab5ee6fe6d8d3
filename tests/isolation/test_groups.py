"""Row-level security of groups, asked in PostgreSQL itself: a space is reached by its members, as
far as their role goes."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from ricordo import Memory
from ricordo.errors import PermissionMissing, StorageError
from ricordo.model.vocabulary import GroupRole
from ricordo.storage import database as transactions
from ricordo.storage.database import Database
from ricordo.storage.postgres.security import SHARED_TABLES, secure, security_problem
from ricordo.storage.tables import OWNED_TABLES, group_members, groups, items
from tests.isolation.rows import row_of, rows_of
from tests.isolation.test_row_security import act_for, refused, seen

pytestmark = pytest.mark.requirement("groups.row-level-security")

SPACE, OTHER = "*payments", "*legal"
MEMBERS = {"ana": GroupRole.MANAGE, "ben": GroupRole.WRITE, "cleo": GroupRole.READ}
APART = tuple(
    table for table in OWNED_TABLES if table not in (*SHARED_TABLES, groups, group_members)
)


@pytest.fixture
def spaces(owner: sa.Engine) -> None:
    """Two groups with a row in every table; one has a member in each role."""
    with owner.begin() as connection:
        for space in (SPACE, OTHER):
            for table, row in rows_of(space):
                if table is not group_members:
                    connection.execute(sa.insert(table), row)
        for name, role in MEMBERS.items():
            connection.execute(sa.insert(group_members), member(name, role))
        connection.execute(sa.insert(group_members), member("dan", GroupRole.MANAGE, OTHER))


def member(name: str, role: GroupRole, space: str = SPACE) -> dict[str, object]:
    return {**row_of(group_members, name, 1), "space_id": space, "role": role.value}


@pytest.mark.parametrize("name", ["ana", "ben", "cleo", "eve"])
def test_members_read_their_group_and_no_other(app: sa.Engine, spaces: None, name: str) -> None:
    expected = {SPACE} if name in MEMBERS else set()
    with app.begin() as connection:
        act_for(connection, name)
        for table in (*SHARED_TABLES, groups):
            assert seen(connection, table) == expected, table.name
        for table in APART:
            assert seen(connection, table) == set(), table.name
        members = set(connection.execute(sa.select(group_members.c.space_id)).scalars())
        assert members == expected


def test_nobody_reads_without_saying_for_whom(app: sa.Engine, spaces: None) -> None:
    with app.begin() as connection:
        for table in OWNED_TABLES:
            assert seen(connection, table) == set(), table.name


@pytest.mark.parametrize("name", ["ana", "ben", "cleo", "eve"])
def test_a_role_that_allows_it_writes(app: sa.Engine, spaces: None, name: str) -> None:
    may_write = name in MEMBERS and MEMBERS[name].allows(GroupRole.WRITE)
    with app.begin() as connection:
        act_for(connection, name)
        for table in reversed(OWNED_TABLES):
            made = row_of(table, SPACE, 77_000)
            made |= {"slug": "two"} if "slug" in made else {}
            if "day" in made or table.name in ("users", "summaries", "upkeep"):
                continue  # one for each owner: changed below
            if table in SHARED_TABLES and may_write:
                connection.execute(sa.insert(table), made)
            elif table is not group_members:
                with refused(), connection.begin_nested():
                    connection.execute(sa.insert(table), made)
            with refused(), connection.begin_nested():
                connection.execute(sa.insert(table), {**made, "user_id": OTHER})
        for table in OWNED_TABLES:
            changed = sa.update(table).values(user_id=table.c.user_id)
            with connection.begin_nested() as step:
                found = connection.execute(changed.where(table.c.user_id != name)).rowcount
                gone = connection.execute(sa.delete(items).where(items.c.user_id != name)).rowcount
                step.rollback()
            if table is not group_members:
                assert bool(found) == (may_write and table in SHARED_TABLES), table.name
            assert bool(gone) == may_write
            if may_write and table in SHARED_TABLES and table.name != "themes":
                with refused(), connection.begin_nested():
                    connection.execute(
                        sa.update(table).where(table.c.user_id == SPACE).values(user_id=OTHER)
                    )


def test_nothing_of_another_group_is_changed(
    app: sa.Engine, owner: sa.Engine, spaces: None
) -> None:
    with app.begin() as connection:
        act_for(connection, "ana")
        for table in OWNED_TABLES:
            connection.execute(sa.delete(table))
    with owner.connect() as connection:
        for table in OWNED_TABLES:
            left = seen(connection, table)
            assert (OTHER if table is not group_members else "dan") in left, table.name


def test_who_manages_changes_members_and_anybody_leaves(app: sa.Engine, spaces: None) -> None:
    raised = sa.update(group_members).values(role=GroupRole.MANAGE.value)
    for name in ("ben", "cleo", "eve"):
        with app.connect() as connection:
            act_for(connection, name)
            assert connection.execute(raised).rowcount == 0
            for one in (member("eve", GroupRole.READ), member("frank", GroupRole.READ, OTHER)):
                with refused(), connection.begin_nested():
                    connection.execute(sa.insert(group_members), one)
            gone = connection.execute(sa.delete(group_members)).rowcount
            assert gone == (name in MEMBERS)  # themselves alone
    with app.connect() as connection:
        act_for(connection, "ana")
        connection.execute(sa.insert(group_members), member("eve", GroupRole.READ))
        for one in (member("frank", GroupRole.READ, OTHER), member("ana", GroupRole.READ, OTHER)):
            with refused(), connection.begin_nested():
                connection.execute(sa.insert(group_members), one)
        with refused(), connection.begin_nested():
            connection.execute(sa.update(group_members).values(space_id=OTHER))
        assert connection.execute(raised).rowcount == len(MEMBERS) + 1
        assert connection.execute(sa.delete(group_members)).rowcount == len(MEMBERS) + 1


def test_who_was_removed_reaches_nothing(app: sa.Engine, owner: sa.Engine, spaces: None) -> None:
    with owner.begin() as connection:
        connection.execute(sa.delete(group_members).where(group_members.c.user_id == "ben"))
    with app.begin() as connection:
        act_for(connection, "ben")
        for table in OWNED_TABLES:
            assert seen(connection, table) == set(), table.name


@pytest.mark.parametrize(
    "planted",
    [
        "ALTER FUNCTION ricordo_spaces(text[]) SECURITY INVOKER",
        "ALTER FUNCTION ricordo_spaces(text[]) RESET ALL",
        "CREATE OR REPLACE FUNCTION ricordo_spaces(roles text[]) RETURNS text[] LANGUAGE sql STABLE"
        " SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS"
        " $$SELECT array_agg(space_id) FROM public.group_members$$",
    ],
)
def test_another_function_in_its_place_is_noticed(
    owner: sa.Engine, database: Database, planted: str
) -> None:
    with owner.begin() as connection:
        connection.exec_driver_sql(planted)
    try:
        assert "ricordo_spaces" in str(database.backend.confinement_problem())
        with owner.begin() as connection:
            assert "ricordo_spaces" in str(security_problem(connection))
    finally:
        with owner.begin() as connection:
            secure(connection)
    assert database.backend.confinement_problem() is None


def test_an_operation_reaches_a_space_as_its_member(
    open_store: Callable[..., Memory], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the check of the role forgotten, the database would refuse all the same."""
    memory = open_store(postgres_url)
    memory.create_group("payments", manager="ana")
    memory.set_member("payments", "cleo", "read")
    kept = memory.user("ana", group="payments").add("Refunds go through the ledger").id
    monkeypatch.setattr(transactions, "check_acting", lambda *_: None)
    assert [one.id for one in memory.user("cleo", group="payments").list()] == [kept]
    for name in ("cleo", "eve"):
        with pytest.raises(StorageError):
            memory.user(name, group="payments").add("Not allowed")
    eve = memory.user("eve", group="payments")
    assert list(eve.list()) == list(eve.search("refunds")) == list(eve.changes()) == []


def test_who_is_removed_while_they_begin_to_write_writes_nothing(
    open_store: Callable[..., Memory], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_store(postgres_url)
    memory.create_group("payments", manager="ana")
    memory.set_member("payments", "ben", "write")
    begun = transactions.WriteTransaction

    class Late(begun):  # type: ignore[misc, valid-type]
        """Begins after the role was looked up, and the member was made a reader."""

        def __init__(self, *given: object) -> None:
            if given[-1] == "ben":
                memory.set_member("payments", "ben", "read")
            super().__init__(*given)

    ben = memory.user("ben", group="payments")
    assert ben.add("Refunds go through the ledger")
    monkeypatch.setattr(transactions, "WriteTransaction", Late)
    with pytest.raises((PermissionMissing, StorageError)):
        ben.add("One more")
    assert len(ben.list()) == 1
