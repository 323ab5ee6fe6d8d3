"""Row-level security, asked in PostgreSQL itself: what a role sees, whatever a query forgets."""

import contextlib
import re
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage.database import Database
from ricordo.storage.postgres.security import (
    ACT_FOR,
    ACT_FOR_ALL,
    UNKNOWN_BEFORE,
    array_of,
    policies,
    secure,
)
from ricordo.storage.tables import (
    OWNED_TABLES,
    group_members,
    item_index,
    items,
    link_offers,
    links,
    metadata,
    users,
)
from ricordo.storage.where import Audience
from tests.isolation.conftest import PEOPLE
from tests.isolation.rows import row_of, rows_of

pytestmark = pytest.mark.requirement("access.row-level-security")

SEEN_BY_USERS = tuple(table for table in OWNED_TABLES if table not in UNKNOWN_BEFORE)


def refused() -> contextlib.AbstractContextManager[object]:
    return pytest.raises(sa.exc.ProgrammingError, match="row-level security")


def act_for(connection: sa.Connection, *user_ids: str) -> None:
    connection.exec_driver_sql(ACT_FOR, (array_of(user_ids),))


def seen(connection: sa.Connection, table: sa.Table) -> set[str]:
    return set(connection.execute(sa.select(table.c.user_id)).scalars())


def test_every_table_with_a_user_is_secured(owner: sa.Engine) -> None:
    with_user = {table.name for table in metadata.sorted_tables if "user_id" in table.c}
    with owner.connect() as connection:
        secured = connection.exec_driver_sql(
            "SELECT relname FROM pg_class WHERE relrowsecurity"
        ).scalars()
        assert with_user <= set(secured)
        columns = connection.exec_driver_sql(
            "SELECT table_name FROM information_schema.columns"
            " WHERE column_name = 'user_id' AND table_schema = 'public'"
        ).scalars()
        assert set(columns) == with_user
        found = connection.exec_driver_sql("SELECT tablename, policyname, cmd FROM pg_policies")
        assert {tuple(row) for row in found} == {
            (policy.table, policy.name, policy.command) for policy in policies()
        }


def test_one_sees_the_rows_of_those_one_acts_for(app: sa.Engine, filled: None) -> None:
    with app.begin() as connection:
        for table in OWNED_TABLES:  # for nobody yet
            assert seen(connection, table) == set(), table.name
            assert connection.execute(sa.delete(table)).rowcount == 0, table.name
            changed = sa.update(table).values(user_id="ben")
            assert connection.execute(changed).rowcount == 0, table.name
        for user_id in PEOPLE:
            act_for(connection, user_id)
            for table in OWNED_TABLES:
                expected = set() if table in UNKNOWN_BEFORE else {user_id}
                assert seen(connection, table) == expected, table.name
    with app.begin() as connection:
        for switch, expected in (("on", set(PEOPLE)), ("off", set())):
            connection.exec_driver_sql(ACT_FOR_ALL, (switch,))
            for table in OWNED_TABLES:
                assert seen(connection, table) == expected, table.name


def test_no_row_of_another_is_changed(app: sa.Engine, owner: sa.Engine, filled: None) -> None:
    with app.begin() as connection:
        act_for(connection, "ana")
        for table in OWNED_TABLES:
            of_ben = table.c.user_id == "ben"
            changed = sa.update(table).where(of_ben).values(user_id="ana")
            assert connection.execute(changed).rowcount == 0, table.name
            assert connection.execute(sa.delete(table).where(of_ben)).rowcount == 0, table.name
        for table in OWNED_TABLES:  # in an order in which foreign keys allow it
            gone = connection.execute(sa.delete(table)).rowcount
            assert gone == (table not in UNKNOWN_BEFORE), table.name
    with owner.connect() as connection:
        for table in OWNED_TABLES:
            left = {"ben", "ana"} if table in UNKNOWN_BEFORE else {"ben"}
            assert seen(connection, table) == left, table.name


def test_no_row_is_made_for_another_or_given_to_another(app: sa.Engine, filled: None) -> None:
    with app.begin() as connection:
        for user_id in (None, "ana"):
            if user_id is not None:
                act_for(connection, user_id)
            for table in OWNED_TABLES:
                with refused(), connection.begin_nested():
                    connection.execute(sa.insert(table), row_of(table, "ben", 77))
        for table in set(SEEN_BY_USERS) - {group_members}:  # whose rows users do not change
            column = table.c.owner_id if table is links else table.c.user_id
            with refused(), connection.begin_nested():
                connection.execute(sa.update(table).values({column: "ben"}))


