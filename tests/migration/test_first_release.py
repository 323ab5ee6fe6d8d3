"""Stores that release 0.1.0 itself wrote (scripts/first_release.py) open, and lose nothing."""

import gzip
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlcipher3.dbapi2
from scripts.first_release import seen

from ricordo import Memory
from ricordo.storage.migration import CHAIN, HEAD, version_of
from ricordo.testing import ManualClock
from tests.support import postgres, processes
from tests.support.commandline import ricordo
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("storage.upgrade")

OpenStore = Callable[..., Memory]
HERE = Path(__file__).parent
SHOWN: dict[str, Any] = json.loads(gzip.decompress((HERE / "ricordo-0.1.0.json.gz").read_bytes()))
"""What 0.1.0 read of its store."""


@pytest.fixture
def clock() -> ManualClock:
    """The same week, so that nothing has lapsed."""
    return ManualClock(datetime(2026, 3, 5, tzinfo=UTC))


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path, worker_id: str) -> Iterator[str]:
    """The address of a store of 0.1.0, for whoever owns it."""
    if request.param == "sqlite":
        yield str(old_file(tmp_path))
        return
    with postgres.database(f"first_release_{worker_id}") as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(gzip.decompress((HERE / "ricordo-0.1.0.sql.gz").read_bytes()))
        yield url


def old_file(folder: Path, name: str = "old.db") -> Path:
    folder.mkdir(exist_ok=True, mode=0o700)
    path = folder / name
    path.write_bytes(gzip.decompress((HERE / "ricordo-0.1.0.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


def schema(url: str) -> str:
    if "://" not in url:
        with closing(sqlite3.connect(url)) as file:
            return str(file.execute("SELECT version_num FROM alembic_version").fetchone()[0])
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    assert row is not None
    return str(row[0])


def test_everything_reads_as_it_did(old_url: str, open_store: OpenStore) -> None:
    memory = open_store(old_url)
    assert version_of(memory.database) == HEAD
    assert seen(memory) == SHOWN
    assert problems_of(memory) == []
    ana, ben = memory.user("ana"), memory.user("ben")
    assert [one.state for one in ana.links(1)] == ["accepted"]
    last = max(item.id for item in (*ana.list(), *ben.list()))
    assert ana.add("The user has a cat").id > last
    assert ana.undo(2).content == "The user lives in Bandung"
    assert ana.restore(10).content == "The user owes Ben ten euros"
    (proposal,) = ana.proposals()
    ana.approve(proposal.id)
    assert problems_of(memory) == []


@pytest.mark.slow
def test_what_waits_for_its_vector_is_found_by_words_until_it_has_one(
    old_url: str, open_store: OpenStore
) -> None:
    memory = open_store(old_url, embedder=None)
    ana = memory.user("ana")
    before = ana.embedding_status()
    assert (before.ready, before.stale) == (0, before.pending)
    assert ana.search("green tea").results[0].id == 1
    assert ana.search_turns("jazz music").results[0].thread_id == "music"
    assert ana.search("green tea").degraded
    memory.run_jobs()
    after = ana.embedding_status()
    assert (after.pending, after.ready) == (0, after.memories + after.turns)
    assert not ana.search("green tea").degraded
    assert memory.user("ben").embedding_status().provider == "none"  # as ben chose
    assert problems_of(memory) == []


@pytest.mark.slow
def test_jobs_that_waited_are_done(old_url: str, open_store: OpenStore) -> None:
    memory = open_store(old_url)
    ana = memory.user("ana")
    memory.run_jobs()
    assert "User's train leaves at 7." in {item.content for item in ana.list()}
    assert not {job.kind for job in memory.jobs(state="queued")} & {"embed", "form", "reindex"}
    assert list(memory.jobs(state="dead")) == []


@pytest.mark.slow
def test_the_doctor_says_what_to_do(tmp_path: Path) -> None:
    old = old_file(tmp_path)

    def advice() -> dict[str, str]:
        found = ricordo("doctor", "--db", old, "--json").json
        return {one["check"]: one["advice"] for one in found if one["state"] != "ok"}

    assert advice() == {"schema": "ricordo migrate"}
    ricordo("migrate", "--db", old)
    assert schema(str(old)) == HEAD
    assert advice() == {
        "terms": "ricordo reindex",
        "fingerprints": "ricordo embeddings backfill -u USER",
        "jobs": "ricordo jobs run, or leave running: ricordo worker",
    }
    ricordo("jobs", "run", "--db", old)
    assert advice() == {}


def test_an_encrypted_store_opens(tmp_path: Path, open_store: OpenStore) -> None:
    old, encrypted = old_file(tmp_path), tmp_path / "encrypted.db"
    with closing(sqlcipher3.dbapi2.connect(str(old))) as file:
        file.execute("ATTACH ? AS other KEY ?", (str(encrypted), "the key"))
        file.execute("SELECT sqlcipher_export('other')")
        file.execute("DETACH other")
    encrypted.chmod(0o600)
    assert seen(open_store(str(encrypted), database_key="the key")) == SHOWN


KILLED_AT = ("turn_pieces", "uq_items_key", "grant_tokens", "webhook_deliveries", "commit")
"""Statements of several steps, and the moment before all of it is committed."""


@pytest.mark.parametrize(
    "at", ["ratings", *(pytest.param(one, marks=pytest.mark.chaos) for one in KILLED_AT)]
)
def test_a_kill_in_the_middle_of_a_migration_loses_nothing(
    at: str, old_url: str, open_store: OpenStore
) -> None:
    processes.killed_opening(old_url, at)
    assert schema(old_url) == CHAIN[0]
    memory = open_store(old_url)
    assert seen(memory) == SHOWN
    assert problems_of(memory) == []


@pytest.mark.slow
def test_a_kill_after_the_migration_still_has_the_terms_made_anew(
    old_url: str, open_store: OpenStore
) -> None:
    processes.killed_opening(old_url, "INSERT INTO store")
    assert schema(old_url) == HEAD
    memory = open_store(old_url, embedder=None)
    assert memory.user("ana").embedding_status().stale
    memory.run_jobs()
    assert memory.user("ana").embedding_status().pending == 0
