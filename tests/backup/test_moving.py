"""From either database into either: the same rows, the same answers, no id given out twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.tables import graph_writes
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.wiring import open_memory, restore_backup
from tests.backup.comparing import ids_given, rows_of
from tests.support import postgres
from tests.support.life import OTHER, USER, lived_in
from tests.support.sharing import share
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("backup.moves-between-databases")


def fill(memory: Memory, clock: ManualClock) -> None:
    """A life, and what it has none of: states of programs, embeddings of one's own, links."""
    life = lived_in(memory, clock)
    ana = memory.user(USER)
    ana.save_checkpoint("garden", {"step": 3, "né": [1.5, None, "💡"]})
    share(ana, life.items[0], OTHER)
    memory.user(OTHER).add("Lives next door")
    memory.global_memories().add("The library is closed on Monday")
    with memory.database.transaction_for([USER]) as connection:
        connection.execute(
            sa.insert(graph_writes).values(
                user_id=USER,
                thread_id="t",
                namespace="",
                checkpoint_id="c",
                task_id="k",
                place=0,
                task_path="",
                channel="x",
                format="msgpack",
                data=bytes(range(256)),
            )
        )


@pytest.mark.slow
def test_everything_comes_back_on_the_other_database(
    sqlite_url: str,
    postgres_url: str,
    clock: ManualClock,
    open_store: Callable[..., Memory],
    backup_path: Path,
    restored: Callable[..., Memory],
) -> None:
    """SQLite, a backup, PostgreSQL, a backup of that, SQLite again."""
    first = open_store(sqlite_url)
    fill(first, clock)
    key = first.create_key("laptop", user=USER)
    made = first.backup(backup_path)
    wanted = rows_of(first), ids_given(first)
    assert all(made.rows[name] for name in ("items", "turns", "relations", "api_keys", "jobs"))

    owner = postgres.as_owner(postgres_url)
    report = restore_backup(backup_path, owner, clock=clock)
    assert report.rows == made.rows
    with open_memory(
        owner, clock=clock, embedder=WordEmbedder(), run_jobs=False, upkeep=False
    ) as second:
        assert (rows_of(second), ids_given(second)) == wanted
        again = second.backup(backup_path.with_name("again.backup"))
        assert (again.rows, again.database) == (made.rows, "postgresql")
    served = open_store(postgres_url)  # as the application's role
    assert served.database.backend.confinement_problem() is None
    assert served.authenticate(key.secret).user_id == USER
    assert served.user(USER).list() == first.user(USER).list()

    third = restored(Path(again.path))
    assert (rows_of(third), ids_given(third)) == wanted
    assert problems_of(third) == []


def test_new_ids_go_on_where_the_old_ones_ended(
    owned: Memory, other_url: str, clock: ManualClock, backup_path: Path
) -> None:
    ana = owned.user("ana")
    ana.add("Prefers tea")
    gone = ana.add("Said in error").id
    ana.forget(gone)
    ana.purge(before_time=True)
    ana.observe([{"role": "user", "content": "Hello"}], thread="t")
    given_out = ids_given(owned)
    owned.backup(backup_path)
    owned.close()
    restore_backup(backup_path, other_url, clock=clock, replace=True)
    with open_memory(other_url, clock=clock, run_jobs=False, embedding_provider="none") as memory:
        assert ids_given(memory) == given_out
        assert memory.user("ana").add("Has a cat").id == gone + 1
        observed = memory.user("ben").observe([{"role": "user", "content": "Hi"}], thread="t")
        assert observed.recorded == 1


def test_ids_that_the_replaced_store_gave_out_are_not_given_again(
    owned: Memory, owner_url: str, clock: ManualClock, backup_path: Path
) -> None:
    owned.user("ana").add("Prefers tea")
    owned.backup(backup_path)
    later = owned.user("ana").add("Said after the backup").id
    owned.close()
    report = restore_backup(backup_path, owner_url, clock=clock, replace=True)
    assert report.replaced
    with open_memory(owner_url, clock=clock, run_jobs=False, embedding_provider="none") as memory:
        assert [item.content for item in memory.user("ana").list()] == ["Prefers tea"]
        assert memory.user("ana").add("Has a cat").id > later


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00", exclude_categories=("Cs", "Cc")),
    min_size=1,
    max_size=30,
).filter(lambda text: bool(text.strip()))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "add",
                "key",
                "forget",
                "archive",
                "pin",
                "observe",
                "state",
                "link",
                "erase",
                "vector",
            )
        ),
        st.sampled_from(("ana", "ben")),
        TEXTS,
    ),
    min_size=1,
    max_size=25,
)


def live(memory: Memory, clock: ManualClock, steps: list[tuple[str, str, str]]) -> None:
    for what, name, text in steps:
        clock.advance(seconds=1)
        user = memory.user(name)
        own = [item.id for item in user.list(limit=5) if item.status == "active"]
        if what == "add":
            user.add(text, tags=["x"], source_context=text)
        elif what == "key":
            user.add(text, key="k")
        elif what == "observe":
            user.observe([{"role": "user", "content": text, "actor": name}], thread="t")
        elif what == "state":
            user.save_checkpoint("t", {"text": text, "number": 0.1})
        elif what == "vector":
            user.fill_embeddings()
        elif what == "erase" and name in memory.users():
            memory.erase_user(name)
        elif own:
            _change(user, what, own[0])


def _change(user: UserMemory, what: str, item_id: int) -> None:
    calls: dict[str, Callable[[int], Any]] = {
        "forget": user.forget,
        "archive": user.archive,
        "pin": user.pin,
    }
    if what in calls:
        own = user.get(item_id)
        if own.user_id == user.scope.user_id:
            calls[what](item_id)


@pytest.mark.slow
@given(steps=STEPS)
def test_any_life_survives_the_way_there_and_back(
    steps: list[tuple[str, str, str]],
    postgres_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    postgres.empty(postgres_url)
    folder, clock, owner = (
        tmp_path_factory.mktemp("life"),
        ManualClock(),
        postgres.as_owner(postgres_url),
    )
    chosen: dict[str, Any] = {
        "clock": clock,
        "embedder": WordEmbedder(),
        "run_jobs": False,
        "upkeep": False,
    }
    with open_memory(folder / "first.db", **chosen) as first:
        live(first, clock, steps)
        first.backup(folder / "one.backup")
        wanted = rows_of(first), ids_given(first)
    restore_backup(folder / "one.backup", owner, clock=clock)
    with open_memory(owner, **chosen) as second:
        assert (rows_of(second), ids_given(second)) == wanted
        second.backup(folder / "two.backup")
    restore_backup(folder / "two.backup", folder / "third.db", clock=clock)
    with open_memory(folder / "third.db", **chosen) as third:
        assert (rows_of(third), ids_given(third)) == wanted
        with third.database.read_all() as view:
            assert find_inconsistencies(view.connection) == []
