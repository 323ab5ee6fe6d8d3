"""Reading: one memory, several, filters, order, pages, themes."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

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
from ricordo.testing import ManualClock
from tests.contract.conftest import on_sqlite
from tests.support.sharing import share
from tests.support.unasked import stored


def contents(user: UserMemory, **filters: object) -> list[str]:
    return [item.content for item in user.list(**filters)]  # type: ignore[arg-type]


@pytest.fixture
def ana(memory: Memory, clock: ManualClock) -> UserMemory:
    """Five memories, a day apart, that differ in every way a filter can see."""
    ana = memory.user("ana")
    said = dict(source="conversation", thread_id="t1", source_context="over lunch")
    named = dict(role="user", actor_id="phone", message_id="m1", confidence=40)
    given = [
        dict(content="Prefers tea", theme="drinks", type="preference", tags=["hot", "daily"]),
        dict(content="Allergic to nuts", theme="health", importance=5, pinned=True, key="allergy"),
        dict(content="Works at a café", theme="work", **said),
        dict(content="Answer in German", type="instruction", agent_id="helper", run_id="r1"),
        dict(content="Has 100% of_it", tags=["daily"], **named),
    ]
    for one in given:
        stored(ana, **one)
        clock.advance(days=1)
    return ana


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
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
    *((dict(contains=text), ["Has 100% of_it"]) for text in ("100%", "f_i", "%")),
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
]


@pytest.mark.requirement("items.list-filters")
def test_each_filter(ana: UserMemory) -> None:
    for filters, expected in FILTERS:
        assert contents(ana, **filters) == expected, filters
    for name in ItemFilter.__dataclass_fields__:
        with pytest.raises((InvalidValue, UnknownField)):
            ItemFilter.parse({name: object()})


WRONG: list[tuple[dict[str, Any], str]] = [
    (dict(colour="red"), "unknown argument 'colour'; allowed: "),
    (dict(user_id="ben"), "unknown argument 'user_id'"),
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
    (dict(sort="mood"), "sort: 'mood' is not one of"),
    (dict(order="up"), "order: 'up' is not one of: asc, desc"),
]


@pytest.mark.requirement("faults.unknown-filter")
@on_sqlite
def test_a_wrong_filter_is_named(memory: Memory) -> None:
    for filters, said in WRONG:
        with pytest.raises((UnknownField, InvalidValue)) as caught:
            contents(memory.user("ana"), **filters)
        assert said in str(caught.value)


@pytest.mark.requirement("items.list-sort")
def test_pages_put_together_are_the_whole_list(ana: UserMemory) -> None:
    for column, order in itertools.product(SortColumn, ("asc", "desc")):
        whole = ana.list(sort=column, order=order).items
        values = [getattr(item, column) for item in whole]
        present = [value for value in values if value is not None]
        assert present == sorted(present, reverse=order == "desc")
        assert values == present + [None] * (len(values) - len(present))
        paged = []
        cursor = None
        while True:
            page = ana.list(sort=column, order=order, limit=3, cursor=cursor)
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
    wrong: list[Any] = [0, -1, 2**63, True, "1", 1.0, None]
    for item_id in wrong:
        with pytest.raises(InvalidValue, match="id: .* is not a whole number from 1 to"):
            ana.get(item_id)


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
    counts = {theme.slug: theme.active_count for theme in ana.themes()}
    assert counts == {"drinks": 2, "general": 2, "health": 1, "work": 1}
    described = ana.describe_theme(
        "Drinks", display_name="To pour", description="Hot or cold", context="all", rag_length=5
    )
    assert (described.display_name, described.to_dict()["context"]) == ("To pour", "all")
    assert memory.user("ben").themes() == ()
    for user, theme in ((ana, "nowhere"), (memory.user("ben"), "drinks")):
        with pytest.raises(ThemeNotFound):
            user.describe_theme(theme, description="x")
    with pytest.raises(InvalidValue):
        ana.describe_theme("drinks")


def one_by_one(user: UserMemory, ids: list[int], **how: Any) -> list[Any]:
    found = []
    for item_id in ids:
        try:
            found.append(user.get(item_id, **how))
        except MemoryNotFound:
            continue
    return found


@pytest.mark.requirement("memories.get_many")
@pytest.mark.parametrize("include_deleted", [False, True])
def test_several_are_found_where_one_is(
    memory: Memory, ana: UserMemory, clock: ManualClock, include_deleted: bool
) -> None:
    kept, aside, gone, purged = (one.id for one in ana.add_many(["a", "b", "c", "d"]))
    ended = ana.add("e", expires_at=clock() + timedelta(hours=1)).id
    theirs = memory.user("ben").add("Has a dog").id
    ana.forget(purged)
    ana.purge(before_time=True)
    ana.archive(aside)
    ana.forget(gone)
    old = ana.add("Plays the viola").id
    new = ana.add("Plays the cello", supersedes=old).id
    clock.advance(hours=2)
    asked = [new, aside, gone, purged, ended, old, kept, 987_654, theirs]
    found = ana.get_many(iter([*asked, new]), include_deleted=include_deleted)
    assert list(found) == one_by_one(ana, asked, include_deleted=include_deleted)
    hidden = {purged, 987_654, theirs, *(() if include_deleted else (gone, ended))}
    assert {item.id for item in found} == set(asked) - hidden
    assert memory.user("ben").get_many([kept, old]) == ana.get_many([]) == ()
    work = ana.add("Works at night", theme="work").id
    worker = ana.narrow(categories="work")
    assert [item.id for item in worker.get_many([kept, work])] == [work]


@pytest.mark.requirement("memories.get_many")
def test_what_is_shared_is_read_alike(memory: Memory, ana: UserMemory) -> None:
    tea = ana.add("Prefers tea", source_context="over lunch", thread_id="t1").id
    share(ana, tea, "ben")
    everybodys = memory.global_memories().add("The office closes at six").id
    ben = memory.user("ben")
    assert list(ben.get_many([everybodys, tea])) == one_by_one(ben, [everybodys, tea])
    assert ben.get_many([tea])[0].source_context is None
    ana.forget(tea)
    assert ben.get_many([tea], include_deleted=True) == ()


@pytest.mark.requirement("memories.get_many")
@on_sqlite
@pytest.mark.requirement("embeddings.states")
@pytest.mark.parametrize("read", [UserMemory.get_many, UserMemory.embedding_states])
def test_bad_ids_are_refused(ana: UserMemory, read: Callable[..., Any]) -> None:
    bad: list[Any] = [[0], [-1], [2**63], ["1"], [True], [None], "12", 5, None, range(1, 1_002)]
    for ids in bad:
        with pytest.raises(InvalidValue):
            read(ana, ids)
    with pytest.raises(InvalidValue, match="include_deleted"):
        ana.get_many([1], include_deleted="yes")  # type: ignore[arg-type]
    assert len(read(ana, range(1, 1_001))) == len(ana.list())
