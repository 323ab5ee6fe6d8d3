"""The stretch of a text that is shown."""

from ricordo.text.analyser import Analyser
from ricordo.text.pieces import Snippets

ENGLISH = Analyser()
FILLER = "nothing here matters much. "


def shown(content: str, query: str, max_chars: int = 240) -> str:
    return Snippets(ENGLISH.query_terms(query), ENGLISH, max_chars).of(content)


def test_a_short_text_is_shown_on_one_line() -> None:
    assert shown("  likes\n\n tea\tand  milk ", "tea") == "likes tea and milk"


def test_the_place_with_most_terms_is_shown() -> None:
    content = f"tea {FILLER * 20}She drinks green teas with milk. {FILLER * 20}milk"
    found = shown(content, "green tea milk", 100)
    assert "She drinks green teas with milk." in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert 80 <= len(found) <= 100


def test_cuts_fall_between_words_and_the_ends_are_not_marked() -> None:
    content = f"{FILLER * 20}needle {FILLER * 20}"
    assert f" {shown(content, 'needle', 60).strip('…')} " in f" {content} "
    assert shown(f"needle {FILLER * 20}", "needle", 60).startswith("needle")
    assert shown(f"{FILLER * 20}needle", "needle", 60).endswith("needle")


def test_without_a_hit_the_beginning_is_shown() -> None:
    assert shown(FILLER * 20, "tea", 30) == "nothing here matters much.…"


def test_a_text_without_spaces_can_be_cut() -> None:
    content = "あ" * 300 + "東京タワー" + "い" * 300
    found = shown(content, "東京タワー", 100)
    assert "東京" in found
    assert len(found) <= 100
    assert [len(shown(content, "東京", room)) for room in (-1, 0, 1)] == [0, 0, 1]
