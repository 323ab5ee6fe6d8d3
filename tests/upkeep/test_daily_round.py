"""The daily round: what it does, what it leaves to jobs, and that it can stop anywhere."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import Event, Memory, Status, limits
from ricordo.formation.scheduling import SUMMARY_JOB
from ricordo.model.upkeep import RoundReport
from ricordo.storage.events import put_events
from ricordo.storage.index_rows import EMBED_JOB
from ricordo.storage.index_tables import item_index, relations
from ricordo.storage.summaries import find_summary
from ricordo.storage.tables import checked_pairs, history, items
from ricordo.storage.upkeep import UpkeepState, note_upkeep, upkeep_state
from ricordo.testing.clock import ManualClock
from ricordo.testing.embedder import WordEmbedder
from ricordo.testing.embedding_server import EmbeddingServer
from ricordo.upkeep.kinds import CONSOLIDATE_JOB, INSIGHTS_JOB, RELATE_JOB
from tests.upkeep.conftest import Tended, untended

OpenStore = Callable[..., Memory]
LITTLE: dict[str, Any] = {"source": "conversation", "importance": 1}


def state_of(tended: Tended, user: str = "ana") -> UpkeepState:
    with tended.memory.database.read_all() as view:
        return upkeep_state(view.connection, user)


def note(tended: Tended, user: str = "ana", **done: Any) -> None:
    with tended.memory.database.write(user) as writing:
        note_upkeep(writing, **done)


def queued_at(tended: Tended, kind: str) -> list[Any]:
    return [job.run_at for job in tended.jobs(kind)]


# -- the whole -----------------------------------------------------------------------------


@pytest.mark.requirement("upkeep.visible")
def test_a_round_shows_in_its_report_events_counters_and_jobs(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add_many([{"content": f"Saw heron number {number}", **LITTLE} for number in range(3)])
    me.add("Plays the cello", importance=5)
    me.add("Plays the cello at night", importance=5)
    with tended.memory.database.write("ana") as writing:
        put_events(writing, [{"node": "forming", "op": "read", "status": "ok"}] * 2)
    tended.clock.advance(days=61)
    done = tended.round()
    assert done == RoundReport(
        forgotten=3,
        trimmed=2,
        unrelated=3,
        vectors_asked=0,
        queued=(CONSOLIDATE_JOB, RELATE_JOB),
    )
    (event,) = me.events()
    assert (event.node, event.op, event.status, event.at) == (
        "upkeep",
        "round",
        "ok",
        tended.clock(),
    )
    assert event.detail == (
        "3 forgotten, 2 trimmed, 3 unrelated, 0 vectors asked for; queued: consolidate, relate"
    )
    assert me.counters(days=1).counts == {"upkeep_forgotten": 3, "upkeep_rounds": 1}
    assert queued_at(tended, CONSOLIDATE_JOB) == queued_at(tended, RELATE_JOB) == [tended.clock()]
    assert state_of(tended) == UpkeepState(upkept_at=tended.clock())
    assert done.to_dict()["queued"] == ["consolidate", "relate"]


@pytest.mark.requirement("upkeep.visible")
def test_a_round_that_finds_nothing_to_do_says_so(tended: Tended) -> None:
    tended.memory.user("ana").add("Prefers tea", importance=5)
    tended.clock.advance(days=1)
    done = tended.round(daily_pairs=0)
    assert (done.forgotten, done.trimmed, done.unrelated) == (0, 0, 0)
    assert done.queued == (RELATE_JOB,)
    assert tended.round(daily_pairs=0).queued == ()  # nothing has changed since
    assert tended.memory.user("ana").counters().counts == {"upkeep_rounds": 2}
    assert len(tended.jobs(RELATE_JOB)) == 1


@pytest.mark.requirement("upkeep.forget")
def test_what_was_just_recalled_is_not_forgotten(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add("Saw a heron", **LITTLE)
    tended.clock.advance(days=61)
    assert len(me.search("heron")) == 1  # counted, and not written yet
    assert tended.round().forgotten == 0
    assert tended.keep(60).forgotten == 0
    assert tended.keep(1).forgotten == 1


@pytest.mark.requirement("upkeep.forget")
def test_global_memories_are_the_operators(tended: Tended) -> None:
    everyones = tended.memory.global_memories()
    for number in range(3):
        everyones.add(f"The office is closed on day {number}", **LITTLE)
    with tended.memory.database.write("*") as writing:
        put_events(writing, [{"node": "forming", "op": "read", "status": "ok"}])
    with tended.memory.database.transaction() as connection:
        connection.execute(sa.update(item_index).values(state="error", error="down"))
    tended.clock.advance(days=400)
    done = tended.round("*", has_model=True)
    assert done == RoundReport(trimmed=1, vectors_asked=3)
    assert len(everyones.list()) == 3
    assert state_of(tended, "*").upkept_at == tended.clock()
    assert [job.kind for job in tended.jobs()] == [EMBED_JOB]


# -- vectors -------------------------------------------------------------------------------


@pytest.mark.requirement("upkeep.backfill")
def test_vectors_that_failed_are_asked_for_again(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add_many(["Prefers tea", "Plays the cello", "Has a cat"])
    failed = {"state": "error", "error": "down", "vector": None}
    with tended.memory.database.transaction() as connection:
        first_two = item_index.c.id <= 2
        connection.execute(sa.update(item_index).where(first_two).values(**failed))
    assert tended.round().vectors_asked == 2
    assert tended.memory.run_jobs() >= 1
    status = me.embedding_status()
    assert (status.ready, status.error, status.pending) == (3, 0, 0)
    assert tended.round().vectors_asked == 0


@pytest.mark.requirement("upkeep.backfill")
def test_vectors_of_another_model_are_made_anew(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    first = untended(open_store(backend_url, embedder=WordEmbedder(64)), clock)
    first.memory.user("ana").add_many(["Prefers tea", "Plays the cello"])
    second = untended(open_store(backend_url, embedder=WordEmbedder(32)), clock)
    assert second.memory.user("ana").embedding_status().stale == 2
    assert second.round().vectors_asked == 2
    second.memory.run_jobs()
    status = second.memory.user("ana").embedding_status()
    assert (status.ready, status.stale, status.dimensions) == (2, 0, 32)


@pytest.mark.requirement("upkeep.backfill")
def test_vectors_whose_job_was_lost_are_asked_for_again(
    backend_url: str, open_store: OpenStore, clock: ManualClock, server: EmbeddingServer
) -> None:
    settings = {
        "embedder": None,
        "embedding_provider": "custom_http",
        "embedding_base_url": server.base_url,
        "embedding_model": server.model,
    }
    memory = open_store(backend_url, **settings)
    memory.user("ana").add_many(["Prefers tea", "Plays the cello"])
    tended = untended(memory, clock)
    assert tended.jobs(EMBED_JOB) == []
    assert tended.round().vectors_asked == 2
    memory.run_jobs()
    assert memory.user("ana").embedding_status().ready == 2


@pytest.mark.requirement("upkeep.backfill")
def test_settings_that_cannot_be_used_do_not_end_the_round(
    backend_url: str, open_store: OpenStore, clock: ManualClock, server: EmbeddingServer
) -> None:
    settings = {"embedder": None, "allow_private_embedding_targets": True}
    first = open_store(backend_url, secret_key="A" * 43 + "=", **settings)
    first.user("ana").set_embeddings(
        "custom_http", base_url=server.base_url, model=server.model, api_key="k1", confirm=True
    )
    first.user("ana").add("Saw a heron", **LITTLE)
    tended = untended(open_store(backend_url, secret_key="B" * 43 + "=", **settings), clock)
    clock.advance(days=61)
    done = tended.round()
    assert (done.forgotten, done.vectors_asked) == (1, 0)
    over, wrong = tended.memory.user("ana").events()
    assert (over.op, over.status) == ("round", "ok")
    assert (wrong.node, wrong.op, wrong.status) == ("upkeep", "vectors", "error")
    assert "cannot be decrypted" in (wrong.detail or "")
    assert state_of(tended).upkept_at == clock()


@pytest.mark.requirement("upkeep.backfill")
def test_nothing_is_asked_for_where_nothing_makes_vectors(
    backend_url: str, open_store: OpenStore, clock: ManualClock
) -> None:
    memory = open_store(backend_url, embedder=None, embedding_provider="none")
    tended = untended(memory, clock)
    memory.user("ana").add_many(["Prefers tea", "Plays the cello"])
    assert tended.round() == RoundReport(queued=(CONSOLIDATE_JOB,))
    assert [event.op for event in memory.user("ana").events()] == ["round"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(model="first") as running:
        yield running


# -- the narrative -------------------------------------------------------------------------


def stored_revision(tended: Tended) -> int | None:
    with tended.memory.database.read_all() as view:
        stored = find_summary(view.connection, "ana")
    return None if stored is None else stored["revision"]


def tell(tended: Tended) -> None:
    """Let what is known of ana be told and stored."""
    me = tended.memory.user("ana")
    me.observe([{"role": "user", "content": "I love jazz"}], thread="monday")
    me.form("monday")
    tended.memory.run_jobs()
    assert stored_revision(tended) == me.revision()


@pytest.mark.requirement("upkeep.summary")
def test_a_narrative_that_is_behind_is_told_anew(tended: Tended) -> None:
    me = tended.memory.user("ana")
    tell(tended)
    assert SUMMARY_JOB not in tended.round().queued
    me.add("Plays the cello")
    assert stored_revision(tended) != me.revision()
    assert SUMMARY_JOB in tended.round().queued
    tended.memory.run_jobs()
    assert stored_revision(tended) == me.revision()
    assert SUMMARY_JOB not in tended.round().queued


@pytest.mark.requirement("upkeep.summary")
def test_an_insight_puts_no_narrative_behind(tended: Tended) -> None:
    me = tended.memory.user("ana")
    tell(tended)
    me.add("The user hums at work", type="insight")
    assert SUMMARY_JOB not in tended.round().queued


@pytest.mark.requirement("upkeep.relations")
def test_a_walk_over_relations_that_was_not_finished_goes_on(tended: Tended) -> None:
    tended.memory.user("ana").add("Prefers tea", importance=5)
    tended.clock.advance(days=1)
    assert RELATE_JOB in tended.round().queued
    with tended.memory.database.write("ana") as writing:
        note_upkeep(writing, related_after=1)
    tended.clock.advance(days=1)
    assert RELATE_JOB in tended.round().queued


@pytest.mark.requirement("upkeep.summary")
def test_a_narrative_that_goes_with_what_is_forgotten_is_told_anew(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add("Saw a heron", **LITTLE)
    me.add("Plays the cello", importance=5)
    tell(tended)
    tended.clock.advance(days=61)
    assert tended.round().forgotten >= 1
    assert stored_revision(tended) is None
    assert len(tended.jobs(SUMMARY_JOB)) == 1
    tended.memory.run_jobs()
    assert stored_revision(tended) == me.revision()
    summary = me.summary()
    assert summary is not None
    assert "cello" in summary.content
    assert "heron" not in summary.content


@pytest.mark.requirement("upkeep.summary")
def test_a_narrative_that_nobody_had_is_not_told(tended: Tended) -> None:
    tended.memory.user("ana").add("Saw a heron", **LITTLE)
    assert SUMMARY_JOB not in tended.round().queued
    assert tended.keep(61).forgotten == 1
    assert tended.jobs(SUMMARY_JOB) == []


# -- what is left to jobs ------------------------------------------------------------------


@pytest.mark.requirement("upkeep.visible")
def test_consolidation_is_queued_where_there_is_anything_to_compare(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add("Plays the cello")
    assert CONSOLIDATE_JOB not in tended.round().queued
    other = me.add("Prefers tea").id
    assert CONSOLIDATE_JOB not in tended.round(daily_pairs=0).queued
    assert CONSOLIDATE_JOB in tended.round().queued
    tended.clock.advance(hours=limits.POOL_CHANGED_HOURS + 1)
    assert CONSOLIDATE_JOB in tended.round().queued  # it was never done
    note(tended, consolidated_at=tended.clock())
    assert CONSOLIDATE_JOB not in tended.round().queued
    me.pin(other)
    assert CONSOLIDATE_JOB in tended.round().queued
    me.forget(other)
    assert CONSOLIDATE_JOB not in tended.round().queued


@pytest.mark.requirement("upkeep.visible")
def test_insights_are_queued_after_anything_new_and_not_within_a_day(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add("Plays the cello")
    assert INSIGHTS_JOB not in tended.round().queued
    assert INSIGHTS_JOB not in tended.round(has_model=True, draws_insights=False).queued
    assert INSIGHTS_JOB in tended.round(has_model=True).queued
    assert queued_at(tended, INSIGHTS_JOB) == [tended.clock()]
    untended(tended.memory, tended.clock)
    tended.clock.advance(minutes=5)
    drawn_at = tended.clock()
    note(tended, insights_at=drawn_at)
    tended.clock.advance(minutes=1)
    me.add("Is often up at night", type="insight")
    tended.clock.advance(hours=23, minutes=54)
    assert INSIGHTS_JOB not in tended.round(has_model=True).queued  # nothing is new
    me.observe([{"role": "user", "content": "hello"}], thread="monday")
    assert INSIGHTS_JOB in tended.round(has_model=True).queued
    assert queued_at(tended, INSIGHTS_JOB) == [drawn_at + timedelta(hours=limits.INSIGHT_HOURS)]
    untended(tended.memory, tended.clock)
    tended.clock.advance(days=3)
    assert INSIGHTS_JOB in tended.round(has_model=True).queued
    assert queued_at(tended, INSIGHTS_JOB) == [tended.clock()]


# -- stopping anywhere ---------------------------------------------------------------------


class Stopped(Exception):
    pass


class Stopping:
    """Ends the work at the given report, or never."""

    def __init__(self, at: int | None) -> None:
        self.left = itertools.count() if at is None else iter(range(at))
        self.told = 0

    def __call__(self, _progress: str) -> None:
        self.told += 1
        if next(self.left, None) is None:
            raise Stopped


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_BATCH_ITEMS", 3)
    monkeypatch.setattr(limits, "TRIM_BATCH_ROWS", 3)


def prepare(tended: Tended, user: str) -> None:
    """A user with something of everything that a round has to do."""
    me = tended.memory.user(user)
    texts = [f"Saw heron number {number}" for number in range(8)]
    me.add_many([{"content": text, **LITTLE} for text in texts])
    me.add_many([{"content": f"Plays cello number {number}", "importance": 5} for number in (1, 2)])
    me.observe([{"role": "user", "content": "I love jazz"}], thread="monday")
    me.form("monday")
    tended.memory.run_jobs()
    with tended.memory.database.write(user) as writing:
        put_events(writing, [{"node": "forming", "op": "read", "status": "ok"}] * 5)
    old = {"fingerprint": "f", "verdict": "unrelated", "checked_at": tended.clock()}
    rows = [{"user_id": user, "low_id": low, "high_id": 99, **old} for low in range(1, 6)]
    failed = sa.and_(item_index.c.user_id == user, item_index.c.terms.contains("cello"))
    with tended.memory.database.transaction() as connection:
        connection.execute(sa.insert(checked_pairs), rows)
        connection.execute(sa.update(item_index).where(failed).values(state="error"))


def looks(tended: Tended, user: str) -> dict[str, object]:
    """How a user stands, without what differs between two users."""
    database = tended.memory.database
    with database.read_all() as view:

        def rows(*columns: Any) -> Counter[Any]:
            mine = columns[0].table.c.user_id == user
            return Counter(
                tuple(row) for row in view.connection.execute(sa.select(*columns).where(mine))
            )

        return {
            "items": rows(items.c.content, items.c.status, items.c.updated_at, items.c.purge_at),
            "history": rows(history.c.event, history.c.reason),
            "vectors": rows(item_index.c.terms, item_index.c.state),
            "relations": rows(relations.c.similarity),
            "pairs": rows(checked_pairs.c.low_id),
            "narrative": find_summary(view.connection, user),
            "state": upkeep_state(view.connection, user),
            "counters": tended.memory.user(user).counters().counts,
            "events": [(one.node, one.op) for one in tended.memory.user(user).events()],
            "jobs": Counter((job.kind, job.run_at) for job in tended.jobs() if job.user_id == user),
        }


@pytest.mark.requirement("upkeep.bounded")
@pytest.mark.usefixtures("small_steps")
def test_a_round_that_is_stopped_anywhere_ends_as_if_it_had_not_been(tended: Tended) -> None:
    start = tended.clock()
    prepare(tended, "whole")
    tended.clock.advance(days=61)
    counting = Stopping(None)
    done = tended.round("whole", counting)
    assert done.forgotten >= 8
    assert done.trimmed >= 10
    assert done.vectors_asked == 2
    assert done.unrelated > 0
    expected = looks(tended, "whole")
    assert counting.told >= 8
    for stop_at in range(counting.told):
        user = f"stopped-{stop_at}"
        tended.clock.set(start)
        prepare(tended, user)
        tended.clock.advance(days=61)
        with pytest.raises(Stopped):
            tended.round(user, Stopping(stop_at))
        assert state_of(tended, user).upkept_at is None
        assert "round" not in [event.op for event in tended.memory.user(user).events()]
        tended.round(user)
        assert looks(tended, user) == expected
        ends = Counter(
            change.item_id
            for change in tended.memory.user(user).changes(limit=1000).changes
            if change.event is Event.TTL
        )
        assert set(ends.values()) == {1}


@pytest.mark.requirement("upkeep.bounded")
@pytest.mark.usefixtures("small_steps")
def test_a_user_erased_during_a_round_leaves_no_trace(tended: Tended) -> None:
    start = tended.clock()
    prepare(tended, "whole")
    tended.clock.advance(days=61)
    counting = Stopping(None)
    tended.round("whole", counting)
    for erase_at in range(counting.told):
        tended.clock.set(start)
        prepare(tended, "ana")
        tended.clock.advance(days=61)
        told = itertools.count()

        def erase(_progress: str, told: Iterator[int] = told, at: int = erase_at) -> None:
            if next(told) == at:
                tended.memory.erase_user("ana")

        tended.round("ana", erase)
        assert next(told) > erase_at
        assert tended.tables_with("ana") == []


@pytest.mark.requirement("upkeep.bounded")
@pytest.mark.usefixtures("small_steps")
def test_a_round_never_says_what_memories_say(tended: Tended) -> None:
    prepare(tended, "ana")
    tended.clock.advance(days=61)
    told: list[str] = []
    tended.round("ana", told.append)
    said = " ".join([*told, *(str(event.detail) for event in tended.memory.user("ana").events())])
    for word in ("heron", "cello", "jazz"):
        assert word not in said.casefold()
    assert len(tended.memory.user("ana").list(status=Status.DELETED).items) >= 8
