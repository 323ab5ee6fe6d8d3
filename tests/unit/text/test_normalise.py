"""Text made comparable: properties that every text must have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.normalise import canonical, content_hash, folded, slug

pytestmark = pytest.mark.requirement("text.normalise")

any_text = st.text(max_size=60)


@given(any_text)
def test_space_and_case_do_not_matter(text: str) -> None:
    spread = "  " + text.replace(" ", " \t\n ") + "\u3000"
    assert content_hash(spread) == content_hash(text)
    if text.isascii():
        assert content_hash(text.upper()) == content_hash(text.lower())


@given(any_text, any_text)
def test_a_part_is_found_in_the_whole(before: str, after: str) -> None:
    assert folded("needle") in folded(f"{before} Needle {after}")


@given(any_text)
def test_a_slug_is_safe_in_names_and_paths(text: str) -> None:
    made = slug(text)
    assert (slug(made), canonical(canonical(text))) == (made, canonical(text))
    assert folded(folded(text)) == folded(text)
    assert not set(made) & set(" /\\.:*?\"'<>|&%#")
    assert made == made.strip("-_")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Prefers tea", "prefers  TEA.", True),
        ("Straße", "STRASSE", False),
        ("In Maßen", "in Massen", False),
        ("10²", "102", False),
        ("ÄPFEL", "äpfel", True),
        ("cafe\u0301", "café", True),
        ("café", "cafe", False),
        ("1.5", "1 5", False),
        ("...", ".", False),
        ("Is it tea?", "Is it tea", False),
    ],
)
def test_what_says_the_same(one: str, other: str, same: bool) -> None:
    assert (content_hash(one) == content_hash(other)) is same


def test_slugs() -> None:
    names = ["Sport & Health", "recent_activity", "Äpfel", "日本 語", "हिन्दी", "--a--b--", "!!!"]
    slugs = ["sport-health", "recent_activity", "äpfel", "日本-語", "हिन्दी", "a-b", ""]
    assert list(map(slug, names)) == slugs
