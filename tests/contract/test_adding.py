"""Adding memories: fields, themes, duplicates, keys."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo import (
    InvalidValue,
    Memory,
    MemoryType,
    NewMemory,
    ScopeWidened,
    Source,
    Status,
    UnknownField,
    UserMemory,
)
from ricordo.testing import ManualClock
from ricordo.wiring import open_memory
from tests.contract.conftest import on_sqlite


@pytest.fixture
def ana(memory: Memory) -> UserMemory:
    return memory.user("ana")


@pytest.mark.requirement("items.fields")
def test_a_memory_keeps_every_field(ana: UserMemory, clock: ManualClock) -> None:
    kept = dict(
        theme="work",
        key="editor",
        source_context="said during set-up",
        thread_id="t1",
        message_id="m1",
        agent_id="helper",
        run_id="r1",
        actor_id="ana-laptop",
        role="user",
        confidence=55,
        importance=4,
        pinned=True,
        type=MemoryType.PREFERENCE,
        source=Source.TOOL_CALL,
        tags=("tools", "daily"),
    )
    times = dict(valid_from="2025-06-01T00:00:00+02:00", valid_to="2027-01-01")
    added = ana.add("  Uses a modal editor ", expires_at="2028-01-01", **times, **kept)
    item = ana.get(added.id)
    assert {name: getattr(item, name) for name in kept} == kept
    assert item.content == "Uses a modal editor"
    assert item.valid_from == datetime(2025, 5, 31, 22, tzinfo=UTC)
    assert item.valid_to == datetime(2027, 1, 1, tzinfo=UTC)
    assert item.created_at == item.updated_at == clock()
    assert item.to_dict()["expires_at"] == "2028-01-01T00:00:00.000000+00:00"


@pytest.mark.requirement("items.defaults")
@on_sqlite
def test_confidence_follows_the_source(ana: UserMemory) -> None:
    expected = {"tool_call": 95, "auto_discovery": 95, "user_explicit": 90}
    for source in Source:
        item = ana.get(ana.add(f"Has a cat: {source}", source=source).id)
        assert item.confidence == expected.get(source, 70)
        assert (item.importance, item.pinned, item.access_count) == (2, False, 0)
        assert item.status is Status.ACTIVE


@pytest.mark.requirement("items.theme-general")
@pytest.mark.requirement("items.theme-slug")
def test_a_theme_is_named_in_any_spelling(ana: UserMemory) -> None:
    for theme in (None, "", "   "):
        ana.add(f"Has a cat: {theme!r}", theme=theme)
    assert [(found.slug, found.active_count) for found in ana.themes()] == [("general", 3)]
    ana.add("Runs on Sundays", theme="Sport & Health")
    assert [item.theme for item in ana.list(theme="sport health")] == ["sport-health"]
    assert NewMemory.parse({"content": "x", "category": "Sport & Health"}).theme == "sport-health"


@pytest.mark.requirement("items.duplicate")
def test_the_same_text_is_not_written_twice(memory: Memory, ana: UserMemory) -> None:
    first = ana.add("Prefers tea", theme="drinks")
    revision = ana.revision()
    again = ana.add("  prefers\tTEA. ", theme="drinks")
    assert (again.id, again.duplicate) == (first.id, True)
    assert ana.revision() == revision
    assert not ana.add("Prefers tea", theme="food").duplicate
    assert not memory.user("ben").add("Prefers tea", theme="drinks").duplicate
    ana.archive(first.id)
    assert not ana.add("Prefers tea", theme="drinks").duplicate


@pytest.mark.requirement("items.key")
def test_a_key_is_updated_with_history(ana: UserMemory, clock: ManualClock) -> None:
    first = ana.add("Lives in Bekasi", key="home", theme="places", importance=4)
    before = clock()
    clock.advance(days=10)
    second = ana.add("Lives in Jakarta", key="home", theme="places")
    assert (second.id, second.updated) == (first.id, True)
    assert [item.content for item in ana.list(key="home")] == ["Lives in Jakarta"]
    assert ana.get(first.id).importance == 4
    assert [change.event for change in ana.history(first.id)] == ["ADD", "UPDATE"]
    assert [item.content for item in ana.list(as_of=before)] == ["Lives in Bekasi"]
    assert [item.content for item in ana.list(as_of=clock())] == ["Lives in Jakarta"]
    assert ana.add("Lives in Jakarta", key="home", theme="places").duplicate
    assert not ana.add("Lives in Jakarta", key="home", theme="other").updated


@pytest.mark.requirement("items.bulk")
def test_many_are_added_in_order(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.limits.WRITE_BATCH_ITEMS", 20)
    ana = memory.user("ana")
    texts = [f"Fact number {number}" for number in range(50)]
    added = ana.add_many([*texts, "fact NUMBER 7", {"content": "With a theme", "theme": "work"}])
    assert [one.id for one in added[:3]] == [1, 2, 3]
    assert (added[50].duplicate, added[50].id) == (True, added[7].id)
    assert ana.revision() == 51
    assert ana.get(added[-1].id).theme == "work"


BAD: list[Any] = [
    *({"content": content} for content in ("", "x" * 8_001, "a\x00b", "\ud800", 5)),
    {"content": "x", "colour": "red"},
    {"content": "x", "importance": 6},
    {"content": "x", "confidence": -1},
    {"content": "x", "pinned": "yes"},
    {"content": "x", "tags": ["y", ""]},
    {"content": "x", "tags": [str(n) for n in range(33)]},
    {"content": "x", "theme": "!!!"},
    {"content": "x", "key": "k" * 201},
    {"content": "x", "thread_id": "a\nb"},
    {"content": "x", "expires_at": "2020-01-01"},
    {"content": "x", "valid_from": datetime(2026, 1, 1)},
    {"content": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
    {"theme": "work"},
    7,
    None,
]


@pytest.mark.requirement("faults.nothing-half-written")
def test_one_bad_memory_stops_the_whole_batch(memory: Memory, ana: UserMemory) -> None:
    for bad in BAD:
        with pytest.raises((InvalidValue, UnknownField)):
            ana.add_many(["A good one", bad])
        assert (len(ana.list(status="any")), ana.revision(), memory.users()) == (0, 0, ()), bad


@pytest.mark.requirement("access.scope")
def test_the_scope_is_written_on_what_is_added(memory: Memory) -> None:
    helper = memory.user("ana", agent="helper", thread="t1").narrow(run="r1")
    item = helper.get(helper.add("Has a cat").id)
    assert (item.agent_id, item.thread_id, item.run_id) == ("helper", "t1", "r1")
    assert helper.history(item.id)[0].actor == "helper"
    with pytest.raises(ScopeWidened):
        helper.add("Has a dog", agent_id="other")
    with pytest.raises(ScopeWidened):
        helper.narrow(thread="t2")


@pytest.mark.requirement("items.expiry")
def test_the_text_of_an_expired_memory_can_be_added_again(
    ana: UserMemory, clock: ManualClock
) -> None:
    first = ana.add("In Paris this week", expires_at=clock() + timedelta(days=7))
    clock.advance(days=7)
    second = ana.add("In Paris this week")
    assert second.id != first.id
    assert not second.duplicate
    assert [change.event for change in ana.history(first.id)] == ["ADD", "TTL"]


@pytest.mark.requirement("items.bulk")
def test_a_batch_ends_like_single_adds(memory: Memory) -> None:
    together, singly = memory.user("together"), memory.user("singly")
    keys = (None, "a", "a", "b", None, "b", "a")
    texts = ("T", "T", "T2", "t.", "T2", "T", "T")
    drafts = [{"content": text, "key": key} for text, key in zip(texts, keys, strict=True)]
    outcomes = [together.add_many(drafts), [singly.add(**draft) for draft in drafts]]
    ended = [[(one.duplicate, one.updated) for one in outcome] for outcome in outcomes]
    assert ended[0] == ended[1]
    assert any(duplicate for duplicate, _ in ended[0])
    assert any(updated for _, updated in ended[0])
    shown = [
        sorted((item.key or "", item.content, item.status) for item in user.list(status="any"))
        for user in (together, singly)
    ]
    assert shown[0] == shown[1]


@pytest.mark.requirement("items.key")
def test_a_key_says_nothing_new_in_other_letters(ana: UserMemory) -> None:
    plain = ana.add("Lives in Oslo", thread_id="t1")
    keyed = ana.add("Lives in Oslo", key="home")  # takes over the text that had none
    assert (keyed.id, keyed.updated, ana.get(plain.id).key) == (plain.id, True, "home")
    assert ana.add("lives in  OSLO.", key="home", thread_id="t2").duplicate
    assert ana.add("Lives in Oslo", key="home", confidence=10).updated
    assert ana.get(plain.id).confidence == 10
    assert len(ana.list(status="any")) == 1
    ana.verify(plain.id)
    ana.add("Lives in Rome", key="home")
    assert ana.get(plain.id).last_verified_at is None  # the new text was not


@pytest.mark.requirement("items.key")
def test_a_key_is_not_updated_into_the_past(ana: UserMemory) -> None:
    ana.add("Lives in Oslo", key="home", valid_from="2024-01-01")
    with pytest.raises(InvalidValue, match="must not be before that of memory 1"):
        ana.add("Lives in Rome", key="home", valid_from="2020-01-01")
    with pytest.raises(InvalidValue, match="valid_to: must be later"):
        ana.add("Lives in Oslo", key="home", valid_from="2025-01-01", valid_to="2024-06-01")
    with pytest.raises(InvalidValue, match="valid_to: must be later"):
        ana.add("Has a job", key="job", valid_to="2024-06-01")
    assert ana.revision() == 1
    assert ana.add("Lives in Oslo", key="home", valid_to="2025-06-01").updated
    assert ana.add("Lives in Oslo", key="home", valid_from="2023-01-01").updated


@pytest.mark.requirement("faults.bad-input")
@on_sqlite
def test_odd_values_are_refused_by_name(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_BULK_ITEMS", 1_000)
    ana = memory.user("ana")
    calls: list[tuple[Callable[..., object], Any]] = [
        (ana.add_many, 5),
        (ana.add_many, "one"),
        (ana.add_many, itertools.repeat("again")),
        (ana.export, ""),
        (ana.export, None),
        (ana.import_file, "a\x00b"),
        (ana.changes, -1),
        (memory.retry_job, "1"),
        (open_memory, "postgresql://host:port/name"),
        (lambda after: memory.users(after=after), 5),
        (lambda after: memory.users(after=after), "a\x00"),
        (lambda state: memory.jobs(state=state), "lost"),
        (lambda ids: ana.merge(ids, "x"), 5),
        (lambda flag: ana.get(1, include_deleted=flag), "yes"),
        (lambda flag: ana.purge(before_time=flag), 1),
    ]
    for call, given_value in calls:
        with pytest.raises(InvalidValue):
            call(given_value)
    assert memory.users() == ()
