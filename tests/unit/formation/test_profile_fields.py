"""Which statements wait for a second signal before they become part of the profile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.consent.profile_fields import BENIGN_FIELDS, benign_field
from ricordo.model.vocabulary import MemoryType


@pytest.mark.requirement("formation.corroboration")
@pytest.mark.parametrize(
    "content",
    [
        "User prefers short answers.",
        "User likes concise, friendly replies.",
        "User wants explanations with examples.",
        "User dislikes long responses.",
        "User doesn't like very long answers.",
        "User prefers bullet points.",
        "User likes to be addressed informally.",
        "Pengguna suka jawaban singkat.",
        "Pengguna lebih suka penjelasan yang panjang.",
        "Pengguna ingin dijawab singkat.",
        "Der Nutzer bevorzugt kurze Antworten.",
        "Der Nutzer mag ausführliche Erklärungen.",
        "短い答えが好きです",
        "箇条書きで説明してほしい",
    ],
)
def test_how_the_user_likes_to_be_answered(content: str) -> None:
    assert benign_field(None, MemoryType.PREFERENCE, content) == "tone"
    assert benign_field(None, MemoryType.INSTRUCTION, content) is None


@pytest.mark.requirement("formation.corroboration")
@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("tone", "tone"),
        ("Style", "tone"),
        ("answer_style", "tone"),
        ("answer style", "tone"),
        ("goal", "goals"),
        ("goals", "goals"),
        ("goal:marathon", "goals"),
        ("goalkeeper", None),
        ("favourite_colour", None),
        ("music_style", None),
        ("", None),
        (None, None),
    ],
)
def test_the_key_decides_first(key: str | None, field: str | None) -> None:
    assert benign_field(key, MemoryType.FACT, "Green.") == field
    assert benign_field(key, MemoryType.INSTRUCTION, "Green.") is None


@pytest.mark.requirement("formation.corroboration")
@pytest.mark.parametrize(
    "content",
    [
        "User likes coffee.",
        "User has a dog.",
        "User works on survey answers and likes it.",
        "User prefers survey responses on paper.",
        "User answers the phone at noon.",
        "Pengguna suka kopi.",
        "Der Nutzer mag Tee.",
        "コーヒーが好きです",
        "User likes tea. The assistant gave an answer.",
    ],
)
def test_everything_else_is_no_profile_field(content: str) -> None:
    assert benign_field(None, MemoryType.PREFERENCE, content) is None


@pytest.mark.requirement("formation.corroboration")
@given(st.none() | st.text(max_size=30), st.sampled_from(MemoryType), st.text(max_size=200))
def test_any_text_gets_an_answer(key: str | None, kind: MemoryType, content: str) -> None:
    found = benign_field(key, kind, content)
    assert found is None or found in BENIGN_FIELDS
    assert found == benign_field(key, kind, content)


@pytest.mark.requirement("formation.corroboration")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", ["a", "likes ", "likes a ", "答え", "suka x,"])
def test_hostile_text_ends(piece: str) -> None:
    benign_field(piece * 20_000, MemoryType.FACT, (piece * 100_000)[:100_000])
