"""The guide to the memory tools: short, with the themes that matter, never with content."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.limits import GUIDE_AIM_BYTES, MAX_HINTED_THEMES, MAX_THEME_CHARS
from ricordo.model.theme import Theme
from ricordo.model.vocabulary import ContextPolicy
from ricordo.prompt.guide import UNAVAILABLE, UNSURE, guide

pytestmark = pytest.mark.requirement("prompt.guide")


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def theme(slug: str, count: int) -> Theme:
    return Theme(
        slug=slug,
        display_name=slug,
        description=None,
        context=ContextPolicy.RAG,
        rag_length=None,
        created_at=LONG_AGO,
        updated_at=LONG_AGO,
        active_count=count,
    )


SLUGS = st.text(min_size=1, max_size=MAX_THEME_CHARS)


@given(st.lists(st.tuples(SLUGS, st.integers(0, 10**12)), max_size=40))
@settings(max_examples=200)
def test_the_guide_keeps_within_a_kilobyte(named: list[tuple[str, int]]) -> None:
    whole = guide([theme(slug, count) for slug, count in named])

    assert len(whole.encode()) <= GUIDE_AIM_BYTES


def test_the_themes_with_the_most_memories_are_named_with_their_counts() -> None:
    whole = guide([theme("work", 18), theme("drinks", 9), theme("old", 0)])

    assert "- work (18)\n- drinks (9)" in whole
    assert "old" not in whole.split("Themes", 1)[1]


def test_ten_themes_are_named_and_the_rest_is_counted() -> None:
    whole = guide([theme(f"theme-{number}", 30 - number) for number in range(14)])

    assert whole.count("- theme-") == MAX_HINTED_THEMES
    assert "- and 4 more: memory_list_themes" in whole


def test_long_names_leave_room_for_fewer_and_the_rest_is_counted() -> None:
    whole = guide([theme("界" * MAX_THEME_CHARS, 30 - number) for number in range(10)])

    assert 1 <= whole.count("界" * MAX_THEME_CHARS) < MAX_HINTED_THEMES
    assert "more: memory_list_themes" in whole


def test_a_new_user_is_told_that_nothing_is_remembered() -> None:
    assert "Nothing is remembered yet." in guide([])


def test_the_guide_names_the_tools_and_their_rules() -> None:
    whole = guide([])

    for tool in ("memory_search", "memory_get", "memory_add", "memory_archive"):
        assert tool in whole
    assert '"*"' in whole and '"any"' in whole


def test_what_is_said_when_memory_fails_or_is_unsure() -> None:
    assert "unavailable" in UNAVAILABLE
    assert "memory_query" in UNSURE and "3 bullets" in UNSURE
