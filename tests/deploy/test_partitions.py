"""The statements of the page about sharding: run on a store with data, which then goes on."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from ricordo import Memory, MemoryNotFound
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.postgres.security import policies
from ricordo.storage.tables import ID_SERIES, OWNED_TABLES
from ricordo.wiring import open_memory
from tests.deploy.statements import SHARDS, statements
from tests.support import postgres
from tests.support.sharing import share

WHOLE = {"jobs", "api_keys", "grants", "grant_tokens"}
CUT = {table.name for table in OWNED_TABLES} - WHOLE
PIECES = 16

pytestmark = [pytest.mark.requirement("deploy.partitions"), pytest.mark.slow]


def fill(memory: Memory) -> None:
    """Something in many tables, of users enough for several pieces."""
    for number in range(20):
        user = memory.user(f"user-{number}")
        user.add(f"Number {number} prefers tea to coffee", theme="drinks")
        user.add(f"Number {number} lives in Lisbon", key="home")
    for name, viewer in (("ana", "ben"), ("carla", "dora")):
        user = memory.user(name)
        shared = user.add("The key is under the mat", theme="home")
        share(user, shared.id, viewer)
        user.observe([{"role": "user", "content": "I live in Porto now"}], thread="t1")
    memory.run_jobs()


@pytest.fixture(scope="module")
def store_url(worker_id: str) -> Iterator[str]:
    """A filled store whose tables were cut into pieces; the address of the application's role.

    Cutting takes its time, so all tests here have the same one, and each its own users.
    """
    with postgres.database(f"ricordo_pieces_{worker_id}") as url:
        open_memory(url, run_jobs=False, upkeep=False).close()
        app_url = postgres.let_app_in(url)
        with open_memory(app_url, run_jobs=False, upkeep=False) as memory:
            fill(memory)
        before = rows_of(url)
        cut_up(url)
        assert rows_of(url) == before
        yield app_url


def cut_up(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements(SHARDS, "## Hash partitions"):
            connection.execute(statement)


def rows_of(url: str) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with psycopg.connect(url) as connection:
        return {
            table.name: sorted(
                row[0] for row in connection.execute(f"SELECT t::text FROM {table.name} AS t")
            )
            for table in OWNED_TABLES
        }


def names(url: str, query: str) -> set[str]:
    with psycopg.connect(postgres.as_owner(url)) as connection:
        return {row[0] for row in connection.execute(query)}


def test_all_that_can_be_cut_is_cut(store_url: str) -> None:
    cut = names(store_url, "SELECT relname FROM pg_class WHERE relkind = 'p'")
    assert cut == CUT
    filled = names(store_url, "SELECT DISTINCT tableoid::regclass::text FROM items")
    assert len(filled) > PIECES / 2
    assert all(name.startswith("ricordo_pieces.items_") for name in filled)
    assert not names(store_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE '%before'")


def test_indexes_constraints_and_policies_are_as_in_a_fresh_store(
    store_url: str, postgres_url: str
) -> None:
    in_schema = "relnamespace = 'public'::regnamespace"
    queries = [
        f"SELECT relname FROM pg_class WHERE relkind IN ('i', 'I') AND {in_schema}",
        "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(c.oid)"
        f" FROM pg_constraint AS c JOIN pg_class ON pg_class.oid = conrelid WHERE {in_schema}"
        " AND conparentid = 0",
        "SELECT tablename || policyname || cmd || coalesce(qual, '') || coalesce(with_check, '')"
        " FROM pg_policies",
        "SELECT table_name || privilege_type || grantee FROM information_schema.role_table_grants"
        " WHERE table_schema = 'public'",
    ]
    for query in queries:
        assert names(store_url, query) == names(postgres_url, query)
    wanted = {policy.name for policy in policies()}
    assert names(store_url, "SELECT policyname FROM pg_policies") == wanted


def test_the_application_goes_on(store_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(store_url)
    assert memory.database.backend.confinement_problem() is None
    ana, ben = memory.user("ana"), memory.user("ben")
    (shared,) = ana.list(theme="home")
    assert ben.get(shared.id).content == "The key is under the mat"
    with psycopg.connect(postgres.as_owner(store_url)) as connection:
        most = connection.execute("SELECT max(id) FROM items").fetchone()
    added = ana.add("Prefers tea to coffee", theme="drinks")
    assert most is not None and added.id > most[0]
    sequences = names(store_url, "SELECT relname FROM pg_class WHERE relkind = 'S'")
    assert sequences == set(ID_SERIES)
    assert not ana.add("Prefers tea to coffee", theme="drinks").is_new
    assert ana.add("Lives in Rome", key="city").is_new
    assert ana.add("Lives in Paris", key="city").id
    assert ana.search("tea").results[0].id == added.id
    assert memory.user("user-3").search("coffee").results[0].content_snippet.startswith("Number 3")
    ana.unlink(shared.id, "ben")
    with pytest.raises(MemoryNotFound):
        ben.get(shared.id)
    memory.run_jobs()
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_searching_in_the_database_and_reindexing(
    store_url: str, open_store: Callable[..., Memory]
) -> None:
    """With no index in memory, and every vector through the vector index."""
    memory = open_store(store_url, index_cache_mb=0, exact_scan_rows=0)
    found = memory.user("user-3").search("tea or coffee").results
    assert found[0].content_snippet == "Number 3 prefers tea to coffee"
    owner = open_store(postgres.as_owner(store_url))
    owner.reindex()
    found = memory.user("user-4").search("tea or coffee").results
    assert found[0].content_snippet == "Number 4 prefers tea to coffee"


def test_exporting_erasing_and_importing(
    store_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    memory = open_store(store_url)
    path = tmp_path / "carla.jsonl"
    memory.user("carla").export(path)
    before = sorted(item.content for item in memory.user("carla").list())
    receipt = memory.erase_user("carla")
    assert receipt.removed["items"] == len(before)
    assert receipt.removed["links"] == 1
    owner = postgres.as_owner(store_url)
    for table in sorted(CUT | WHOLE):
        assert not names(owner, f"SELECT user_id FROM {table} WHERE user_id = 'carla'"), table
    memory.user("carla").import_file(path)
    assert sorted(item.content for item in memory.user("carla").list()) == before


def test_row_level_security_is_still_in_force(store_url: str) -> None:
    """As the application's role: nothing unless it says for whom, and no way round to a piece."""
    acting = "SELECT set_config('ricordo.users', '{user-3}', true)"
    with psycopg.connect(store_url) as connection:
        for table in sorted(CUT | WHOLE):
            assert connection.execute(f"SELECT * FROM {table}").fetchall() == [], table
    with psycopg.connect(store_url) as connection:
        connection.execute(acting)
        for table in sorted(CUT | {"jobs"}):
            seen = {row[0] for row in connection.execute(f"SELECT user_id FROM {table}")}
            assert seen <= {"user-3"}, table
    with psycopg.connect(store_url) as connection:
        connection.execute(acting)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM ricordo_pieces.items_0")


