"""The stretch of a text that is shown."""

from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.analyser import Analyser
from ricordo.text.snippets import snippet

ENGLISH = Analyser()
FILLER = "nothing here matters much. "


def shown(content: str, query: str, max_chars: int = 240) -> str:
    return snippet(content, ENGLISH.query_terms(query), ENGLISH, max_chars)


def test_a_short_text_is_shown_on_one_line() -> None:
    assert shown("  likes\n\n tea\tand  milk ", "tea") == "likes tea and milk"


def test_the_place_with_most_terms_is_shown() -> None:
    content = f"tea {FILLER * 20}She drinks green teas with milk. {FILLER * 20}milk"
    found = shown(content, "green tea milk", 100)
    assert "She drinks green teas with milk." in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert 80 <= len(found) <= 100


def test_cuts_fall_between_words() -> None:
    content = f"{FILLER * 20}needle {FILLER * 20}"
    inner = shown(content, "needle", 60).strip("…")
    assert f" {inner} " in f" {content} "


def test_the_ends_are_not_marked_as_cut() -> None:
    content = f"needle {FILLER * 20}"
    assert shown(content, "needle", 60).startswith("needle")
    assert shown(f"{FILLER * 20}needle", "needle", 60).endswith("needle")


def test_without_a_hit_the_beginning_is_shown() -> None:
    assert shown(FILLER * 20, "tea", 30) == "nothing here matters much.…"


def test_a_text_without_spaces_can_be_cut() -> None:
    content = "あ" * 300 + "東京タワー" + "い" * 300
    found = shown(content, "東京タワー", 100)
    assert "東京" in found
    assert len(found) <= 100


@given(st.text(max_size=300), st.text(max_size=20), st.integers(-2, 120))
def test_it_is_never_too_long(content: str, query: str, max_chars: int) -> None:
    found = shown(content, query, max_chars)
    assert len(found) <= max(max_chars, 0)
    flat = " ".join(content.split())
    assert found.strip("…") in flat
    assert "\n" not in found
