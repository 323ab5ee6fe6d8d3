"""The daily round: what it does, what it leaves to jobs, and that it can stop anywhere."""

import calendar
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import Event, limits
from ricordo.formation.schedule import SUMMARY_JOB
from ricordo.model.reports import RoundReport
from ricordo.storage.activity import put_events
from ricordo.storage.search_rows import EMBED_JOB
from ricordo.storage.tables import checked_pairs, history, item_index, items, relations
from ricordo.storage.users import UpkeepState, find_summary, note_upkeep, upkeep_state
from ricordo.testing import WordEmbedder
from ricordo.upkeep.schedule import CONSOLIDATE_JOB, INSIGHTS_JOB, RELATE_JOB
from tests.formation.conftest import tables_with
from tests.support.endpoints import EmbeddingServer
from tests.upkeep.conftest import Stopped, Tended, untended

OpenTended = Callable[..., Tended]
LITTLE: dict[str, Any] = {"source": "conversation", "importance": 1}


def state_of(tended: Tended, user: str = "ana") -> UpkeepState:
    with tended.memory.database.read_all() as view:
        return upkeep_state(view.connection, user)


def note(tended: Tended, user: str = "ana", **done: Any) -> None:
    with tended.memory.database.write(user) as writing:
        note_upkeep(writing, **done)


def queued_at(tended: Tended, kind: str) -> list[Any]:
    return [job.run_at for job in tended.jobs(kind)]


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
        forgotten=3, trimmed=2, unrelated=3, vectors_asked=0, queued=(CONSOLIDATE_JOB, RELATE_JOB)
    )
    (event,) = me.events()
    assert (event.node, event.op, event.status, event.at) == (
        "upkeep",
        "round",
        "ok",
        tended.clock(),
    )
    assert event.detail == (
        "3 forgotten, 2 trimmed, 3 unrelated, 0 vectors queued; queued: consolidate, relate"
    )
    assert me.counters(days=1).counts == {"upkeep_forgotten": 3, "upkeep_rounds": 1}
    assert queued_at(tended, CONSOLIDATE_JOB) == queued_at(tended, RELATE_JOB) == [tended.clock()]
    assert state_of(tended) == UpkeepState(upkept_at=tended.clock())
    assert done.to_dict()["queued"] == ["consolidate", "relate"]


@pytest.mark.requirement("upkeep.forget")
def test_what_was_just_recalled_is_not_forgotten(tended: Tended) -> None:
    me = tended.memory.user("ana")
    me.add("Saw a heron", **LITTLE)
    tended.clock.advance(days=61)
    assert len(me.search("heron")) == 1  # counted, and not written yet
    week = timedelta(days=7)
    assert tended.round(forget_after=week).forgotten == 0
    assert tended.keep(7, forget_after=week).forgotten == 0
    assert tended.keep(1, forget_after=week).forgotten == 1


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
def test_vectors_of_another_model_are_made_anew(open_tended: OpenTended) -> None:
    first = open_tended(embedder=WordEmbedder(64))
    first.memory.user("ana").add_many(["Prefers tea", "Plays the cello"])
    second = open_tended(embedder=WordEmbedder(32))
    assert second.memory.user("ana").embedding_status().stale == 2
    assert second.round().vectors_asked == 2
    second.memory.run_jobs()
    status = second.memory.user("ana").embedding_status()
    assert (status.ready, status.stale, status.dimensions) == (2, 0, 32)


def made_by(server: EmbeddingServer) -> dict[str, Any]:
    """Settings that leave vectors to a server."""
    return {
        "embedder": None,
        "embedding_provider": "custom_http",
        "embedding_base_url": server.base_url,
        "embedding_model": server.model,
    }


@pytest.mark.requirement("upkeep.backfill")
def test_vectors_whose_job_was_lost_are_asked_for_again(
    open_tended: OpenTended, server: EmbeddingServer
) -> None:
    tended = open_tended(**made_by(server))
    tended.memory.user("ana").add_many(["Prefers tea", "Plays the cello"])
    untended(tended.memory, tended.clock)
    assert tended.round().vectors_asked == 2
    tended.memory.run_jobs()
    assert tended.memory.user("ana").embedding_status().ready == 2


@pytest.mark.requirement("upkeep.backfill")
def test_settings_that_cannot_be_used_do_not_end_the_round(
    open_tended: OpenTended, server: EmbeddingServer
) -> None:
    settings = {"embedder": None, "allow_private_embedding_targets": True}
    first = open_tended(secret_key="A" * 43 + "=", **settings).memory
    first.user("ana").set_embeddings(
        "custom_http", base_url=server.base_url, model=server.model, api_key="k1", confirm=True
    )
    first.user("ana").add("Saw a heron", **LITTLE)
    tended = open_tended(secret_key="B" * 43 + "=", **settings)
    tended.clock.advance(days=61)
    done = tended.round()
    assert (done.forgotten, done.vectors_asked) == (1, 0)
    over, wrong = tended.memory.user("ana").events()
    assert (over.op, over.status) == ("round", "ok")
    assert (wrong.node, wrong.op, wrong.status) == ("upkeep", "vectors", "error")
    assert "cannot be decrypted" in (wrong.detail or "")
    assert state_of(tended).upkept_at == tended.clock()


@pytest.mark.requirement("upkeep.backfill")
def test_vectors_are_not_thrown_away_for_an_embedder_that_does_not_answer(
    open_tended: OpenTended, server: EmbeddingServer
) -> None:
    before = open_tended().memory.user("ana")
    before.add("Prefers tea")
    tended = open_tended(**made_by(server))
    server.fault = "html"
    assert tended.round().vectors_asked == 0
    events = tended.memory.user("ana").events()
    assert [event.op for event in events if event.status == "error"] == ["vectors"]
    assert before.embedding_status().ready == 1


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(model="first") as running:
        yield running


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
    me.add("The user hums at work", type="insight")  # puts no narrative behind
    assert SUMMARY_JOB not in tended.round().queued
    me.add("Plays the cello")
    assert stored_revision(tended) != me.revision()
    assert SUMMARY_JOB in tended.round().queued
    tended.memory.run_jobs()
    assert stored_revision(tended) == me.revision()
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


class Stopping:
    """Ends the work at the given report, or does something else then."""

    def __init__(self, at: int | None, do: Callable[[], object] | None = None) -> None:
        self.at = at
        self.do = do
        self.told: list[str] = []

    def __call__(self, progress: str) -> None:
        self.told.append(progress)
        if self.at == len(self.told) - 1:
            if self.do is None:
                raise Stopped
            self.do()


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SWEEP_BATCH_ITEMS", 3)
    monkeypatch.setattr(limits, "TRIM_BATCH_ROWS", 3)


def prepare(tended: Tended, user: str) -> None:
    """A user with something of everything that a round has to do."""
    me = tended.memory.user(user)
    texts = [f"Saw a heron in {month}" for month in calendar.month_name[1:9]]
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


@pytest.mark.slow
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
    assert len(counting.told) >= 8
    details = [str(event.detail) for event in tended.memory.user("whole").events()]
    said = " ".join([*counting.told, *details]).casefold()
    assert [word for word in ("heron", "cello", "jazz") if word in said] == []
    for stop_at in range(len(counting.told)):
        tended.clock.set(start)
        prepare(tended, "erased")
        tended.clock.advance(days=61)
        erasing = Stopping(stop_at, lambda: tended.memory.erase_user("erased"))
        tended.round("erased", erasing)
        assert len(erasing.told) > stop_at
        assert tables_with(tended.memory, "erased") == []
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