def test_a_users_rows_are_looked_for_in_one_piece(store_url: str) -> None:
    with psycopg.connect(store_url) as connection:
        connection.execute("SELECT set_config('ricordo.users', '{user-3}', true)")
        plan = connection.execute(
            "EXPLAIN (COSTS off) SELECT id FROM items WHERE user_id = 'user-3' AND id = 1"
        )
        touched = set(re.findall(r"items_\d+", "\n".join(row[0] for row in plan)))
    assert len({name.split("_")[1] for name in touched}) == 1


def test_the_citus_statements_name_every_table() -> None:
    (text,) = statements(SHARDS, "## Citus")
    distributed = re.findall(r"create_distributed_table\('(\w+)', 'user_id'", text)
    copied = set(re.findall(r"create_reference_table\('(\w+)'", text))
    everywhere = copied - {"store", "alembic_version"}
    assert {*distributed} | everywhere == CUT and len(distributed) + len(everywhere) == len(CUT)
    whole = set(re.findall(r"add_local_table_to_metadata\('(\w+)'", text))
    assert whole == WHOLE | {"oauth_clients"}  # of no user
    order = {name: place for place, name in enumerate(distributed)}
    for table in OWNED_TABLES:
        for key in table.foreign_key_constraints:
            assert order[key.referred_table.name] < order[table.name]
