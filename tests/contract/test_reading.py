"""Reading: one memory, filters, order, pages, themes."""

from datetime import timedelta

import pytest

from ricordo import (
    InvalidCursor,
    InvalidValue,
    ItemFilter,
    Memory,
    MemoryNotFound,
    ThemeNotFound,
    UnknownField,
    UserMemory,
)
from ricordo.model.filters import SortColumn
from ricordo.testing.clock import ManualClock


def contents(user: UserMemory, **filters: object) -> list[str]:
    return [item.content for item in user.list(**filters)]  # type: ignore[arg-type]


@pytest.fixture
def ana(memory: Memory, clock: ManualClock) -> UserMemory:
    """Five memories, a day apart, that differ in every way a filter can see."""
    ana = memory.user("ana")
    given = [
        dict(content="Prefers tea", theme="drinks", type="preference", tags=["hot", "daily"]),
        dict(content="Allergic to nuts", theme="health", importance=5, pinned=True, key="allergy"),
        dict(
            content="Works at a café",
            theme="work",
            source="conversation",
            thread_id="t1",
            source_context="over lunch",
        ),
        dict(content="Answer in German", type="instruction", agent_id="helper", run_id="r1"),
        dict(
            content="Has 100% of_it",
            tags=["daily"],
            role="user",
            actor_id="phone",
            message_id="m1",
            confidence=40,
        ),
    ]
    for one in given:
        ana.add(**one)  # type: ignore[arg-type]
        clock.advance(days=1)
    return ana


@pytest.mark.requirement("items.list-filters")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (dict(theme="Drinks"), ["Prefers tea"]),
        (dict(category="drinks"), ["Prefers tea"]),
        (dict(theme=["drinks", "work"]), ["Works at a café", "Prefers tea"]),
        (dict(types="preference"), ["Prefers tea"]),
        (dict(type=["preference", "instruction"]), ["Answer in German", "Prefers tea"]),
        (dict(tags=["daily"]), ["Has 100% of_it", "Prefers tea"]),
        (dict(tags=["daily", "hot"]), ["Prefers tea"]),
        (dict(tags="cold"), []),
        (dict(key="allergy"), ["Allergic to nuts"]),
        (dict(sources="conversation"), ["Works at a café"]),
        (dict(contains="CAFE"), ["Works at a café"]),
        (dict(contains="100%"), ["Has 100% of_it"]),
        (dict(contains="f_i"), ["Has 100% of_it"]),
        (dict(contains="%"), ["Has 100% of_it"]),
        (dict(contains="a\\"), []),
        (dict(thread_id="t1"), ["Works at a café"]),
        (dict(source_context="over lunch"), ["Works at a café"]),
        (dict(agent_id="helper"), ["Answer in German"]),
        (dict(run_id="r1"), ["Answer in German"]),
        (dict(role="user"), ["Has 100% of_it"]),
        (dict(actor_id="phone"), ["Has 100% of_it"]),
        (dict(message_id="m1"), ["Has 100% of_it"]),
        (dict(pinned=True), ["Allergic to nuts"]),
        (dict(importance_min=3), ["Allergic to nuts"]),
        (dict(importance_max=1), []),
        (dict(confidence_min=71, types="fact"), ["Allergic to nuts"]),
        (dict(created_after="2026-01-05"), ["Has 100% of_it"]),
        (dict(created_before="2026-01-02"), ["Prefers tea"]),
        (dict(updated_after="2026-01-04", updated_before="2026-01-05"), ["Answer in German"]),
        (dict(status="archived"), []),
        (dict(theme=None, contains=None, pinned=None, tags=["hot"]), ["Prefers tea"]),
    ],
)
def test_each_filter(ana: UserMemory, filters: dict[str, object], expected: list[str]) -> None:
    assert contents(ana, **filters) == expected


@pytest.mark.requirement("faults.unknown-filter")
@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (dict(colour="red"), "unknown filter 'colour'; allowed: "),
        (dict(user_id="ben"), "unknown filter 'user_id'"),
        (dict(status="gone"), "is not one of: active, archived, superseded, deleted, any"),
        (dict(types=[]), "0 values; allowed: 1 to 100"),
        (dict(types="dream"), "'dream' is not one of"),
        (dict(theme=["a"] * 101), "101 values"),
        (dict(importance_min=0), "is not a whole number from 1 to 5"),
        (dict(pinned="yes"), "is not true or false"),
        (dict(created_after="yesterday"), "expected an ISO 8601 time"),
        (dict(contains="x" * 1_001), "at most 1000"),
        (dict(contains="\u0301"), "no character that can be searched"),
        (dict(thread_id="a\x00"), "NUL"),
        (dict(type="fact", types="fact"), "given twice"),
        (dict(limit=0), "limit: 0 is not a whole number from 1 to 1000"),
        (dict(limit=1_001), "limit"),
        (dict(limit="5"), "limit"),
        (dict(sort="mood"), "sort: 'mood' is not one of"),
        (dict(order="up"), "order: 'up' is not one of: asc, desc"),
    ],
)
def test_a_wrong_filter_is_named(ana: UserMemory, filters: dict[str, object], said: str) -> None:
    with pytest.raises((UnknownField, InvalidValue)) as caught:
        contents(ana, **filters)
    assert said in str(caught.value)


