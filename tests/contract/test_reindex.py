"""Terms of another analyser are noticed when a store is opened, and made anew."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from ricordo import Conflict, Memory
from ricordo.index.rebuild import (
    REINDEX_JOB,
    bring_up_to_date,
    note_versions,
    outdated,
    run_reindex_job,
)
from ricordo.storage.search_rows import remove_entries
from ricordo.storage.tables import INDEXED, ITEMS, store
from ricordo.testing import ManualClock
from ricordo.text.analyser import Analyser

pytestmark = pytest.mark.requirement("recall.reindex")

OpenStore = Callable[..., Memory]
KILLED = """
import os, signal, sys
from ricordo.index.rebuild import bring_up_to_date
from ricordo.wiring import open_memory

def progress(done, total):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)

with open_memory(sys.argv[1], run_jobs=False, language="none") as memory:
    bring_up_to_date(memory.database, progress)
"""


def opened(open_store: OpenStore, url: str, language: str) -> Memory:
    memory = open_store(url, language=language)
    note_versions(memory.database)  # as opening does; a second time it does nothing
    return memory


def queued(memory: Memory) -> list[str]:
    return [job.state for job in memory.jobs() if job.kind == REINDEX_JOB]


def terms(memory: Memory) -> dict[tuple[str, int], tuple[str, str]]:
    found = {}
    with memory.database.read_all() as view:
        for kind in INDEXED:
            rows = sa.select(kind.index.c.id, kind.index.c.analyser, kind.index.c.terms)
            for row in view.connection.execute(rows):
                found[kind.name, row.id] = (row.analyser, row.terms)
    return found


def search_finds(memory: Memory, question: str) -> list[int]:
    """What has the words of the question, as the terms tell."""
    return [hit.id for hit in memory.user("ana").search(question) if hit.signals.fts]


def test_another_language_makes_the_terms_anew(backend_url: str, open_store: OpenStore) -> None:
    english = opened(open_store, backend_url, "english")
    for user_id in ("ana", "ben"):
        user = english.user(user_id)
        user.add("The horses were running")
        user.observe([{"role": "user", "content": "Horses were running"}], thread="t1")
    forgotten = english.user("ana").add("Horses sleeping").id
    english.user("ana").forget(forgotten)
    assert (queued(english), outdated(english.database)) == ([], 0)
    assert search_finds(english, "the run of a horse") == [1]
    assert queued(opened(open_store, backend_url, "english")) == []  # the same is no reason
    plain = opened(open_store, backend_url, "none")
    assert (queued(plain), outdated(plain.database)) == (["queued"], 5)
    (job,) = (job for job in plain.jobs() if job.kind == REINDEX_JOB)
    english_terms = re.escape(Analyser("english").fingerprint)
    with pytest.raises(Conflict, match=f"this process has {english_terms}"):
        run_reindex_job(english.database, english.recall.embedders, job.payload)
    assert search_finds(plain, "nothing of the kind") == []
    plain.run_jobs()
    assert (queued(plain), outdated(plain.database)) == (["done"], 0)
    none = Analyser("none")
    assert {made_by for made_by, _ in terms(plain).values()} == {none.fingerprint}
    assert {"horses", "running"} <= set(terms(plain)["item", 1][1].split())
    assert search_finds(plain, "running horses") == [1]
    assert len(plain.user("ben").search_turns("running")) == 1
    assert not note_versions(plain.database)
    for name in ("ana", "ben"):
        plain.erase_user(name)
    # A store with nothing in it has nothing to be made anew.
    assert queued(opened(open_store, backend_url, "english")) == ["done"]


def test_a_store_from_before_there_was_search(backend_url: str, open_store: OpenStore) -> None:
    memory = opened(open_store, backend_url, "english")
    ana = memory.user("ana")
    ids = [ana.add(f"Fact number {number}").id for number in range(3)]
    with memory.database.write("ana") as writing:
        remove_entries(writing, ITEMS, ids)
        writing.connection.execute(sa.delete(store).where(store.c.name == "analyser"))
    assert search_finds(memory, "fact") == []
    assert outdated(memory.database) == 3
    assert note_versions(memory.database)
    memory.run_jobs()
    memory.run_jobs()
    assert sorted(search_finds(memory, "fact")) == ids
    assert ana.embedding_status().ready == 3


def test_vectors_of_an_older_shipped_model_are_made_anew(
    backend_url: str, open_store: OpenStore
) -> None:
    memory = opened(open_store, backend_url, "english")
    ana = memory.user("ana")
    ana.add("Prefers tea")
    ana.observe([{"role": "user", "content": "The kettle boils"}], thread="t1")
    with memory.database.write("ana") as writing:
        for kind in INDEXED:
            older = sa.update(kind.index).where(kind.index.c.vector.is_not(None))
            writing.connection.execute(
                older.values(provider="local", model="ricordo-minilm@00000000")
            )
        note = sa.update(store).where(store.c.name == "shipped model")
        writing.connection.execute(note.values(text="ricordo-minilm@00000000"))
    assert ana.embedding_status().stale == 2
    assert note_versions(memory.database)
    assert not note_versions(memory.database)
    memory.run_jobs()
    status = ana.embedding_status()
    assert (status.ready, status.stale, status.pending) == (2, 0, 0)
    assert ana.search("what to drink, a hot beverage")[0].signals.semantic is not None


def test_vectors_that_are_there_wait_for_no_writer(
    sqlite_url: str, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_store(sqlite_url, busy_timeout_seconds=0.1)
    memory.user("ana").add("Prefers tea")
    memory.run_jobs()
    monkeypatch.setattr("ricordo.index.rebuild.reindex", lambda *_: 0)  # of terms
    with contextlib.closing(sqlite3.connect(sqlite_url, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        run_reindex_job(memory.database, memory.recall.embedders, {})
        holder.execute("ROLLBACK")


@pytest.mark.chaos
def test_one_that_is_killed_goes_on(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    count = 1_200
    english = opened(open_store, backend_url, "english")
    english.user("ana").add_many([f"Running horse {number}" for number in range(count)])
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, backend_url], env=dict(os.environ), check=False
    )
    assert ran.returncode == -signal.SIGKILL
    plain = opened(open_store, backend_url, "none")
    left = outdated(plain.database)
    assert 0 < left < count
    assert queued(plain) == ["queued"]
    seen: list[tuple[int, int]] = []
    assert bring_up_to_date(plain.database, lambda *now: seen.append(now)) == left
    assert (seen[0], seen[-1]) == ((0, left), (left, left))
    clock.advance(days=36_500)  # the other process went by the real time
    plain.run_jobs()
    assert (outdated(plain.database), queued(plain)) == (0, ["done"])
    assert len(search_finds(plain, "running")) == 10


def test_a_store_that_cannot_be_written_is_opened_all_the_same(
    sqlite_url: str, open_store: OpenStore
) -> None:
    opened(open_store, sqlite_url, "english").user("ana").add("Prefers tea")
    with contextlib.closing(sqlite3.connect(sqlite_url, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        memory = open_store(sqlite_url, language="none", busy_timeout_seconds=0.1)
        assert not note_versions(memory.database)
        assert len(memory.user("ana").list()) == 1
        holder.execute("ROLLBACK")
    assert note_versions(memory.database)
    assert queued(memory) == ["queued"]


def test_the_indexes_themselves_can_be_made_again(owner_url: str, open_store: OpenStore) -> None:
    memory = open_store(owner_url, index_cache_mb=0)  # searched in the database itself
    for name in ("ana", "ben"):
        memory.user(name).add(f"{name} prefers tea")
    if memory.database.backend.name == "sqlite":
        with memory.database.transaction() as connection:
            connection.exec_driver_sql("INSERT INTO item_fts (item_fts) VALUES ('delete-all')")
        assert memory.user("ana").search("prefers")[0].signals.fts is None
    assert memory.reindex(everything=True) == 0
    for name in ("ana", "ben"):
        (found,) = memory.user(name).search("prefers")
        assert found.signals.fts == 1.0
