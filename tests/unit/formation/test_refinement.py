"""Which statement says more than another, and which says nothing new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.comparing.refinement import refines, says_nothing_new


@pytest.mark.requirement("formation.resolve")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User likes tea.", "User likes green tea with honey."),
        ("User likes tea.", "User loves green tea."),
        ("User has a dog.", "User has a dog named Rex."),
        ("The user has a dog.", "User has a brown dog."),
        ("User works as a nurse.", "User works as a nurse in a hospital."),
        ("User hates coffee.", "User doesn't like coffee after lunch."),
        ("User plays tennis.", "User plays tennis. User plays chess."),
        ("User ran a marathon.", "User ran a marathon in 2024."),
        ("Pengguna suka teh.", "Pengguna suka teh hijau dengan madu."),
        ("Pengguna punya anjing.", "Pengguna punya anjing bernama Rex."),
    ],
)
def test_the_newer_says_more(older: str, newer: str) -> None:
    assert refines(newer, older)
    assert not refines(older, newer)


@pytest.mark.requirement("formation.resolve")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User likes tea.", "User likes tea."),
        ("User likes tea.", "User likes coffee with honey."),
        ("User likes tea.", "User hates green tea."),
        ("User likes tea.", "User does not like green tea."),
        ("User eats meat.", "User does not eat red meat."),
        ("User has a dog.", "User's neighbour has a brown dog."),
        ("Ana has a dog.", "Ben has a dog that Ana likes."),
        ("User has 2 dogs.", "User has 3 brown dogs."),
        ("User lives in Turin.", "User used to live in Turin."),
        ("Pengguna suka teh.", "Pengguna tidak suka teh hijau."),
        ("コーヒーが好き", "コーヒーが好きではない"),
        ("", "User likes tea."),
        ("User likes tea.", ""),
    ],
)
def test_the_newer_does_not_refine_it(older: str, newer: str) -> None:
    assert not refines(newer, older)


@pytest.mark.requirement("formation.resolve")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User likes tea.", "user  likes TEA"),
        ("User likes tea.", "The user really loves tea."),
        ("User likes green tea with honey.", "User likes tea."),
        ("User has a dog named Rex.", "User has a dog."),
        ("User has 2 dogs named Rex and Miso.", "User has two dogs."),
        ("User hates coffee.", "User doesn't like coffee."),
        ("Pengguna suka teh hijau.", "Pengguna suka teh."),
        ("User likes tea. User has a dog.", "User has a dog."),
    ],
)
def test_the_newer_says_nothing_new(older: str, newer: str) -> None:
    assert says_nothing_new(newer, older)


@pytest.mark.requirement("formation.resolve")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User likes tea.", "User likes green tea."),
        ("User likes tea.", "User hates tea."),
        ("User has 2 dogs.", "User has 3 dogs."),
        ("User has dogs.", "User has 3 dogs."),
        ("User's neighbour has a dog.", "User has a dog."),
        ("Ana likes Ben.", "Ben likes Ana."),
        ("User prefers tea over coffee.", "User prefers coffee over tea."),
        ("User likes Python more than Java.", "User likes Java more than Python."),
        ("User likes tea and hates coffee.", "User likes coffee and hates tea."),
        ("User likes cats but not dogs.", "User does not like cats but likes dogs."),
        ("User likes coffee without sugar.", "User likes coffee with sugar."),
        ("User used to play chess.", "User plays chess."),
        ("User does not eat meat.", "User eats meat."),
        ("コーヒーが好きではない", "コーヒーが好き"),
        ("User likes tea.", ""),
    ],
)
def test_the_newer_says_something(older: str, newer: str) -> None:
    assert not says_nothing_new(newer, older)


@pytest.mark.requirement("formation.resolve")
@given(st.text(max_size=100), st.text(max_size=100))
def test_any_two_texts_get_an_answer(one: str, other: str) -> None:
    assert says_nothing_new(one, one)
    assert not refines(one, one)
    assert not (refines(one, other) and refines(other, one))
    assert refines(one, other) == refines(one, other)
