"""The migrations build exactly what tables.py describes."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from ricordo import DatabaseTooOld, Memory
from ricordo.storage import migration
from ricordo.storage.items import keyed_profile_items
from ricordo.storage.migration import CHAIN, HEAD, upgrade, version_of
from ricordo.storage.postgres import security
from ricordo.storage.postgres.search import PostgresSearch
from ricordo.storage.sql import driver_of
from ricordo.storage.sqlite.backend import TYPICAL
from ricordo.storage.tables import ID_SERIES, OWNED_TABLES, UNUSUAL, metadata
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.sharing import link_of_old


def sqlite_schema(engine: sa.Engine) -> dict[str, list[str]]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%' AND name <> 'alembic_version'"
            # The text index is derived: made when it is missing, not migrated.
            " AND name NOT LIKE '%_fts%' AND name NOT LIKE '%_vocabulary'"
        )
        return {name: normal(text) for name, text in rows}


def normal(text: str) -> list[str]:
    """The words of a definition; their order differs with that of the constraints. How they
    belong together is compared on PostgreSQL, which prints definitions in one way only."""
    bare = text.replace('"', "").replace("items.", "").replace("jobs.", "")
    return sorted(filter(None, re.split(r"[\s,()]+", bare)))


@pytest.mark.requirement("storage.migrations")
def test_sqlite_migrations_equal_the_tables(tmp_path: Path) -> None:
    open_memory(tmp_path / "migrated.db", run_jobs=False).close()
    migrated = sa.create_engine(f"sqlite:///{tmp_path / 'migrated.db'}")
    described = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    metadata.create_all(described)
    assert sqlite_schema(migrated) == sqlite_schema(described)
    migrated.dispose()
    described.dispose()


@pytest.mark.requirement("storage.migrations")
def test_postgres_migrations_equal_the_tables(worker_id: str) -> None:
    def schema(url: str) -> list[str]:
        text = postgres.dump(url, "--schema-only", "--exclude-table=alembic_version").decode()
        kept = [line.rstrip(",") for line in text.splitlines() if line and line[0] not in "-\\"]
        return sorted(kept)

    with postgres.database(f"migrated_{worker_id}") as url:
        open_memory(url, run_jobs=False).close()
        migrated = schema(url)
    with postgres.database(f"described_{worker_id}") as url:
        engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE EXTENSION vector")
            metadata.create_all(connection)
            PostgresSearch(exact_rows=0).create(connection)
            security.secure(connection)
        engine.dispose()
        described = schema(url)
    assert migrated == described


@pytest.mark.requirement("storage.migrations")
def test_the_chain_is_what_the_scripts_say() -> None:
    config = Config()
    config.set_main_option("script_location", str(migration.FOLDER))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(reversed([step.revision for step in scripts.walk_revisions()])) == CHAIN
    assert scripts.get_current_head() == HEAD


@pytest.mark.requirement("storage.migrations")
def test_opening_again_changes_nothing(memory: Memory) -> None:
    assert version_of(memory.database) == HEAD
    assert not upgrade(memory.database)


@pytest.mark.requirement("storage.migrations")
def test_a_store_from_before_the_first_release_is_refused(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url)
    with memory.database.transaction() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0003'")
    with pytest.raises(DatabaseTooOld, match="schema 0003, from before release 0.1.0"):
        version_of(memory.database)


@pytest.mark.requirement("erasure.no-trace")
def test_every_table_with_a_user_is_erased() -> None:
    with_user = {table.name for table in metadata.sorted_tables if "user_id" in table.c}
    assert {table.name for table in OWNED_TABLES} == with_user


LATER = (
    *("group_members", "groups", "oauth_clients", "grants", "grant_tokens", "upstream_ids"),
    *("webhooks", "webhook_cursors", "webhook_deliveries"),
)
"""Tables of later releases."""
NOT_KEYED_BY_USER = {
    "jobs",  # taken by whoever is free, whichever user they are for
    "api_keys",  # looked up before it is known whose they are
    "grants",
    "grant_tokens",
}


@pytest.mark.requirement("storage.shards")
def test_everything_of_a_user_is_keyed_by_the_user_first() -> None:
    for table in OWNED_TABLES:
        if table.name in NOT_KEYED_BY_USER:
            continue
        assert next(iter(table.primary_key.columns)).name == "user_id", table.name
        for index in table.indexes:
            first = next(iter(index.columns)).name
            allowed = ("user_id", "owner_id", "other_user", "sender_id", "space_id")
            assert first in allowed, index.name


@pytest.mark.requirement("storage.planner")
def test_statistics_name_real_indexes(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(sqlite_url)
    with memory.database.read_all() as view:
        indexes = {
            (row[0], row[1])
            for row in view.connection.exec_driver_sql("SELECT tbl_name, name FROM sqlite_master")
        }
        seeded = view.connection.exec_driver_sql("SELECT count(*) FROM sqlite_stat1").scalar()
    assert set(TYPICAL) <= indexes
    assert seeded == len(TYPICAL)


EVERYDAY = {
    "items WHERE user_id = ? ORDER BY created_at DESC, id DESC LIMIT 9": "ix_items_created",
    "items WHERE user_id = ? ORDER BY updated_at DESC, id DESC LIMIT 9": "ix_items_updated",
    "history WHERE user_id = ? AND new_ref = 1 AND new_ref <> item_id": "ix_history_new_ref",
    "history WHERE user_id = ? AND old_ref = 1 AND old_ref <> item_id": "ix_history_old_ref",
    "items WHERE user_id = ? AND importance <> 2 AND importance > 2"
    " ORDER BY importance DESC, id DESC LIMIT 9": "ix_items_importance",
    "items WHERE user_id = ? AND confidence <> 90 AND confidence < 90"
    " ORDER BY confidence, id LIMIT 9": "ix_items_confidence",
    "items WHERE user_id = ? AND access_count <> 0 AND access_count > 0"
    " ORDER BY access_count DESC, id DESC LIMIT 9": "ix_items_access_count",
    "items WHERE user_id = ? AND last_accessed_at IS NOT NULL"
    " ORDER BY last_accessed_at DESC, id DESC LIMIT 9": "ix_items_last_accessed_at",
    "items WHERE user_id = ? AND expires_at IS NOT NULL ORDER BY expires_at, id LIMIT 9": (
        "ix_items_expires"
    ),
    "items WHERE user_id = ? AND status = 'active' AND theme = 'a' AND content_hash = 'b'": (
        "uq_items_text"
    ),
    "items WHERE user_id = ? AND status = 'active' AND theme IN ('a')"
    " AND (expires_at IS NULL OR expires_at > 'a')"
    " ORDER BY created_at DESC, id DESC LIMIT 9": "ix_items_active",
    "item_index WHERE user_id = ? AND state = 'pending' ORDER BY id LIMIT 9": (
        "ix_item_index_pending"
    ),
    "history WHERE user_id = ? AND item_id = 1 ORDER BY revision": "ix_history_item",
    "items WHERE user_id = ? AND ratings IS NOT NULL AND status = 'superseded' ORDER BY id": (
        "ix_items_rated"
    ),
    "items WHERE user_id = ? AND thread_id IS NOT NULL AND thread_id = 'a'"
    " AND message_id IN ('b', 'c') AND status <> 'deleted'": "ix_items_thread",
    "items WHERE user_id = ? AND thread_id IS NOT NULL AND thread_id = 'a'"
    " AND message_id IS NULL AND valid_from IN ('b', 'c') AND status <> 'deleted'": (
        "ix_items_thread"
    ),
    "turns WHERE user_id = ? AND thread_id = 'a' AND message_id IS NULL AND at IN ('b', 'c')": (
        "ix_turns_unnamed"
    ),
}
COUNTED = {
    "SELECT theme, count(*) FROM items WHERE user_id = ? AND status = 'active'"
    " AND (expires_at IS NULL OR expires_at > 'a') GROUP BY theme": "ix_items_active",
    "SELECT count(*) FROM items WHERE user_id = ? AND status = 'active'"
    " AND (expires_at IS NULL OR expires_at > 'a')": "ix_items_active",
    "SELECT state, provider, model, count(*), max(dimensions) FROM item_index"
    " WHERE user_id = ? GROUP BY state, provider, model": "ix_item_index_made",
}


@pytest.mark.requirement("storage.planner")
def test_the_everyday_queries_use_their_indexes(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    asked = {f"SELECT * FROM {rest}": index for rest, index in EVERYDAY.items()}
    asked |= {statement: f"COVERING INDEX {index}" for statement, index in COUNTED.items()}
    with open_store(sqlite_url).database.read_all() as view:
        for statement, index in asked.items():
            rows = view.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", ("ana",))
            plan = " ".join(row[3] for row in rows)
            assert index in plan, statement
            assert "TEMP B-TREE" not in plan, statement


@pytest.mark.requirement("storage.planner")
def test_a_profile_is_found_by_its_keys(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    asked: list[str] = []
    with open_store(sqlite_url).database.read("ana") as view:
        driver = driver_of(view.connection)
        driver.set_trace_callback(asked.append)
        keyed_profile_items(view.connection, "ana", view.now)
        driver.set_trace_callback(None)
        [statement] = asked
        rows = view.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")
        assert "uq_items_key" in " ".join(row[3] for row in rows)


def test_every_series_of_ids_starts_at_one(memory: Memory) -> None:
    with memory.database.transaction() as connection:
        for series in ID_SERIES:
            assert memory.database.backend.take_ids(connection, series, 3) == [1, 2, 3]


def without_projects(connection: sa.Connection) -> None:
    """As it was before 0012."""
    text = "user_id, theme, content_hash, coalesce(\"key\", '')"
    keyed = "status = 'active' AND \"key\" IS NOT NULL"
    for statement in (
        *("DROP INDEX uq_items_text", "DROP INDEX uq_items_key"),
        *("DROP INDEX ix_items_project", "DROP INDEX ix_threads_project"),
        *("DROP INDEX ix_items_rated", "ALTER TABLE items DROP COLUMN ratings"),
        *(f"ALTER TABLE {one} DROP COLUMN project_id" for one in ("items", "threads", "proposals")),
        f"CREATE UNIQUE INDEX uq_items_text ON items ({text}) WHERE status = 'active'",
        f'CREATE UNIQUE INDEX uq_items_key ON items (user_id, "key", theme) WHERE {keyed}',
    ):
        connection.exec_driver_sql(statement)


@pytest.mark.requirement("sharing.consent")
def test_links_of_an_earlier_release_stay(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    with open_store(backend_url) as memory:
        ana = memory.user("ana")
        item_id = ana.add("Has a cat").id
        link_of_old(ana, item_id, "ben")
    owner = postgres.as_owner(backend_url) if "://" in backend_url else f"sqlite:///{backend_url}"
    engine = sa.create_engine(owner.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:  # as it was before
        for table in ("link_offers", "blocked_senders", "ended_sessions", "turn_pieces", *LATER):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql("ALTER TABLE turns DROP COLUMN observed_by")
        connection.exec_driver_sql("ALTER TABLE turns DROP COLUMN ended_at")
        connection.exec_driver_sql("ALTER TABLE thread_views DROP COLUMN ahead")
        for index in (*(f"items_{one}" for one in UNUSUAL), "history_new_ref", "history_old_ref"):
            connection.exec_driver_sql(f"DROP INDEX ix_{index}")
        without_projects(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0007'")
    engine.dispose()
    with open_memory(owner.removeprefix("sqlite:///"), run_jobs=False) as memory:
        assert version_of(memory.database) == HEAD
        assert memory.user("ben").get(item_id).content == "Has a cat"
        assert [one.state for one in memory.user("ana").links(item_id)] == ["accepted"]
        assert memory.user("ben").proposals(state="any").items == ()


@pytest.mark.requirement("recall.long_turns")
def test_long_turns_of_an_earlier_release_are_cut_into_pieces(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    said = "\n".join([*["Nothing new here"] * 100, "The oak is called Bartholomew"])
    with open_store(backend_url) as memory:
        memory.user("ana").observe([{"role": "user", "content": said}], thread="t")
    owner = postgres.as_owner(backend_url) if "://" in backend_url else f"sqlite:///{backend_url}"
    engine = sa.create_engine(owner.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:  # as it was before
        for table in ("turn_pieces", *LATER):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql("DELETE FROM turn_index WHERE id NOT IN (SELECT id FROM turns)")
        connection.exec_driver_sql("ALTER TABLE turns DROP COLUMN ended_at")
        connection.exec_driver_sql("ALTER TABLE thread_views DROP COLUMN ahead")
        for index in (*(f"items_{one}" for one in UNUSUAL), "history_new_ref", "history_old_ref"):
            connection.exec_driver_sql(f"DROP INDEX ix_{index}")
        without_projects(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0008'")
    engine.dispose()
    with open_memory(owner.removeprefix("sqlite:///"), run_jobs=False) as memory:
        assert memory.run_jobs() >= 1
        (hit,) = memory.user("ana").search_turns("Bartholomew")
        assert hit.part is not None and hit.part.end == len(said)
