"""The end: expiry, purge, erasure."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from ricordo import InvalidValue, Memory, MemoryNotFound, NothingToUndo, UserMemory, UserNotFound
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from ricordo.storage.consistency import find_inconsistencies
from ricordo.testing import ManualClock
from tests.support import postgres
from tests.support.sharing import share

SECRET = "quokkas-and-marmalade"
CITY = "Marmaladeville"


@pytest.mark.requirement("items.purge")
def test_purge_comes_after_thirty_days(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add(f"Loves {SECRET}", key="love", reason=f"heard {SECRET}").id
    ana.add(f"Loves {SECRET} less", key="love")
    ana.forget(item_id, reason=f"no more {SECRET}")
    clock.advance(days=29)
    assert ana.purge() == 0
    clock.advance(days=1)
    assert ana.purge() == 2
    with pytest.raises(MemoryNotFound):
        ana.get(item_id, include_deleted=True)
    with pytest.raises(MemoryNotFound):
        ana.restore(item_id)
    told = ana.history(item_id)
    assert [change.event for change in told] == ["ADD", "UPDATE", "DELETE", "PURGE"]
    assert SECRET not in str([change.to_dict() for change in told])


@pytest.mark.requirement("items.purge")
def test_a_former_text_can_be_purged_alone(memory: Memory) -> None:
    ana, ben = memory.user("ana"), memory.user("ben")
    item_id = ana.add(f"Loves {SECRET}", key="love").id
    ana.add("Loves toast", key="love")
    ana.undo(item_id)
    ana.add("Loves jam", key="love")
    (former,) = ana.list(status="superseded")
    ana.forget(former.id)
    assert ana.purge(before_time=True) == 1
    assert SECRET not in str([change.to_dict() for change in ana.changes()])
    assert SECRET not in "".join(ana.export_lines())
    assert ana.get(item_id).content == "Loves jam"
    with pytest.raises(NothingToUndo):
        ana.undo(item_id)
    undone = ben.add("Loves toast", key="love").id
    ben.add(f"Loves {SECRET}", key="love")
    ben.undo(undone)  # which keeps no text of its own
    assert SECRET not in "".join(ben.export_lines())


@pytest.mark.requirement("items.purge")
def test_purge_for_everybody(memory: Memory) -> None:
    for name in ("ana", "ben"):
        user = memory.user(name)
        user.forget(user.add("Has a cat").id)
    kept = memory.user("ana").add("Has a dog").id
    assert memory.purge() == memory.user("ghost").purge() == 0
    assert memory.purge(before_time=True) == 2
    assert [item.id for item in memory.list(status=["active", "deleted"])] == [kept]
    assert memory.users() == ("ana", "ben")


@pytest.mark.requirement("jobs.lifecycle")
@pytest.mark.requirement("items.expiry")
def test_the_job_expires_and_purges_in_its_time(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    short, back, long = (
        ana.add(f"In {city}", expires_at=clock() + timedelta(days=days)).id
        for city, days in (("Paris", 2), ("Oslo", 2), ("Rome", 9))
    )
    assert memory.run_jobs() == 0
    clock.advance(days=2)
    assert ana.get(short, include_deleted=True).content == "In Paris"
    assert memory.run_jobs() == 1
    assert [change.event for change in ana.history(short)] == ["ADD", "TTL"]
    assert ana.get(long).content == "In Rome"
    assert ana.restore(back).expires_at is None
    assert [(job.kind, job.run_at) for job in memory.jobs(state="queued")] == [
        ("lifecycle", clock() + timedelta(days=7))
    ]
    clock.advance(days=7)
    memory.run_jobs()
    clock.advance(days=30)
    memory.run_jobs()
    for gone in (short, long):
        assert [change.event for change in ana.history(gone)] == ["ADD", "TTL", "PURGE"]
    assert [change.event for change in ana.history(back)] == ["ADD", "TTL", "RESTORE"]
    assert [item.id for item in ana.list(status="any")] == [back]
    assert memory.jobs(state="queued") == ()


def fill(memory: Memory) -> None:
    """A user with a trace in every table, some of it tangled with another user's."""
    ana, ben = memory.user("ana"), memory.user("ben")
    shared = ana.add(f"Shares {SECRET}", tags=[SECRET], source_context=SECRET, theme=SECRET).id
    ana.add(f"First {SECRET}", key=SECRET)
    ana.add(f"Second {SECRET}", key=SECRET, reason=SECRET)
    ana.forget(ana.add(f"Forgot {SECRET}").id, reason=SECRET)
    share(ana, shared, "ben")
    share(ben, ben.add("Ben's own").id, "ana")
    ana.add_many([f"{SECRET} number {number}" for number in range(9)])
    ana.describe_theme(SECRET, description=SECRET)
    say = {"role": "user", "content": f"I live in {CITY}", "actor": SECRET}
    ana.observe([say], thread=SECRET, title=SECRET)
    ana.observe([{**say, "content": f"Remember that I was born in {CITY}."}], thread=SECRET)
    ana.form(SECRET)
    keep_states(ana)
    memory.run_jobs()  # makes the narrative
    assert [one.quote for one in ana.proposals()] == [f"I live in {CITY}"]
    assert ana.summary() is not None


