"""Adding memories: fields, themes, duplicates, keys."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import (
    InvalidValue,
    Memory,
    MemoryType,
    NewMemory,
    ScopeWidened,
    Source,
    Status,
    UnknownField,
)
from ricordo.testing.clock import ManualClock
from ricordo.wiring import open_memory


@pytest.mark.requirement("items.fields")
def test_a_memory_keeps_every_field(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    given = dict(
        theme="work",
        type="preference",
        key="editor",
        tags=["tools", "daily"],
        source="tool_call",
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
        valid_from="2025-06-01T00:00:00+02:00",
        valid_to="2027-01-01",
        expires_at="2028-01-01T00:00:00+00:00",
    )
    added = ana.add("  Uses a modal editor ", **given)
    item = ana.get(added.id)
    assert item.content == "Uses a modal editor"
    assert item.type is MemoryType.PREFERENCE
    assert item.source is Source.TOOL_CALL
    assert item.tags == ("tools", "daily")
    assert item.valid_from == datetime(2025, 5, 31, 22, tzinfo=UTC)
    assert item.valid_to == datetime(2027, 1, 1, tzinfo=UTC)
    assert item.created_at == item.updated_at == clock()
    shown = item.to_dict()
    for name in (
        "theme",
        "key",
        "source_context",
        "thread_id",
        "message_id",
        "agent_id",
        "run_id",
        "actor_id",
        "role",
        "confidence",
        "importance",
        "pinned",
        "expires_at",
    ):
        expected = given[name]
        assert shown[name] == (
            expected if name != "expires_at" else "2028-01-01T00:00:00.000000+00:00"
        )


@pytest.mark.requirement("items.defaults")
@pytest.mark.parametrize(
    ("source", "confidence"),
    [
        ("tool_call", 95),
        ("auto_discovery", 95),
        ("user_explicit", 90),
        ("conversation", 70),
        ("system", 70),
        ("import", 70),
        ("file", 70),
    ],
)
def test_confidence_follows_the_source(memory: Memory, source: str, confidence: int) -> None:
    ana = memory.user("ana")
    item = ana.get(ana.add("Has a cat", source=source).id)
    assert (item.confidence, item.importance, item.pinned) == (confidence, 2, False)
    assert item.status is Status.ACTIVE
    assert item.access_count == 0


@pytest.mark.requirement("items.theme-general")
@pytest.mark.parametrize("theme", [None, "", "   "])
def test_without_a_theme_it_is_general(memory: Memory, theme: str | None) -> None:
    ana = memory.user("ana")
    assert ana.get(ana.add("Has a cat", theme=theme).id).theme == "general"
    assert [found.slug for found in ana.themes()] == ["general"]


@pytest.mark.requirement("items.theme-slug")
def test_a_theme_is_named_in_any_spelling(memory: Memory) -> None:
    ana = memory.user("ana")
    ana.add("Runs on Sundays", theme="Sport & Health")
    assert [item.theme for item in ana.list(theme="sport health")] == ["sport-health"]
    assert NewMemory.parse({"content": "x", "category": "Sport & Health"}).theme == "sport-health"


@pytest.mark.requirement("items.duplicate")
def test_the_same_text_is_not_written_twice(memory: Memory) -> None:
    ana = memory.user("ana")
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
def test_a_key_is_updated_with_history(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
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


@pytest.mark.requirement("items.key")
def test_a_key_takes_over_the_same_text_without_one(memory: Memory) -> None:
    ana = memory.user("ana")
    plain = ana.add("Lives in Bekasi")
    keyed = ana.add("Lives in Bekasi", key="home")
    assert (keyed.id, keyed.updated) == (plain.id, True)
    assert ana.get(plain.id).key == "home"
    assert not ana.add("Lives in Bekasi", key="office").duplicate


@pytest.mark.requirement("items.bulk")
def test_many_are_added_in_order(memory: Memory) -> None:
    ana = memory.user("ana")
    texts = [f"Fact number {number}" for number in range(2_500)]
    added = ana.add_many([*texts, "fact NUMBER 7", {"content": "With a theme", "theme": "work"}])
    assert [one.id for one in added[:3]] == [1, 2, 3]
    assert (added[2_500].duplicate, added[2_500].id) == (True, added[7].id)
    assert ana.revision() == 2_501
    assert ana.get(added[-1].id).theme == "work"


@pytest.mark.requirement("items.bulk")
def test_a_batch_may_meet_its_own_keys(memory: Memory) -> None:
    ana = memory.user("ana")
    added = ana.add_many(
        [
            {"content": "Bekasi", "key": "home"},
            {"content": "Jakarta", "key": "home"},
            "Likes tea",
            {"content": "Likes tea", "key": "drink"},
        ]
    )
    assert added[0].id == added[1].id
    assert added[2].id == added[3].id
    assert {item.key: item.content for item in ana.list()} == {
        "home": "Jakarta",
        "drink": "Likes tea",
    }


@pytest.mark.requirement("faults.nothing-half-written")
@pytest.mark.parametrize(
    "bad",
    [
        {"content": ""},
        {"content": "x" * 8_001},
        {"content": "a\x00b"},
        {"content": "\ud800"},
        {"content": 5},
        {"content": "x", "colour": "red"},
        {"content": "x", "type": "dream"},
        {"content": "x", "importance": 6},
        {"content": "x", "importance": True},
        {"content": "x", "confidence": -1},
        {"content": "x", "pinned": "yes"},
        {"content": "x", "tags": "a"},
        {"content": "x", "tags": ["y"] * 1 + [""]},
        {"content": "x", "tags": [str(n) for n in range(33)]},
        {"content": "x", "theme": "!!!"},
        {"content": "x", "theme": "t" * 65},
        {"content": "x", "key": "k" * 201},
        {"content": "x", "thread_id": " t"},
        {"content": "x", "thread_id": "a\nb"},
        {"content": "x", "expires_at": "2020-01-01"},
        {"content": "x", "expires_at": "soon"},
        {"content": "x", "valid_from": datetime(2026, 1, 1)},
        {"content": "x", "valid_from": "2026-02-01", "valid_to": "2026-01-01"},
        {"theme": "work"},
        7,
        None,
    ],
)
def test_one_bad_memory_stops_the_whole_batch(memory: Memory, bad: object) -> None:
    ana = memory.user("ana")
    with pytest.raises((InvalidValue, UnknownField)):
        ana.add_many(["A good one", bad])  # type: ignore[list-item]
    assert len(ana.list(status="any")) == 0
    assert ana.revision() == 0
    assert memory.users() == ()


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
    memory: Memory, clock: ManualClock
) -> None:
    ana = memory.user("ana")
    first = ana.add("In Paris this week", expires_at=clock() + timedelta(days=7))
    clock.advance(days=7)
    second = ana.add("In Paris this week")
    assert second.id != first.id
    assert not second.duplicate
    assert [change.event for change in ana.history(first.id)] == ["ADD", "TTL"]


@pytest.mark.requirement("items.bulk")
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    drafts=st.lists(
        st.fixed_dictionaries(
            {"content": st.sampled_from(["T", "T2", "t."])},
            optional={"key": st.sampled_from(["a", "b"])},
        ),
        min_size=1,
        max_size=7,
    )
)
def test_a_batch_ends_like_single_adds(drafts: list[dict[str, str]]) -> None:
    with open_memory(":memory:", run_jobs=False) as memory:
        together, singly = memory.user("together"), memory.user("singly")
        outcomes = together.add_many(drafts)
        expected = [singly.add(**draft) for draft in drafts]
        assert [(one.duplicate, one.updated) for one in outcomes] == [
            (one.duplicate, one.updated) for one in expected
        ]
        shown = [
            sorted((item.key or "", item.content, item.status) for item in user.list(status="any"))
            for user in (together, singly)
        ]
        assert shown[0] == shown[1]


@pytest.mark.requirement("items.key")
def test_a_key_says_nothing_new_in_other_letters(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Lives in Oslo", key="home", thread_id="t1").id
    assert ana.add("lives in  OSLO.", key="home", thread_id="t2").duplicate
    assert ana.add("Lives in Oslo", key="home", confidence=10).updated
    assert ana.get(item_id).confidence == 10
    assert len(ana.list(status="any")) == 1


@pytest.mark.requirement("items.key")
def test_a_new_text_was_not_verified(memory: Memory) -> None:
    ana = memory.user("ana")
    item_id = ana.add("Lives in Oslo", key="home").id
    ana.verify(item_id)
    ana.add("Lives in Rome", key="home")
    assert ana.get(item_id).last_verified_at is None


@pytest.mark.requirement("items.key")
def test_a_key_is_not_updated_into_the_past(memory: Memory) -> None:
    ana = memory.user("ana")
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
@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.user("ana").add_many(5),
        lambda memory: memory.user("ana").add_many("one"),
        lambda memory: memory.user("ana").add_many(itertools.repeat("again")),
        lambda memory: memory.user("ana").merge(5, "x"),
        lambda memory: memory.user("ana").get(1, include_deleted="yes"),
        lambda memory: memory.user("ana").export(""),
        lambda memory: memory.user("ana").export(None),
        lambda memory: memory.user("ana").import_file("a\x00b"),
        lambda memory: memory.user("ana").purge(before_time=1),
        lambda memory: memory.user("ana").changes(since=-1),
        lambda memory: memory.users(after=5),
        lambda memory: memory.users(after="a\x00"),
        lambda memory: memory.jobs(state="lost"),
        lambda memory: memory.retry_job("1"),
        lambda memory: open_memory("postgresql://host:port/name"),
    ],
)
def test_odd_values_are_refused_by_name(
    memory: Memory, call: Callable[[Memory], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.limits.MAX_BULK_ITEMS", 1_000)
    with pytest.raises(InvalidValue):
        call(memory)
    assert memory.users() == ()
