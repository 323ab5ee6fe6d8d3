"""Entries of the store as memories of their user: how they live, end and are kept apart."""

import gc
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from langgraph.store.base import InvalidNamespaceError, PutOp

from ricordo import InvalidValue, Memory, UnknownField, UserMemory
from ricordo.agent_state.entries import StoreEntries
from ricordo.integrations.langgraph import RicordoStore
from ricordo.storage.consistency import find_inconsistencies
from ricordo.storage.tables import store_entries
from ricordo.testing import ManualClock
from tests.integrations.test_store_contract import names
from tests.support.sharing import share

pytestmark = pytest.mark.requirement("checkpoints.store")

NOTES = ("notes", "tea")


@pytest.fixture
def store(memory: Memory) -> RicordoStore:
    return RicordoStore(memory.user("ana"))


def stored_rows(memory: Memory) -> int:
    with memory.database.read_all() as view:
        counted = sa.select(sa.func.count()).select_from(store_entries)
        return view.connection.execute(counted).scalar_one()


def value_of(store: RicordoStore, key: str = "k") -> dict[str, Any] | None:
    found = store.get(NOTES, key)
    return None if found is None else found.value


def test_an_entry_is_a_memory(store: RicordoStore, memory: Memory) -> None:
    store.put(NOTES, "k", {"text": "Drinks green tea", "n": 3}, index=["text"])
    (item,) = memory.user("ana").list()
    assert (item.content, item.theme, item.source) == ("Drinks green tea", "notes-tea", "tool_call")
    assert (item.pinned, item.tags) == (True, ("langgraph",))
    assert memory.user("ana").search("green tea")[0].id == item.id
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_a_whole_value_is_remembered_as_readable_text(store: RicordoStore, memory: Memory) -> None:
    store.put(NOTES, "one", {"memory": "Likes jazz"})
    store.put(NOTES, "many", {"a": {"b": "x"}, "list": ["y", {"c": 2}], "none": None})
    store.put(NOTES, "empty", {})
    store.put(NOTES, "long", {"text": "word " * 4_000})
    store.put(NOTES, "nul", {"text": "a\x00b"})
    contents = {item.content for item in memory.user("ana").list()}
    assert {"Likes jazz", "a.b: x\nlist: y\nlist.c: 2", "a b"} <= contents
    assert max(map(len, contents)) == 7_999
    assert len(contents) == 4
    assert value_of(store, "nul") == {"text": "a\x00b"}
    assert value_of(store, "empty") == {}