def test_a_link_shows_one_memory_and_nothing_else(
    app: sa.Engine, owner: sa.Engine, filled: None
) -> None:
    with owner.begin() as connection:
        other = row_of(items, "ben", 5)
        connection.execute(sa.insert(items), other)
        shared = connection.execute(
            sa.select(items.c.id).where(items.c.user_id == "ben", items.c.id != 5)
        ).scalar_one()
        link = {**row_of(links, "ana", 1), "owner_id": "ben", "item_id": shared}
        connection.execute(sa.insert(links), link)
    with app.begin() as connection:
        act_for(connection, "ana")
        of_ben = sa.select(items.c.id).where(items.c.user_id == "ben")
        assert connection.execute(of_ben).scalars().all() == [shared]
        assert seen(connection, item_index) == {"ana", "ben"}
        for table in set(SEEN_BY_USERS) - {items, item_index}:
            assert seen(connection, table) == {"ana"}, table.name
        changed = sa.update(items).where(items.c.id == shared).values(content="mine")
        assert connection.execute(changed).rowcount == 0
        assert connection.execute(sa.delete(items).where(items.c.id == shared)).rowcount == 0


def test_both_sides_see_a_link_and_can_end_it(
    app: sa.Engine, owner: sa.Engine, filled: None
) -> None:
    link = {**row_of(links, "ana", 1), "owner_id": "ben"}
    between = sa.and_(links.c.user_id == "ana", links.c.owner_id == "ben")
    with owner.begin() as connection:
        connection.execute(sa.insert(links), link)
    stolen = {**row_of(links, "ana", 2), "owner_id": "ben"}
    with app.connect() as connection, refused():
        act_for(connection, "ana")
        connection.execute(sa.insert(links), stolen)
    for side in PEOPLE:
        with app.connect() as connection:
            act_for(connection, side)
            assert connection.execute(sa.select(links).where(between)).one()
            assert connection.execute(sa.delete(links).where(between)).rowcount == 1


def test_nobody_alone_makes_a_link_or_decides_for_another(
    app: sa.Engine, owner: sa.Engine, filled: None
) -> None:
    link = {**row_of(links, "ana", 3), "owner_id": "ben"}
    given = {**row_of(link_offers, "ana", 3), "owner_id": "ben", "item_id": _id_of(owner, "ben")}
    offered = sa.and_(link_offers.c.user_id == "ana", link_offers.c.owner_id == "ben")
    for side in PEOPLE:  # neither puts it before the other, nor takes it
        with app.connect() as connection, refused():
            act_for(connection, side)
            connection.execute(sa.insert(links), link)
    with app.connect() as connection:
        act_for(connection, *PEOPLE)
        connection.execute(sa.insert(links), link)
    with app.connect() as connection, refused():
        act_for(connection, "ben")
        connection.execute(sa.insert(link_offers), given)
    with app.begin() as connection:
        act_for(connection, *PEOPLE)
        connection.execute(sa.insert(link_offers), given)
    with app.connect() as connection:  # what is offered is not lent
        act_for(connection, "ana")
        assert connection.execute(sa.select(link_offers).where(offered)).one()
        assert seen(connection, items) == {"ana"}
    with app.connect() as connection:
        act_for(connection, "ben")
        accepted = sa.update(link_offers).where(offered).values(state="approved")
        assert connection.execute(accepted).rowcount == 0
        assert connection.execute(sa.delete(link_offers).where(offered)).rowcount == 1


def _id_of(owner: sa.Engine, user_id: str) -> int:
    with owner.connect() as connection:
        wanted = sa.select(items.c.id).where(items.c.user_id == user_id)
        return int(connection.execute(wanted).scalars().first() or 0)


def test_global_memories_are_read_by_everybody_and_changed_by_nobody(
    app: sa.Engine, owner: sa.Engine
) -> None:
    readable = {items, item_index, users}
    with owner.begin() as connection:
        for table, row in rows_of(GLOBAL_OWNER):
            connection.execute(sa.insert(table), row)
    with app.begin() as connection:
        assert seen(connection, items) == set()
        act_for(connection, "ana")
        for table in OWNED_TABLES:
            expected = {GLOBAL_OWNER} if table in readable else set()
            assert seen(connection, table) == expected, table.name
            assert connection.execute(sa.delete(table)).rowcount == 0
            assert connection.execute(sa.update(table).values(user_id="ana")).rowcount == 0


def test_a_name_is_never_read_as_several(app: sa.Engine, filled: None) -> None:
    with app.begin() as connection:
        for name in ("{ana,ben}", 'a"na', "a\\na", "a,ben", "NULL", "", "語", "*"):
            act_for(connection, name)
            assert seen(connection, items) == set(), name


@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12),
        max_size=4,
    )
)
def test_whoever_one_acts_for_is_whom_one_reads(
    app: sa.Engine, filled: None, names: list[str]
) -> None:
    with app.begin() as connection:
        act_for(connection, *names)
        assert seen(connection, items) == set(PEOPLE).intersection(names)
        for everybody in (names, [*names, "ben"]):
            act_for(connection, *everybody)
            assert seen(connection, users) == set(PEOPLE).intersection(everybody)


