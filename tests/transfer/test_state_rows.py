"""Export and import of what conversations and programs keep: compactions, states, entries."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from ricordo import CheckpointNotFound, ImportFailed, Memory, UserMemory
from ricordo.integrations.langgraph import RicordoSaver, RicordoStore
from ricordo.model.thread import Compaction
from ricordo.storage.history import ThreadView, put_view
from ricordo.storage.tables import OWNED_TABLES, compactions, store_entries, thread_views
from ricordo.storage.threads import put_compaction
from ricordo.testing import ManualClock
from ricordo.transfer.rows import TABLE_OF_KIND
from tests.integrations.graphs import config, put_state
from tests.transfer.lines import exported, inconsistencies, without, write

KINDS = (
    "compaction",
    "thread_view",
    "checkpoint",
    "graph_checkpoint",
    "graph_channel",
    "graph_write",
    "store_entry",
)
NOTES = ("notes",)


def keep(memory: Memory, name: str = "ana") -> UserMemory:
    """A user with rows of every kind that this is about."""
    user = memory.user(name)
    user.observe([{"role": "user", "content": f"Turn {turn}"} for turn in range(4)], thread="talk")
    with memory.database.write(name) as writing:
        told = Compaction(
            thread_id="talk",
            first_position=1,
            last_position=3,
            day="2026-01-01",
            summary="Three turns.",
            bridge="Secret bridge.",
            made_by="extract",
            at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        put_compaction(writing, told)
        put_view(writing, "talk", ThreadView(0))
    user.save_checkpoint("talk", {"z": 1, "a": [2**70, 0.1, "\x00", "語 secret"], "": None})
    user.save_checkpoint("empty", None)
    saver = RicordoSaver(user)
    first = put_state(saver, "graph", 1)
    second = put_state(saver, "graph", 2, first)
    saver.put_writes(config("graph", second), [("left", "x"), ("__error__", "secret")], "task")
    store = RicordoStore(user)
    store.put(NOTES, "indexed", {"text": "Drinks green tea"})
    store.put(NOTES, "indexed", {"text": "Drinks black tea"})
    store.put(("notes", "plain"), "", {"n": 1}, index=False)
    store.put(NOTES, "short", {"text": "In Paris"}, ttl=60)
    store.put(NOTES, "gone", {"text": "Never mind"})
    user.forget(user.list(contains="never mind").items[0].id)
    return user


@pytest.mark.requirement("transfer.round-trip")
def test_states_come_back_exactly(memory: Memory, clock: ManualClock, tmp_path: Path) -> None:
    ana = keep(memory)
    before = exported(ana)
    assert {line["kind"] for line in before} >= set(KINDS)
    ana.export(tmp_path / "ana.jsonl")
    memory.erase_user("ana")
    assert ana.import_file(tmp_path / "ana.jsonl").restored_rows == len(before) - 2
    assert exported(ana) == before
    assert inconsistencies(memory) == []
    assert list(ana.load_checkpoint("talk").state) == ["z", "a", ""]  # type: ignore[call-overload]
    found = RicordoSaver(ana).get_tuple(config("graph"))
    assert found is not None
    assert found.checkpoint["channel_values"]["right"] == {"number": 2}
    assert [write[1:] for write in found.pending_writes or []] == [
        ("__error__", "secret"),
        ("left", "x"),
    ]
    store = RicordoStore(ana)
    memory.run_jobs()
    assert [one.key for one in store.search(NOTES, query="black tea", limit=1)] == ["indexed"]
    assert store.get(NOTES, "gone") is None
    clock.advance(minutes=60)
    assert store.get(NOTES, "short") is None
    memory.run_jobs()
    assert "short" not in [line.get("key") for line in exported(ana)]


@pytest.mark.requirement("transfer.round-trip")
def test_entries_follow_memories_that_get_other_numbers(
    memory: Memory, tmp_path: Path, open_store: Callable[..., Memory]
) -> None:
    keep(memory).export(tmp_path / "ana.jsonl")
    other = open_store(str(tmp_path / "other.db"))
    other.user("zoe").add_many([f"Took number {number}" for number in range(1, 9)])
    copy = other.user("copy")
    copy.import_file(tmp_path / "ana.jsonl")
    store = RicordoStore(copy)
    found = store.get(NOTES, "indexed")
    assert found is not None
    assert found.value == {"text": "Drinks black tea"}
    store.put(NOTES, "indexed", {"text": "Drinks mate"})
    assert [item.content for item in copy.list(contains="drinks")] == ["Drinks mate"]
    assert inconsistencies(other) == []


@pytest.mark.requirement("transfer.round-trip")
def test_files_without_these_kinds_are_still_read(memory: Memory, tmp_path: Path) -> None:
    lines = without(exported(keep(memory)), *KINDS)
    memory.erase_user("ana")
    ana = memory.user("ana")
    ana.import_file(write(tmp_path / "old.jsonl", lines))
    assert len(ana.turns("talk")) == 4
    with pytest.raises(CheckpointNotFound):
        ana.load_checkpoint("talk")


@pytest.mark.requirement("transfer.merge")
def test_states_are_added_where_there_are_none(memory: Memory, tmp_path: Path) -> None:
    keep(memory).export(tmp_path / "ana.jsonl")
    ben = memory.user("ben")
    ben.add("Has something already")
    report = ben.import_file(tmp_path / "ana.jsonl")
    assert report.skipped["views of changes"] == 1
    assert report.skipped["ended entries"] == 1
    ana = memory.user("ana")
    assert ben.load_checkpoint("talk") == ana.load_checkpoint("talk")
    found = RicordoSaver(ben).get_tuple(config("graph"))
    assert found is not None
    assert found.checkpoint["channel_values"]["right"] == {"number": 2}
    store = RicordoStore(ben)
    assert {one.key for one in store.search(())} == {"indexed", "", "short"}
    memory.run_jobs()
    (best,) = store.search(NOTES, query="black tea", limit=1)
    assert best.value == {"text": "Drinks black tea"}
    ben.forget(ben.list(contains="black tea").items[0].id)
    assert store.get(NOTES, "indexed") is None
    with memory.database.read_all() as view:
        kept = sa.select(compactions.c.summary).where(compactions.c.user_id == "ben")
        assert view.connection.execute(kept).scalars().all() == ["Three turns."]
        seen = sa.select(thread_views).where(thread_views.c.user_id == "ben")
        assert view.connection.execute(seen).all() == []
    cleo = memory.user("cleo")  # who has nothing but a state is merged into, too
    cleo.save_checkpoint("own", 1)
    assert cleo.import_file(tmp_path / "ana.jsonl").restored_rows == 0
    assert {one.thread_id for one in cleo.checkpoints()} == {"own", "talk", "empty"}
    assert inconsistencies(memory) == []


@pytest.mark.requirement("transfer.merge")
def test_what_is_here_stays_unless_the_file_is_newer(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ben = memory.user("ben")
    ben.save_checkpoint("talk", "old")
    RicordoStore(ben).put(NOTES, "indexed", {"text": "Drinks water"})
    clock.advance(hours=1)
    keep(memory).export(tmp_path / "ana.jsonl")
    clock.advance(hours=1)
    ben.save_checkpoint("empty", "new")
    put_state(RicordoSaver(ben), "graph", 7)
    RicordoStore(ben).put(("notes", "plain"), "", {"n": 2}, index=False)
    report = ben.import_file(tmp_path / "ana.jsonl")
    assert report.skipped["older checkpoints"] == 1
    assert report.skipped["older entries"] == 1
    assert report.skipped["graphs of known threads"] == 1
    newer = ben.load_checkpoint("talk")
    assert newer.version == 2
    assert newer.state == memory.user("ana").load_checkpoint("talk").state
    assert ben.load_checkpoint("empty").state == "new"
    store = RicordoStore(ben)
    assert store.get(NOTES, "indexed").value == {"text": "Drinks black tea"}  # type: ignore[union-attr]
    assert store.get(("notes", "plain"), "").value == {"n": 2}  # type: ignore[union-attr]
    assert [item.content for item in ben.list(contains="drinks")] == ["Drinks black tea"]
    found = RicordoSaver(ben).get_tuple(config("graph"))
    assert found is not None
    assert found.checkpoint["channel_values"]["right"] == {"number": 7}
    before = exported(ben)
    ben.import_file(tmp_path / "ana.jsonl")
    assert exported(ben) == before


@pytest.mark.requirement("transfer.merge")
def test_an_older_file_leaves_newer_entries_and_their_memories_alone(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ana = memory.user("ana")
    store = RicordoStore(ana)
    store.put(NOTES, "longer", {"text": "In Paris"}, ttl=60)
    store.put(NOTES, "read", {"text": "In Rome"}, ttl=60)
    store.put(NOTES, "hidden", {"text": "In Oslo"})
    store.put(NOTES, "forgotten", {"text": "In Bern"})
    ana.export(tmp_path / "ana.jsonl")
    clock.advance(minutes=30)
    store.put(NOTES, "longer", {"text": "In Paris"}, ttl=600)
    store.put(NOTES, "hidden", {"text": "In Oslo"}, index=False)
    assert store.get(NOTES, "read") is not None  # which begins its time anew
    ana.forget(ana.list(contains="bern").items[0].id)
    ana.import_file(tmp_path / "ana.jsonl")
    assert [item.content for item in ana.list(order="asc")] == ["In Paris", "In Rome", "In Bern"]
    again = store.get(NOTES, "forgotten")  # like any memory that a file brings back
    assert again is not None
    clock.advance(minutes=40)
    assert {one.key for one in store.search(NOTES, refresh_ttl=False)} == {
        "longer",
        "read",
        "hidden",
        "forgotten",
    }
    assert inconsistencies(memory) == []


@pytest.mark.requirement("transfer.merge")
def test_a_newer_entry_without_a_memory_takes_the_old_memory_away(
    memory: Memory, clock: ManualClock, tmp_path: Path
) -> None:
    ben = memory.user("ben")
    RicordoStore(ben).put(NOTES, "k", {"text": "In Oslo"})
    clock.advance(minutes=1)
    RicordoStore(memory.user("ana")).put(NOTES, "k", {"text": "In Bonn"}, index=False)
    memory.user("ana").export(tmp_path / "ana.jsonl")
    ben.import_file(tmp_path / "ana.jsonl")
    assert RicordoStore(ben).get(NOTES, "k").value == {"text": "In Bonn"}  # type: ignore[union-attr]
    assert len(ben.list()) == 0


BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("compaction", {"day": "yesterday"}, "expected a day"),
    ("compaction", {"first_position": 9}, "must not be after last_position"),
    ("compaction", {"last_position": 99}, "is compacted beyond its turn_count"),
    ("compaction", {"thread_id": "nowhere"}, "is compacted beyond its turn_count"),
    ("compaction", {"summary": "x" * 1_201}, "1201 characters"),
    ("thread_view", {"revision": 10_000}, "a thread has seen revision 10000"),
    ("checkpoint", {"state": "{broken"}, "state: is not JSON"),
    ("checkpoint", {"state": {"a": 1}}, "expected JSON as text, got dict"),
    ("checkpoint", {"state": "NaN"}, "is not JSON"),
    ("checkpoint", {"state": '"\\ud800"'}, "lone surrogates"),
    ("checkpoint", {"state": "[" * 300 + "]" * 300}, "nested more than 200 deep"),
    ("checkpoint", {"version": 0}, "version: 0 is not"),
    ("graph_checkpoint", {"data": "§"}, "data: is not base64"),
    ("graph_checkpoint", {"data": 5}, "expected base64 as text, got int"),
    ("graph_checkpoint", {"namespace": "n" * 1_900}, "bytes with all that belongs"),
    ("graph_checkpoint", {"checkpoint_id": ""}, "must not be empty"),
    ("graph_channel", {"format": None}, "format: must not be null"),
    ("graph_channel", {"colour": 1}, "unknown graph_channel field 'colour'"),
    ("graph_write", {"place": 10_001}, "place: 10001 is not"),
    ("graph_write", {"place": -1_001}, "place: -1001 is not"),
    ("store_entry", {"value": "[1]"}, "value: is not a JSON object"),
    ("store_entry", {"namespace": "a..b"}, "none of them empty"),
    ("store_entry", {"item_id": 999}, "entries of memories that are not there: 999"),
    ("store_entry", {"ttl_minutes": 5.0}, "goes together with expires_at"),
    ("store_entry", {"key": "k\x00"}, "NUL"),
]


@pytest.mark.requirement("transfer.bad-files")
def test_a_broken_line_is_refused_and_nothing_written(
    sqlite_url: str, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    memory = open_store(sqlite_url)
    *lines, end = exported(keep(memory))
    first = {kind: next(line for line in lines if line["kind"] == kind) for kind in KINDS}
    files = [
        ([{**line, **changes} if line is first[kind] else line for line in (*lines, end)], message)
        for kind, changes, message in BROKEN
    ]
    for again in first.values():
        files.append(([*lines, again, {**end, "rows": len(lines)}], "appears twice"))
    for number, (content, message) in enumerate(files):
        with pytest.raises(ImportFailed) as caught:
            memory.user("zoe").import_file(write(tmp_path / f"{number}.jsonl", content))
        assert message in str(caught.value)
    assert "zoe" not in memory.users()


NOT_IN_AN_EXPORT = {
    "api_keys",  # who gets a copy of the memories must not get the keys to them
    "grants",  # nor what their programs were allowed
    "grant_tokens",
    "webhooks",  # addresses and secrets; a copy must not send what the original sends
    "webhook_cursors",
    "webhook_deliveries",
    "kept_answers",  # for requests to this very store that come again
    "upstream_ids",  # that the endpoint behind this very service keeps
    "embedding_settings",  # which have a key, sealed by the secret of this installation
    "jobs",  # made again by what the import writes
    "upkeep",
    "checked_pairs",
    "item_index",  # derived
    "turn_index",
    "turn_pieces",
    "relations",
    "events",  # about this store
    "tallies",
}


@pytest.mark.requirement("transfer.round-trip")
def test_every_table_is_exported_or_left_out_on_purpose() -> None:
    exported_tables = {table.name for table in TABLE_OF_KIND.values()}
    assert {table.name for table in OWNED_TABLES} - exported_tables == NOT_IN_AN_EXPORT
    assert exported_tables & NOT_IN_AN_EXPORT == set()


@pytest.mark.requirement("erasure.no-trace")
def test_erasing_a_user_leaves_no_state(memory: Memory) -> None:
    keep(memory)
    keep(memory, "ben")
    removed = memory.erase_user("ana").removed
    for table in (*OWNED_TABLES, store_entries):
        if table.name in ("compactions", "checkpoints", "graph_channels", "store_entries"):
            assert removed[table.name] > 0
        with memory.database.read_all() as view:
            left = sa.select(sa.func.count()).where(table.c.user_id == "ana")
            assert view.connection.execute(left).scalar_one() == 0
    assert memory.user("ben").load_checkpoint("talk").version == 1
