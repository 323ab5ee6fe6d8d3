"""Backups of an older schema: made without migrating the store, migrated as they are restored."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from ricordo import ContextPolicy, Event, Memory
from ricordo.storage import migration
from ricordo.storage.migration import CHAIN, HEAD
from ricordo.testing import ManualClock
from ricordo.wiring import restore_backup
from tests.support.commandline import ricordo
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("backup.older")

NOW = "2025-06-01T12:00:00.000000+00:00"
ROWS = (
    f"INSERT INTO users (user_id, revision, created_at, updated_at) VALUES ('ana', 1, '{NOW}',"
    f" '{NOW}')",
    "INSERT INTO themes (user_id, slug, display_name, context, created_at, updated_at)"
    f" VALUES ('ana', 'drinks', 'Drinks', '{ContextPolicy.RAG.value}', '{NOW}', '{NOW}')",
    "INSERT INTO items (user_id, id, theme, type, content, content_hash, folded, tags, source,"
    " confidence, importance, pinned, status, valid_from, created_at, updated_at, access_count)"
    " VALUES ('ana', 7, 'drinks', 'preference', 'Prefers tea', 'h', 'prefers tea', '[\"a\"]',"
    f" 'user_explicit', 95, 2, 0, 'active', '{NOW}', '{NOW}', '{NOW}', 0)",
    "INSERT INTO history (user_id, revision, event, item_id, at, actor, meta)"
    f" VALUES ('ana', 1, '{Event.ADD.value}', 7, '{NOW}', 'ana', '{{}}')",
    "UPDATE store SET number = 7 WHERE name = 'item_ids'",
)


def old_store(path: Path, schema: str) -> None:
    """A store as an older version left it, with one memory in it."""
    engine = sa.create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", str(migration.FOLDER))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, schema)
        for statement in ROWS:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize(
    "schema",
    [
        CHAIN[0],
        *(pytest.param(one, marks=pytest.mark.matrix) for one in CHAIN[1:-1]),
    ],
)
def test_an_older_backup_is_migrated_on_the_way(
    schema: str,
    other_url: str,
    tmp_path: Path,
    backup_path: Path,
    clock: ManualClock,
    open_store: Callable[..., Memory],
) -> None:
    old = tmp_path / "old.db"
    old_store(old, schema)
    made = ricordo("backup", "make", backup_path, "--db", old, "--json").json
    assert (made["schema"], made["rows"]["items"]) == (schema, 1)
    with closing(sqlite3.connect(old)) as file:  # a backup can be made before an upgrade
        assert file.execute("SELECT version_num FROM alembic_version").fetchone() == (schema,)

    report = restore_backup(backup_path, other_url, clock=clock)
    assert (report.migrated_from, report.schema, report.rows["items"]) == (schema, HEAD, 1)
    memory = open_store(other_url)
    memory.reindex()
    ana = memory.user("ana")
    assert ana.get(7).content == "Prefers tea"
    assert ana.search("tea").results[0].id == 7
    assert ana.add("Has a cat").id == 8
    assert problems_of(memory) == []
    assert not list(backup_path.parent.glob(".*"))


def test_an_older_store_can_be_replaced(
    tmp_path: Path, backup_path: Path, clock: ManualClock, open_store: Callable[..., Memory]
) -> None:
    old_store(tmp_path / "old.db", CHAIN[0])
    with open_store(str(tmp_path / "new.db")) as memory:
        memory.user("ben").add("Has a dog")
        memory.backup(backup_path)
    restore_backup(backup_path, tmp_path / "old.db", clock=clock, replace=True)
    after = open_store(str(tmp_path / "old.db"))
    assert after.users() == ("ben",)
    assert after.user("ben").add("Has a cat").id == 8  # 7 was given out there