def test_an_update_keeps_history(store: RicordoStore, memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks tea"}, ttl=1)
    made = store.get(NOTES, "k")
    store.put(NOTES, "other", {"n": 1}, index=False)
    clock.advance(seconds=10)
    store.put(NOTES, "k", {"text": "Drinks coffee"}, ttl=120)
    changed = store.get(NOTES, "k")
    assert made is not None and changed is not None
    assert changed.created_at == made.created_at == made.updated_at
    assert changed.updated_at > made.updated_at
    assert [one.key for one in store.search(())] == ["k", "other"]  # the latest changed first
    (item,) = ana.list()
    assert [change.event for change in ana.history(item.id)] == ["ADD", "UPDATE"]
    assert ana.undo(item.id).content == "Drinks tea"
    clock.advance(minutes=30)
    memory.run_jobs()
    assert store.get(NOTES, "k") is not None  # for the time that was given last


def test_a_deleted_entry_is_forgotten(store: RicordoStore, memory: Memory) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks tea"})
    (item,) = ana.list()
    store.delete(NOTES, "k")
    assert len(ana.list()) == 0
    assert [one.id for one in ana.list(status="deleted")] == [item.id]
    assert stored_rows(memory) == 0
    ana.restore(item.id)
    assert value_of(store) is None


def test_what_a_person_forgets_takes_its_entry_along(store: RicordoStore, memory: Memory) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks tea"})
    store.put(("other",), "k", {"text": "Has a dog"})
    item = ana.list(theme="notes-tea").items[0]
    ana.forget(item.id)
    assert value_of(store) is None
    assert names(store.search(())) == [(("other",), "k")]
    assert names(store.search((), query="tea")) == [(("other",), "k")]
    assert store.list_namespaces() == [("other",)]
    ana.restore(item.id)
    assert value_of(store) == {"text": "Drinks tea"}
    ana.forget(item.id)
    ana.purge(before_time=True)
    assert value_of(store) is None
    assert stored_rows(memory) == 1
    store.put(NOTES, "k", {"text": "Drinks tea again"})
    assert value_of(store) == {"text": "Drinks tea again"}


def test_an_entry_never_takes_over_what_a_person_said(
    store: RicordoStore, memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
    said = ana.add("Drinks green tea", theme="notes-tea", tags=["mine"])
    store.put(NOTES, "k", {"text": "Drinks green tea"}, ttl=10)
    store.put(NOTES, "other", {"text": "Drinks green tea"})
    store.delete(NOTES, "other")
    clock.advance(minutes=11)
    memory.run_jobs()
    (left,) = ana.list()
    assert (left.id, left.tags, left.key, left.expires_at) == (said.id, ("mine",), None, None)


def test_merged_and_archived_entries_can_be_got_but_not_found(
    store: RicordoStore, memory: Memory
) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks tea"})
    store.put(NOTES, "aside", {"text": "Drinks tea with milk"})
    first, second = ana.list(sort="id", order="asc")
    ana.merge([first.id, ana.add("Drinks coffee").id], "Drinks this and that")
    ana.archive(second.id)
    assert value_of(store) == {"text": "Drinks tea"}
    assert value_of(store, "aside") == {"text": "Drinks tea with milk"}
    assert store.search((), query="drinks tea") == []
    assert len(store.search(())) == 2
    store.put(NOTES, "k", {"text": "Drinks mate"})
    assert [one.key for one in store.search((), query="drinks")] == ["k"]


def correct(user: UserMemory, old: str, new: str, theme: str) -> None:
    """What a person does, also by an edit of MEMORY.md, to a memory that says something old."""
    (item,) = user.list(contains=old)
    user.add(new, theme=theme, supersedes=item.id)


@pytest.mark.parametrize("theme", ["notes-tea", "elsewhere"])
def test_an_entry_follows_its_memory_that_a_person_changes_or_moves(
    store: RicordoStore, memory: Memory, clock: ManualClock, theme: str
) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks green tea"}, ttl=10)
    correct(ana, "green", "Drinks rooibos", theme)
    (found,) = store.search(NOTES, query="rooibos")
    assert found.value == {"text": "Drinks green tea"}
    clock.advance(minutes=8)
    assert value_of(store) is not None  # which begins its time anew, and that of its memory
    clock.advance(minutes=8)
    assert [item.content for item in ana.list()] == ["Drinks rooibos"]
    store.put(NOTES, "k", {"text": "Drinks mate"})
    assert [(item.content, item.theme) for item in ana.list()] == [("Drinks mate", theme)]
    (moved,) = ana.list()
    ana.forget(moved.id)
    assert value_of(store) is None
    ana.restore(moved.id)
    store.delete(NOTES, "k")
    assert len(ana.list()) == 0


def test_an_entry_follows_when_a_change_of_its_memory_is_undone(
    store: RicordoStore, memory: Memory
) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks green tea"})
    correct(ana, "green", "Drinks rooibos", "notes-tea")
    (changed,) = ana.list()
    ana.undo(changed.id)
    assert [one.key for one in store.search(NOTES, query="green tea")] == ["k"]
    ana.forget(changed.id)
    ana.purge(before_time=True)
    assert value_of(store) == {"text": "Drinks green tea"}
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def test_an_entry_that_is_no_longer_indexed_is_forgotten(
    store: RicordoStore, memory: Memory
) -> None:
    store.put(NOTES, "k", {"text": "Drinks tea"})
    store.put(NOTES, "k", {"text": "Drinks tea"}, index=False)
    assert len(memory.user("ana").list()) == 0
    assert value_of(store) == {"text": "Drinks tea"}
    store.put(NOTES, "k", {"text": "Drinks tea"}, index=["text"])
    assert len(memory.user("ana").list()) == 1
    plain = RicordoStore(memory.user("ben"), index=False)
    plain.put(NOTES, "k", {"text": "Drinks tea"})
    assert len(memory.user("ben").list()) == 0


@pytest.mark.both_databases
def test_two_users_never_meet(memory: Memory) -> None:
    ana, ben = (RicordoStore(memory.user(name)) for name in ("ana", "ben"))
    ana.put(NOTES, "k", {"text": "Drinks green tea"})
    share(memory.user("ana"), memory.user("ana").list().items[0].id, "ben")
    memory.global_memories().add("Green tea for everyone", tags=["langgraph"])
    assert ben.get(NOTES, "k") is None
    assert ben.search(()) == ben.search((), query="green tea") == []
    assert ben.list_namespaces() == []
    ben.put(NOTES, "k", {"text": "Has a dog"})
    ben.delete(NOTES, "k")
    assert ana.get(NOTES, "k") is not None


def test_upkeep_leaves_entries_alone(
    store: RicordoStore, memory: Memory, clock: ManualClock
) -> None:
    store.put(NOTES, "k", {"text": "Drinks tea"})
    store.put(NOTES, "k2", {"text": "Drinks tea"})
    clock.advance(days=100)
    memory.user("ana").upkeep()
    memory.user("ana").consolidate()
    memory.run_jobs()
    assert len(store.search((), query="tea")) == 2


@pytest.mark.parametrize("index", [None, False])
def test_what_has_expired_is_gone_at_once_and_removed_later(
    store: RicordoStore, memory: Memory, clock: ManualClock, index: Any
) -> None:
    store.put(NOTES, "k", {"text": "Drinks tea"}, index=index, ttl=10)
    store.put(NOTES, "kept", {"text": "Has a dog"}, index=index)
    clock.advance(minutes=9)
    assert store.get(NOTES, "k", refresh_ttl=False) is not None
    clock.advance(minutes=1)
    assert value_of(store) is None
    assert [one.key for one in store.search(())] == ["kept"]
    assert "k" not in [one.key for one in store.search((), query="tea")]
    assert stored_rows(memory) == 2
    memory.run_jobs()
    assert stored_rows(memory) == 1
    assert len(memory.user("ana").list()) == (0 if index is False else 1)


@pytest.mark.parametrize("index", [None, False])
def test_reading_begins_the_time_anew(
    store: RicordoStore, memory: Memory, clock: ManualClock, index: Any
) -> None:
    store.put(NOTES, "k", {"text": "Drinks tea"}, index=index, ttl=10)
    revision = memory.user("ana").revision()
    for _ in range(3):
        clock.advance(minutes=8)
        assert value_of(store) is not None
        memory.run_jobs()
    clock.advance(minutes=8)
    assert len(store.search(NOTES)) == 1
    clock.advance(minutes=8)
    if index is None:
        assert len(store.search(NOTES, query="tea")) == 1
        clock.advance(minutes=8)
        assert len(memory.user("ana").list()) == 1
    assert store.get(NOTES, "k", refresh_ttl=False) is not None
    assert memory.user("ana").revision() == revision
    clock.advance(minutes=3)
    assert value_of(store) is None


def test_a_read_never_cuts_the_time_that_a_put_gave_meanwhile(
    store: RicordoStore, memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
    store.put(NOTES, "k", {"text": "Drinks tea"}, ttl=1)

    def put_meanwhile(value: Any) -> bool:
        store.put(NOTES, "k", {"text": "Drinks mate"}, ttl=60)
        return bool(value)

    entries = StoreEntries(ana.database, ana.recall, ana.scope)
    read = entries.listed("", limit=1, offset=0, matches=put_meanwhile, prolongs=True)
    assert [entry.value for entry in read] == [{"text": "Drinks tea"}]
    clock.advance(minutes=30)
    assert store.get(NOTES, "k", refresh_ttl=False) is not None


def test_a_put_sets_the_time_anew_or_for_ever(
    store: RicordoStore, memory: Memory, clock: ManualClock
) -> None:
    store.put(NOTES, "k", {"text": "Drinks tea"}, ttl=10)
    revision = memory.user("ana").revision()
    clock.advance(minutes=8)
    store.put(NOTES, "k", {"text": "Drinks tea"}, ttl=10)
    clock.advance(minutes=8)
    store.put(NOTES, "k", {"text": "Drinks tea"})
    clock.advance(days=30)
    memory.run_jobs()
    assert value_of(store) == {"text": "Drinks tea"}
    assert len(store.search((), query="tea")) == 1
    assert memory.user("ana").list().items[0].expires_at is None
    store.put(NOTES, "k", {"text": "Drinks tea"}, ttl=10)
    assert memory.user("ana").revision() == revision  # a new time alone is no news
    clock.advance(minutes=10)
    memory.run_jobs()
    assert stored_rows(memory) == 0
    assert len(memory.user("ana").list(status="deleted")) == 1


def test_defaults_of_the_store(memory: Memory, clock: ManualClock) -> None:
    store = RicordoStore(memory.user("ana"), ttl={"default_ttl": 10, "refresh_on_read": False})
    assert store.supports_ttl
    store.put(NOTES, "k", {"text": "Drinks tea"})
    store.put(NOTES, "ever", {"text": "Has a dog"}, ttl=None)
    clock.advance(minutes=8)
    assert value_of(store) is not None
    clock.advance(minutes=2)
    assert value_of(store) is None
    assert value_of(store, "ever") is not None
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0
    assert stored_rows(memory) == 1


def test_values_that_are_not_allowed(store: RicordoStore) -> None:
    wrong: list[tuple[Any, str]] = [
        ({"a": float("nan")}, "is not JSON"),
        ({"a": object()}, "is not JSON"),
        ({"a": {1: 2}}, "key 1 is not text"),
        ({"a": "\ud800"}, "lone surrogates"),
        ([1], "expected a mapping, got list"),
        ({"a": "x" * 5_000_000}, "bytes as JSON; allowed: at most 4194304"),
    ]
    for value, message in wrong:
        with pytest.raises(InvalidValue, match=message):
            store.batch([PutOp(NOTES, "good", {"a": 1}), PutOp(NOTES, "bad", value)])
    assert store.search(()) == []


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda one: one.put(("a",) * 33, "k", {}), "33 labels; allowed: 1 to 32"),
    (lambda one: one.put(("a" * 501,), "k", {}), "501 characters"),
    (lambda one: one.put(NOTES, "k" * 501, {}), "501 characters"),
    (lambda one: one.put(("語" * 400,), "語" * 500, {}), "bytes with all that belongs"),
    (lambda one: one.put(NOTES, "k\x00", {}), "NUL"),
    (lambda one: one.put(("a\x00",), "k", {}), "NUL"),
    (lambda one: one.put(NOTES, "k", {}, ttl=0), "more than 0 minutes"),
    (lambda one: one.put(NOTES, "k", {}, ttl=-1), "is not a number"),
    (lambda one: one.put(NOTES, "k", {}, index="text"), "a list of paths"),
    (lambda one: one.put(NOTES, "k", {}, index=5), "a list of paths"),
    (lambda one: one.search((), filter={"a": {"$in": [1]}}), r"unknown operator '\$in'"),
    (lambda one: one.search((), filter=["a"]), "filter: expected a mapping, got list"),
    (lambda one: one.search(("\ud800",)), "lone surrogates"),
    (lambda one: one.search(("\ud800",), query="tea"), "lone surrogates"),
    (lambda one: one.search((), limit=-1), "limit: -1"),
    (lambda one: one.search((), offset=-1), "offset: -1"),
    (lambda one: one.search((), query="x" * 1_000_001), "1000001 characters"),
    (lambda one: one.batch([PutOp((), "k", {})]), "0 labels"),
    (lambda one: one.batch(["get"]), "str is no operation"),
    (lambda one: one.list_namespaces(max_depth=0), "max_depth: 0"),
]


def test_calls_and_options_that_are_not_allowed(store: RicordoStore, memory: Memory) -> None:
    for call, message in REFUSED:
        with pytest.raises((InvalidValue, InvalidNamespaceError), match=message):
            call(store)
    ana = memory.user("ana")
    with pytest.raises(UnknownField, match="sweep_interval_minutes"):
        RicordoStore(ana, ttl={"sweep_interval_minutes": 5})
    with pytest.raises(InvalidValue, match="never returned"):
        RicordoStore(ana, ttl={"omit_expired": False})
    with pytest.raises(InvalidValue, match="default_ttl"):
        RicordoStore(ana, ttl={"default_ttl": 0})


@pytest.mark.both_databases
def test_texts_and_numbers_are_ordered_among_themselves(store: RicordoStore) -> None:
    store.put(NOTES, "text", {"at": "2026-05-01"})
    store.put(NOTES, "number", {"at": 5})
    store.put(NOTES, "none", {"at": None})
    assert [one.key for one in store.search((), filter={"at": {"$gt": "2026-01"}})] == ["text"]
    assert [one.key for one in store.search((), filter={"at": {"$lt": 9}})] == ["number"]


@pytest.mark.slow
def test_a_filtered_search_that_stops_early_leaves_no_cursor_open(store: RicordoStore) -> None:
    store.batch([PutOp(NOTES, str(number), {"n": 1}, index=False) for number in range(450)])
    assert len(store.search(NOTES, filter={"n": 1}, limit=2)) == 2
    gc.collect()  # what is still open warns, which is an error here


def test_many_entries_in_one_batch(store: RicordoStore, memory: Memory) -> None:
    store.batch([PutOp(("many",), f"k{n}", {"text": f"entry {n}"}) for n in range(300)])
    assert len(store.search(("many",), limit=1_000)) == 300
    assert memory.user("ana").revision() == 300
    assert names(store.search(("many",), query="entry 217", limit=1)) == [(("many",), "k217")]
    with pytest.raises(InvalidValue, match="more than 1000 entries"):
        store.batch([PutOp(("many",), f"k{n}", {"n": n}) for n in range(1_001)])
