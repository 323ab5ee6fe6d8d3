"""Names of known people in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.people import named_people, without_people

KNOWN = ["Ana Silva", "Ben", "José", "Will", "user", "assistant", "田中"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Ana Silva say?", ["Ana Silva"]),
        ("what did ana say to BEN", ["Ana Silva", "Ben"]),
        ("Ben's dog, ana’s cat", ["Ben", "Ana Silva"]),
        ("Ana   Silva", ["Ana Silva"]),
        ("jose and Jose\u0301", ["José"]),
        ("bent, anabel, Ana-Maria, ben@example.com", []),
        ("the user and the assistant", []),
        ("what will happen", []),
        ("Will it rain?", []),
        ("When did Will leave?", ["Will"]),
        ("田中さんは何と言った", ["田中"]),
        ("", []),
    ],
)
def test_who_is_named(text: str, expected: list[str]) -> None:
    assert named_people(text, KNOWN) == expected


def test_a_shared_first_name_names_nobody() -> None:
    assert named_people("Ana came", ["Ana Silva", "Ana Lima"]) == []
    assert named_people("Ana Lima came", ["Ana Silva", "Ana Lima"]) == ["Ana Lima"]
    assert named_people("Ana came", ["Ana", "Ana Lima"]) == ["Ana"]
    assert named_people("Ana Lima came", ["Ana", "Ana Lima"]) == ["Ana Lima"]


def test_a_form_of_address_is_no_first_name() -> None:
    assert named_people("see a dr soon", ["Dr Ben"]) == []
    assert named_people("the tea", ["The Ana"]) == []
    assert named_people("dr ben", ["Dr Ben"]) == ["Dr Ben"]


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


@given(st.text(st.characters(codec=None), max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_no_text_and_no_name_breaks_it(text: str, names: list[str]) -> None:
    found = named_people(text, names)
    assert set(found) <= set(names)
    left = without_people(text, found)
    assert left == text or any(letter.isalnum() for letter in left)


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_named_person_is_found_and_then_gone(before: str, after: str) -> None:
    text = f"{before} x Ana's {after}"
    assert named_people(text, ["Ana Silva"]) == ["Ana Silva"]
    assert named_people(without_people(text, ["Ana Silva"]), ["Ana Silva"]) == []
