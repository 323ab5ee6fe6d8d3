"""Who is who: what texts say about names, and what a question means by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.text.names import Names
from ricordo.text.namings import Naming, namings

pytestmark = pytest.mark.requirement("recall.aliases")

SAID = {
    "User's sister is called Carolina.": (("Carolina",), "my sister"),
    "My sister Carolina lives in Turin.": (("Carolina",), "my sister"),
    "Carolina is User's sister and lives in Turin.": (("Carolina",), "my sister"),
    "User's younger sister Anna is a nurse.": (("Anna",), "my sister"),
    "User's dog is named Tom.": (("Tom",), "my dog"),
    "my dog is called tom": (("tom",), "my dog"),
    "User has a cat named Miso.": (("Miso",), "my cat"),
    "The name of User's boat is Aurora.": (("Aurora",), "my boat"),
    "User's manager, Priya, prefers mail.": (("Priya",), "my manager"),
    "User's boss is Rudi.": (("Rudi",), "my manager"),
    "User's sourdough starter is named Bubbles.": (("Bubbles",), "my sourdough starter"),
    "User's daughter is called Giulia (Giu).": (("Giulia", "Giu"), "my daughter"),
    "User works on project Apollo (the billing rewrite).": (("Apollo",), "the billing rewrite"),
    "The billing rewrite is called Apollo.": (("Apollo",), "the billing rewrite"),
    "User's home town is Surabaya.": (("Surabaya",), "my home town"),
    "Bob, aka Robert Lindqvist, repairs bicycles.": (("Bob", "Robert Lindqvist"), None),
    "J. is short for Jonathan": (("J.", "Jonathan"), None),
    "Carolina goes by Caro.": (("Carolina", "Caro"), None),
    "Adik pengguna bernama Dewi.": (("Dewi",), "my younger sibling"),
    "adikku Dewi sakit": (("Dewi",), "my younger sibling"),
    "Nama kucing saya Oyen.": (("Oyen",), "my cat"),
    "Saya punya anjing bernama Bruno.": (("Bruno",), "my dog"),
    "Pak Hendra adalah atasan saya.": (("Pak Hendra",), "my manager"),
    "Meine Schwester heißt Carolina.": (("Carolina",), "my sister"),
    "Mein Onkel Friedrich sammelt Uhren.": (("Friedrich",), "my uncle"),
    "Mi abuela se llama Pilar.": (("Pilar",), "my grandmother"),
    "La hermana del usuario se llama Carolina.": (("Carolina",), "my sister"),
}
NOT_SAID = [
    "Ben's sister is called Maria.",
    "Ben punya anjing bernama Rex",
    "User's sister's dog is called Rex.",
    "User's sister is Italian.",
    "User's sister, Anna and Tom went home.",
    "User's sister is not called Maria.",
    "User's former boss is called Petra.",
    "User's friend Mary is nice.",
    'Ben said: "my sister Anna is ill"',
    "User is called Ana. User's name is Ana.",
    "Carolina goes by train.",
    "User likes tea.",
    "",
]


@pytest.mark.parametrize("text", SAID)
def test_what_a_statement_says(text: str) -> None:
    (found,) = namings(text)
    assert (found.names, found.roles[-1] if found.roles else None) == SAID[text]


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_says_nothing(text: str) -> None:
    assert namings(text) == []


def names(*texts: str) -> Names:
    return Names(one for text in texts for one in namings(text))


FAMILY = names(
    "User's sister is called Carolina.",
    "Carolina goes by Caro.",
    "User's brother Ben lives in Oslo.",
    "User's brother Luca lives in Porto.",
    "User has a cat named Miso.",
    "User works on project Apollo (the billing rewrite).",
    "Adik pengguna bernama Dewi.",
    "User's doctor is called Will.",
)


@pytest.mark.parametrize(
    ("question", "aliases"),
    [
        ("What flowers does my sister like?", ["Carolina", "Caro"]),
        ("what does user's little sister's cat eat", ["Carolina", "Caro"]),
        ("What does Caro like?", ["my sister", "Carolina"]),
        ("what does caro like", ["my sister", "Carolina"]),
        ("Does my sister Carolina like it?", ["Caro"]),
        ("When is the billing rewrite done?", ["Apollo"]),
        ("Apollo?", ["the billing rewrite"]),
        ("Siapa nama adik saya?", ["Dewi"]),
        ("adikku kuliah apa?", ["Dewi"]),
        ("Where did Will study?", ["my doctor"]),
        ("When is Dr Will there?", ["my doctor"]),
        *(
            (question, [])
            for question in (
                "Where does my brother live?",
                "What does Ben's sister like?",
                "What does her sister like?",
                "Has a sister a right to it?",
                "Do my sisters like it?",
                "What did my former sister say?",
                "Which miso paste do I buy?",
                "What about Carolinas and Apollonia?",
                "Will it rain?",
                "",
            )
        ),
    ],
)
def test_whom_a_question_means(question: str, aliases: list[str]) -> None:
    assert FAMILY.asked(question).aliases == aliases


def test_a_question_and_its_answer_in_each_others_words() -> None:
    asked = FAMILY.asked("When is my sister's birthday?")
    assert asked.variants == ["When is Carolina's birthday?", "When is Caro's birthday?"]
    assert asked.reworded("Caro turns 30 in May.") == "my sister turns 30 in May."
    assert (
        asked.reworded("User's sister is called Carolina.") == "User's sister is called Carolina."
    )
    assert asked.reworded("Ben turns 30.") == "Ben turns 30."
    assert FAMILY.asked("Where do I live?").variants == []


def test_a_role_is_a_name_while_one_has_it() -> None:
    one, other = "User's brother Ben is ill.", "User's brother Luca is ill."
    assert names(one).asked("my brother").aliases == ["Ben"]
    assert names(one, "User has two brothers.").asked("my brother").aliases == []
    assert names(one, "User bought some brother tape.").asked("my brother").aliases == ["Ben"]
    assert names(one, other).asked("my brother").aliases == []
    indonesian = "Adik pengguna bernama Dewi."
    assert names(indonesian).asked("adikku").aliases == ["Dewi"]
    assert names(indonesian, "Pengguna punya dua adik.").asked("adikku").aliases == []
    assert names(one, other, "Ben, aka Luca, sings.").asked("my brother").aliases == ["Ben", "Luca"]
    older = names("User's older brother Ben is ill.", other)
    assert older.asked("my older brother").aliases == ["Ben"]


def test_a_first_name_is_enough_while_one_has_it() -> None:
    one, other = "Ana Silva is User's aunt.", "User's dentist is called Ana Lima."
    assert names(one).asked("Ana?").aliases == ["my aunt", "Ana Silva"]
    assert names(one, other).asked("Ana?").aliases == []
    assert names(one, other).asked("Ana Lima?").aliases == ["my dentist"]
    assert names(one, "User's cat is called Ana.").asked("my cat").aliases == ["Ana"]


few = st.sampled_from(["Ana", "Ben", "Caro", "Dewi", "Ana Silva", "Ana Lima", "Ben Tan"])
roles = st.sampled_from([(), ("my sister",), ("my dog",), ("my older sister", "my sister")])


@given(
    st.lists(
        st.builds(
            lambda named, role: Naming(tuple(named), role, role[0] if role else None),
            st.lists(few, max_size=3, unique=True),
            roles,
        ),
        max_size=8,
    ),
    st.randoms(),
)
def test_the_order_of_statements_does_not_matter(said: list[Naming], chance: object) -> None:
    shuffled = list(said)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = Names(said), Names(shuffled)
    assert one.entities == other.entities
    for question in ("my sister and my dog", "Ana, Ben and Caro", "Ana Silva"):
        assert one.asked(question).aliases == other.asked(question).aliases


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    asked = Names(namings(text)).asked(text)
    assert len(asked.aliases) >= 0
    FAMILY.asked(text).reworded(text)