@pytest.mark.requirement("items.list-sort")
@pytest.mark.parametrize("column", list(SortColumn))
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_put_together_are_the_whole_list(
    ana: UserMemory, column: SortColumn, order: str
) -> None:
    whole = ana.list(sort=column, order=order).items
    values = [getattr(item, column) for item in whole]
    present = [value for value in values if value is not None]
    assert present == sorted(present, reverse=order == "desc")
    assert values == present + [None] * (len(values) - len(present))
    paged = []
    cursor = None
    while True:
        page = ana.list(sort=column, order=order, limit=2, cursor=cursor)
        paged += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert tuple(paged) == whole
    assert len(whole) == 5


@pytest.mark.requirement("items.list-cursor")
def test_a_cursor_belongs_to_its_order(ana: UserMemory) -> None:
    cursor = ana.list(limit=2).next_cursor
    assert cursor is not None
    for wrong in (
        dict(cursor=cursor, sort="theme"),
        dict(cursor=cursor, order="asc"),
        dict(cursor="rubbish!"),
        dict(cursor="e30"),
        dict(cursor=cursor[:-4]),
        dict(cursor="x" * 20_000),
        dict(cursor="é"),
    ):
        with pytest.raises(InvalidCursor):
            ana.list(**wrong)  # type: ignore[arg-type]


@pytest.mark.requirement("items.get")
def test_unknown_and_foreign_ids_answer_the_same(memory: Memory, ana: UserMemory) -> None:
    ben = memory.user("ben")
    own = ana.list().items[0].id
    messages = []
    for item_id in (own, 999_999):
        with pytest.raises(MemoryNotFound) as caught:
            ben.get(item_id)
        messages.append(str(caught.value).replace(str(item_id), "N"))
    assert messages[0] == messages[1]


@pytest.mark.requirement("items.get")
@pytest.mark.parametrize("item_id", [0, -1, 2**63, True, "1", 1.0, None])
def test_an_id_is_a_positive_number(ana: UserMemory, item_id: object) -> None:
    with pytest.raises(InvalidValue, match="id: .* is not a whole number from 1 to"):
        ana.get(item_id)  # type: ignore[arg-type]


@pytest.mark.requirement("items.expiry")
def test_an_expired_memory_is_gone_at_once(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    item_id = ana.add("In Paris", key="trip", expires_at=clock() + timedelta(hours=1)).id
    clock.advance(minutes=59)
    assert ana.get(item_id).content == "In Paris"
    clock.advance(minutes=1)
    with pytest.raises(MemoryNotFound):
        ana.get(item_id)
    assert contents(ana, status="any") == []
    assert [theme.active_count for theme in ana.themes()] == [0]
    with pytest.raises(MemoryNotFound):
        ana.forget(key="trip")


@pytest.mark.requirement("items.validity")
def test_as_of_answers_from_what_was_valid_then(memory: Memory, clock: ManualClock) -> None:
    ana = memory.user("ana")
    old = ana.add("Lives in Bekasi", valid_from="2020-01-01")
    new = ana.add("Lives in Jakarta", valid_from="2024-06-01", supersedes=old.id)
    ana.add("Studies abroad", valid_from="2021-01-01", valid_to="2022-01-01")
    assert contents(ana, as_of="2019-12-31") == []
    assert contents(ana, as_of="2020-01-01") == ["Lives in Bekasi"]
    assert contents(ana, as_of="2021-06-01") == ["Studies abroad", "Lives in Bekasi"]
    assert contents(ana, as_of="2024-06-01") == ["Lives in Jakarta"]
    assert ana.get(old.id).valid_to == ana.get(new.id).valid_from


@pytest.mark.requirement("items.themes")
def test_themes_with_counts(memory: Memory, ana: UserMemory) -> None:
    ana.add("Drinks water", theme="drinks")
    ana.archive(ana.add("Drank milk", theme="drinks").id)
    assert [(theme.slug, theme.active_count) for theme in ana.themes()] == [
        ("drinks", 2),
        ("general", 2),
        ("health", 1),
        ("work", 1),
    ]
    described = ana.describe_theme(
        "Drinks",
        display_name="What to pour",
        description="Hot or cold",
        context="all",
        rag_length=5,
    )
    assert described.display_name == "What to pour"
    assert described.to_dict()["context"] == "all"
    assert memory.user("ben").themes() == ()
    with pytest.raises(ThemeNotFound):
        ana.describe_theme("nowhere", description="x")
    with pytest.raises(ThemeNotFound):
        memory.user("ben").describe_theme("drinks", description="x")
    with pytest.raises(InvalidValue):
        ana.describe_theme("drinks")


@pytest.mark.requirement("items.list-filters")
def test_every_filter_has_a_check() -> None:
    for name in ItemFilter.__dataclass_fields__:
        with pytest.raises((InvalidValue, UnknownField)):
            ItemFilter.parse({name: object()})