def test_a_connection_forgets_for_whom_it_acted(database: Database, filled: None) -> None:
    for _ in range(20):  # more than the pool has connections
        with database.write("ana") as writing:
            assert seen(writing.connection, items) == {"ana"}
            writing.keeps_user = True
        with database.read("ben") as view:
            assert seen(view.connection, items) == {"ben"}
        with database.read_all() as view:
            assert seen(view.connection, items) == set(PEOPLE)
        with database.backend.reading() as connection:
            assert seen(connection, items) == set()
        with database.backend.writing() as connection:
            assert seen(connection, items) == set()
        with pytest.raises(ZeroDivisionError), database.transaction() as connection:
            assert seen(connection, items) == set(PEOPLE)
            raise ZeroDivisionError


def test_a_transaction_reaches_those_alone_whom_it_is_for(database: Database, filled: None) -> None:
    for names in ([], ["ana"], PEOPLE):
        with database.transaction_for(names) as connection:
            assert seen(connection, items) == set(names)
    with database.write("ana") as writing:
        writing.keeps_user = True
        assert seen(writing.connection, users) == {"ana"}
        with writing.acting_for_all():
            assert seen(writing.connection, users) == set(PEOPLE)
        assert seen(writing.connection, users) == {"ana"}


def test_policies_of_others_are_replaced_by_ours(owner: sa.Engine) -> None:
    with owner.connect() as connection:
        connection.exec_driver_sql('CREATE POLICY "all %%s of ""them""" ON items USING (true)')
        connection.exec_driver_sql("DROP POLICY ricordo_own ON turns")
        connection.exec_driver_sql("ALTER TABLE jobs DISABLE ROW LEVEL SECURITY")
        secure(connection)
        found = connection.exec_driver_sql("SELECT tablename, policyname FROM pg_policies")
        assert {tuple(row) for row in found} == {(one.table, one.name) for one in policies()}
        secured = "SELECT relrowsecurity FROM pg_class WHERE relname = 'jobs'"
        assert connection.exec_driver_sql(secured).scalar_one()
        connection.rollback()


def test_a_link_does_not_make_reading_look_through_everybody(app: sa.Engine, filled: None) -> None:
    seen_by_ana = Audience("ana", has_links=True, sees_global=True).condition()
    wanted = sa.select(items.c.id, items.c.content).where(seen_by_ana)
    with app.begin() as connection:
        act_for(connection, "ana")
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # quickest for a few rows
        text = str(wanted.compile(connection, compile_kwargs={"literal_binds": True}))
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {text}").scalars())
    (scan,) = re.findall(r"(?:Index|Bitmap Heap|Seq) Scan .*on items .*\n *(.*)", plan)
    assert re.match(r"(Index|Recheck) Cond: .*user_id", scan), plan


def test_nothing_of_others_is_run_inside_the_functions_of_search(
    owner: sa.Engine, filled: None
) -> None:
    """Where a role may create in the schema, as everybody could before PostgreSQL 15."""
    trap = (
        "CREATE FUNCTION public.unnest(tsquery[]) RETURNS SETOF tsquery LANGUAGE plpgsql"
        " AS $$BEGIN RAISE EXCEPTION 'run as %%', current_user; END$$"
    )
    with owner.connect() as connection:
        connection.exec_driver_sql(trap)
        asked = "SELECT ricordo_item_counts(ARRAY[CAST('tea' AS tsquery)])"
        assert connection.exec_driver_sql(asked).scalar_one() == 0
        connection.rollback()


def test_the_functions_of_search_keep_to_whom_one_acts_for(
    postgres_url: str, app: sa.Engine, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(postgres_url)
    mine = memory.user("ana").add("Drinks green tea").id
    everyones = memory.global_memories().add("Tea is at four").id
    memory.user("ben").add("Drinks black tea")
    term = memory.database.analyser.query_terms("tea")[0]
    query = f"('@ana' | '@ben' | '@{GLOBAL_OWNER}') & '{term}'"

    def found(connection: sa.Connection) -> tuple[set[int], int]:
        ids = "SELECT ricordo_item_matches(CAST(%s AS tsquery))"
        counts = "SELECT ricordo_item_counts(ARRAY[CAST(%s AS tsquery)])"
        return (
            set(connection.exec_driver_sql(ids, (query,)).scalars()),
            connection.exec_driver_sql(counts, (query,)).scalar_one(),
        )

    with app.begin() as connection:
        assert found(connection) == (set(), 0)
        act_for(connection, "ana")
        assert found(connection) == ({mine, everyones}, 2)
        act_for(connection, "nobody")
        assert found(connection) == ({everyones}, 1)
