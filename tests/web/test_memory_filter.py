"""What the form of the memories page asks for, and how its address says it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import InvalidValue
from ricordo.web.memory_filter import SORTS, STATUSES, MemoryFilter
from ricordo.web.rendering import listed

pytestmark = pytest.mark.requirement("page.memories")

_words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12).map(
    str.strip
)


@given(
    theme=_words,
    tags=_words,
    status=st.sampled_from([*STATUSES]),
    archived=st.sampled_from(["", "1"]),
    since=st.sampled_from(["", "2026-03-01"]),
    zone=st.sampled_from(["", "Asia/Tokyo"]),
    sort=st.sampled_from([*SORTS]),
)
def test_an_address_says_the_whole_choice(**chosen: str) -> None:
    asked = MemoryFilter.of(chosen)
    again = MemoryFilter.of(asked.parameters())
    assert again.for_list() == asked.for_list()
    assert again.parameters() == asked.parameters()


def test_nothing_chosen_asks_for_the_newest_active_ones() -> None:
    asked = MemoryFilter.of({})
    said = {name: value for name, value in asked.for_list().items() if value is not None}
    assert said == {"sort": "created_at", "order": "desc"}
    assert asked.parameters() == {}
    assert not asked.is_narrowed


@pytest.mark.parametrize(
    ("status", "archived", "wanted"),
    [
        ("", "", None),
        ("", "1", ["active", "archived"]),
        ("superseded", "1", ["superseded", "archived"]),
        ("archived", "1", "archived"),
        ("any", "1", "any"),
        ("deleted", "", "deleted"),
    ],
)
def test_archived_ones_are_added_by_the_switch(status: str, archived: str, wanted: object) -> None:
    asked = MemoryFilter(status=status, archived=archived)
    assert asked.for_search()["status"] == wanted


def test_a_day_begins_and_ends_where_the_reader_is() -> None:
    asked = MemoryFilter(since="2026-03-01", until="2026-03-01", zone="Asia/Tokyo").for_search()
    assert asked["created_after"] == datetime(2026, 2, 28, 15, tzinfo=UTC)
    assert asked["created_before"] - asked["created_after"] == timedelta(days=1)


@pytest.mark.parametrize("zone", ["", "Nowhere/At_All", "../../etc/passwd", "/etc", "a\x00b"])
def test_a_zone_that_is_unknown_is_utc(zone: str) -> None:
    asked = MemoryFilter(since="2026-03-01", zone=zone).for_search()
    assert asked["created_after"] == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "9999-12-31"])
def test_what_is_no_date_is_refused(day: str) -> None:
    with pytest.raises(InvalidValue, match="until: is no date; allowed: such as 2026-01-31"):
        MemoryFilter(until=day).for_search()


def test_orders_by_what_memories_say_are_refused() -> None:
    """The address of the next page holds the last value, so it would quote a memory."""
    for column in ("content", "key"):
        with pytest.raises(InvalidValue, match="sort: is not one of"):
            MemoryFilter(sort=f"{column}-asc").for_list()


@given(st.lists(_words.filter(bool), max_size=4, unique=True))
def test_any_tag_can_be_asked_for(tags: list[str]) -> None:
    asked = MemoryFilter(tags=", ".join(map(listed, tags)))
    assert asked.for_search()["tags"] == (tags or None)


def test_what_people_type_as_tags() -> None:
    for typed, wanted in {
        'tea, "black, green" ,coffee': ["tea", "black, green", "coffee"],
        'a "b" c,d': ['a "b" c', "d"],
        '"open, end': ['"open', "end"],
        ",,": None,
    }.items():
        assert MemoryFilter(tags=typed).for_search()["tags"] == wanted, typed