def keep_states(ana: UserMemory) -> None:
    """What programs keep: a state, a graph with a write, an entry of a store."""
    ana.save_checkpoint(SECRET, {"said": SECRET})
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"said": SECRET}
    checkpoint["channel_versions"] = {"said": SECRET}
    saver = RicordoSaver(ana)
    place: RunnableConfig = {"configurable": {"thread_id": SECRET, "checkpoint_ns": SECRET}}
    kept = saver.put(place, checkpoint, {}, checkpoint["channel_versions"])
    saver.put_writes(kept, [("said", SECRET)], SECRET)
    RicordoStore(ana).put((SECRET,), SECRET, {"said": SECRET}, index=False)


def dump(memory: Memory, url: str) -> bytes:
    if memory.database.backend.name == "sqlite":
        return b"".join(
            path.read_bytes() for path in Path(url).parent.glob("ricordo.db*") if path.is_file()
        )
    return postgres.dump(url)


@pytest.mark.requirement("erasure.no-trace")
def test_nothing_is_left_of_an_erased_user(memory: Memory, backend_url: str) -> None:
    fill(memory)
    for text in (SECRET, CITY):
        assert text.encode() in dump(memory, backend_url)
    receipt = memory.erase_user("ana")
    for text in (SECRET, CITY):
        assert text.encode() not in dump(memory, backend_url)
    formed = ("formation", "proposals", "summaries", "events", "tallies")
    states = ("checkpoints", "graph_checkpoints", "graph_channels", "graph_writes", "store_entries")
    for table in (*formed, *states):
        assert receipt.removed[table] > 0, table
    assert receipt.scrubbed is (memory.database.backend.name == "sqlite")
    assert receipt.removed["items"] == 14
    assert receipt.removed["users"] == 1
    assert receipt.removed["links"] == 2
    assert memory.users() == ("ben",)
    ben = memory.user("ben")
    assert [item.content for item in ben.list()] == ["Ben's own"]
    assert "ana" not in str([change.to_dict() for change in ben.changes()])
    assert [change.event for change in ben.changes()][-1] == "UNLINK"
    assert [(job.kind, job.user_id) for job in memory.jobs()] == [("form-stale", "")]  # nobody's
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []
    assert memory.database.backend.check() == []  # nor are their words in the text index


@pytest.mark.slow
@pytest.mark.requirement("erasure.no-trace")
def test_erasing_leaves_no_page_behind_after_much_work(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url)
    ana, ben = memory.user("ana"), memory.user("ben")
    for turn in range(20):
        ana.add_many([f"{SECRET} {turn} {number} " + "x" * number for number in range(100)])
        ben.add_many([f"Ben's {turn} {number} " + "y" * number for number in range(50)])
        for item in ana.list(limit=30):
            ana.forget(item.id)
        ana.purge(before_time=True)
    memory.erase_user("ana")
    assert SECRET.encode() not in dump(memory, sqlite_url)
    assert memory.database.backend.check() == []


@pytest.mark.requirement("erasure.receipt")
def test_an_erasure_that_cannot_scrub_yet_says_so(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url)
    fill(memory)
    with memory.database.read_all() as view:
        view.connection.exec_driver_sql("SELECT count(*) FROM items").scalar()
        receipt = memory.erase_user("ana")
    assert not receipt.scrubbed
    assert [job.kind for job in memory.jobs()] == ["scrub", "form-stale"]
    other = memory.user("carl")
    other.add("Somebody else")
    assert memory.erase_user("carl").scrubbed
    assert SECRET.encode() not in dump(memory, sqlite_url)


@pytest.mark.requirement("erasure.receipt")
def test_erasing_nobody(memory: Memory) -> None:
    with pytest.raises(UserNotFound):
        memory.erase_user("nobody")
    with pytest.raises(InvalidValue):
        memory.erase_user("")
    memory.global_memories().add("For everyone")
    assert memory.erase_user("*").removed["items"] == 1
