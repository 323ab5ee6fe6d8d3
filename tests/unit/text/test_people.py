"""Names of known people in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.people import named_people, without_people

KNOWN = ["Ana Silva", "Ben", "José", "Will", "user", "assistant", "田中"]


NAMED = {
    "What did Ana Silva say?": ["Ana Silva"],
    "what did ana say to BEN": ["Ana Silva", "Ben"],
    "Ben's dog, ana’s cat": ["Ben", "Ana Silva"],
    "Ana   Silva": ["Ana Silva"],
    "jose and Jose\u0301": ["José"],
    "When did Will leave?": ["Will"],
    "田中さんは何と言った": ["田中"],
}
NOBODY = ["bent, anabel, Ana-Maria, ben@example.com", "the user and the assistant"]


def test_who_is_named() -> None:
    for text, expected in NAMED.items():
        assert named_people(text, KNOWN) == expected
    for text in [*NOBODY, "what will happen", "Will it rain?", ""]:
        assert named_people(text, KNOWN) == []


def test_a_shared_first_name_and_a_form_of_address_name_nobody() -> None:
    assert named_people("Ana came", ["Ana Silva", "Ana Lima"]) == []
    assert named_people("Ana Lima came", ["Ana Silva", "Ana Lima"]) == ["Ana Lima"]
    assert named_people("Ana came", ["Ana", "Ana Lima"]) == ["Ana"]
    assert named_people("Ana Lima came", ["Ana", "Ana Lima"]) == ["Ana Lima"]
    assert named_people("see a dr soon", ["Dr Ben"]) == []
    assert named_people("the tea", ["The Ana"]) == []
    assert named_people("dr ben", ["Dr Ben"]) == ["Dr Ben"]
    assert named_people("Ana came", []) == []


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("What did Ana's sister say to Ben?", ["Ana", "Ben"], "What did sister say to?"),
        ("Ben, what did you eat?", ["Ben"], "what did you eat?"),
        ("Did you go, Ben?", ["Ben"], "Did you go?"),
        ("Ana Silva  likes tea", ["Ana Silva"], "likes tea"),
        ("Jose\u0301 likes tea", ["Jose"], "likes tea"),
        ("Ana?", ["Ana"], "Ana?"),
        ("No  names ,here", ["Ana"], "No  names ,here"),
        ("It rained. Ana. Then tea", ["Ana"], "It rained. Then tea"),
    ],
)
def test_names_are_taken_out(text: str, names: list[str], expected: str) -> None:
    assert without_people(text, names) == expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_named_person_is_found_and_then_gone(before: str, after: str) -> None:
    text = f"{before} x Ana's {after}"
    assert named_people(text, ["Ana Silva"]) == ["Ana Silva"]
    assert named_people(without_people(text, ["Ana Silva"]), ["Ana Silva"]) == []
