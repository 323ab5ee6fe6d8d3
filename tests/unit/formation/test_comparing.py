"""Which statements contradict each other, which says more, and which says nothing new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.statements import opposed, refines, says_nothing_new
from tests.unit.tables import cases, phrases

pytestmark = pytest.mark.requirement("formation.resolve")

# One statement / another => how they contradict each other.
OPPOSED = """
User likes coffee. / User hates coffee. => opposite taste
User loves jazz. / User can't stand jazz. => opposite taste
User likes coffee. / User doesn't like coffee. => opposite taste
User likes coffee. / User no longer likes coffee. => opposite taste
User really enjoys swimming. / User dislikes swimming. => opposite taste
User is a fan of jazz. / User is not a fan of jazz. => opposite taste
The user likes dogs. / User hates dogs. => opposite taste
User prefers tea over coffee. / User prefers coffee over tea. => opposite taste
Ana likes coffee. / Ana hates coffee. => opposite taste
Pengguna suka kopi. / Pengguna tidak suka kopi. => opposite taste
Pengguna suka kopi. / Pengguna nggak suka kopi. => opposite taste
Pengguna suka kopi. / Pengguna benci kopi. => opposite taste
Pengguna menyukai teh. / Pengguna membenci teh. => opposite taste
User likes Go more than Java. / User likes Java more than Go. => opposite taste
User lives in Bekasi. / User lives in Turin. => another home
User lives in Bekasi. / User moved to Turin. => another home
User currently lives in Milan, Italy. / User lives in Turin, Italy. => another home
User lives in Italy. / User lives in Germany. => another home
User lives in Turin with Ana. / User lives in Milan. => another home
User likes tea. User lives in Turin. / User lives in Milan. => another home
Pengguna tinggal di Bekasi. / Pengguna tinggal di Bandung. => another home
User lives in Bekasi. / Pengguna tinggal di Turin. => another home
User works at Acme. / User works at Globex. => another employer
User works for Acme. / User now works at Globex. => another employer
Pengguna bekerja di Acme. / Pengguna bekerja di Globex. => another employer
User works as a nurse. / User works as a teacher. => another job
Pengguna bekerja sebagai guru. / Pengguna bekerja sebagai perawat. => another job
User is 30 years old. / User is 31 years old. => another age
Pengguna berusia 30 tahun. / Pengguna berusia 31 tahun. => another age
User's name is Ana. / User's name is Ben. => another name
Nama pengguna adalah Ana. / Nama pengguna adalah Ben. => another name
User's favourite colour is blue. / User's favourite colour is red. => another favourite
Warna favorit pengguna adalah biru. / Warna favorit pengguna adalah merah. => another favourite
User's favourite colour is blue. / User's favorite colour is red. => another favourite
User's birthday is 1 May. / User's birthday is 2 June. => another birthday
User's boss is Ana. / User's boss is Ben. => another value
User has 2 children. / User has three children. => another number
Pengguna punya dua anak. / Pengguna punya 3 anak. => another number
User drinks 2 cups of coffee. / User drinks 5 cups of coffee. => another number
User uses Bun. / User switched from Bun to Node. => another choice
User uses Bun. / User has moved from Bun to Node at work. => another choice
User switched from Bun to Node. / User changed from Node to Deno. => another choice
User works at Acme. / User moved from Acme to Globex. => another choice
Pengguna memakai Bun. / Pengguna pindah dari Bun ke Node. => another choice
Pengguna pakai Bun. / Pengguna ganti dari Bun ke Node. => another choice
User eats meat. / User does not eat meat. => opposite statement
User is vegetarian. / User is no longer vegetarian. => opposite statement
User has a car. / User has no car. => opposite statement
User drinks alcohol. / User never drinks alcohol. => opposite statement
Pengguna makan daging. / Pengguna tidak makan daging. => opposite statement
User can swim. / User can't swim. => opposite statement
User works at Acme. / User is no longer working at Acme. => opposite statement
User never eats breakfast. / User always eats breakfast. => opposite statement
Pengguna sudah menikah. / Pengguna belum menikah. => opposite statement
User is married. / User is divorced. => another state
User is left-handed. / User is right-handed. => another state
"""
COMPATIBLE = """
User uses Node. / User switched from Bun to Node. |
User likes Bun. / User switched from Bun to Node. |
User uses Bun and Deno. / User switched from Bun to Node. |
User uses Bun. / User's brother switched from Bun to Node. |
User uses Bun. / User has not switched from Bun to Node. |
User uses Bun. / User wants to be switched from Bun to Node. |
User lives in Bonn. / User moved from Bonn to Rome in 2015. |
User drives from Bonn to Rome. / User moved from Bonn to Rome. |
Pengguna memakai Bun. / Pengguna mau pindah dari Bun ke Node. |
User likes coffee. / User likes tea. | User likes coffee. / User hates tea. |
User likes coffee. / User likes coffee. | User likes coffee. / User loves coffee. |
User likes coffee. / User hates black coffee. |
User likes coffee. / User hates coffee in the evening. |
User hates coffee. / User doesn't like coffee. | User has a cat. / User has a dog. |
User has a dog. / User has a dog named Rex. | Ana likes coffee. / Ben hates coffee. |
User lives in Bekasi. / Ana lives in Turin. |
User's sister lives in Bekasi. / User lives in Turin. |
User's boss is Ana. / User's doctor is Ben. | User lives in Turin. / User lives in Turin, Italy. |
User lives in Turin. / User lives in Italy. |
User lives in Turin and Milan. / User lives in Milan. |
User lives in Turin. / User lives in a small house. |
User lives in Turin. / User used to live in Milan. |
User lives in Turin. / User wants to live in Milan. |
User lives in Turin. / User lived in Milan until 2020. |
User works at Acme. / User works at night. | User works at Acme. / User works at a bank. |
User works at Acme. / User works as a nurse. |
Pengguna bekerja di Acme. / Pengguna bekerja di Jakarta. |
User works as a nurse. / User works as a senior nurse. | User is a nurse. / User is a mother. |
User is 30 years old. / User's dog is 3 years old. | User ran 5 km. / User ran 10 km. |
User has a meeting at 3. / User has a meeting at 4. | User has 2 cats. / User has 3 dogs. |
User was born in 1990. / User was born in Turin. | User's name is Ana. / User's name is Ana Ben. |
User's name is Ana. / User's cat's name is Miso. |
User's favourite colour is blue. / User's favourite band is Blue Note. |
User eats meat. / User does not eat fish. | User was married. / User is not married. |
User is single. / User is tall. | User would like a coffee. / User dislikes coffee. |
User drinks tea, not coffee. / User drinks tea and coffee. |
User likes tea and hates coffee. / User likes coffee and hates tea. |
User moved to Turin in 2019. / User moved to Milan in 2021. |
User plans to visit Turin. / User plans to visit Milan. |
User has a cat named Miso. / User has a cat named Rex. |
User used to like coffee. / User hates coffee. | Pengguna suka kopi. / Pengguna suka teh. |
Pengguna suka kopi. / Pengguna tidak suka teh. | Pengguna punya kucing. / Pengguna punya anjing. |
Pengguna tinggal di Bekasi. / Adik pengguna tinggal di Medan. |
Pengguna tinggal di Bekasi. / Pengguna dulu tinggal di Medan.
"""
PIECES = """
    User Pengguna likes hates not tidak suka lives_in works_at is has no never 2 3 Turin Milan
    coffee dog . , and 's over
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other in (pair.split(" / ") for pair in phrases(table))]


def test_a_contradiction_has_a_reason() -> None:
    for both, reason in cases(OPPOSED):
        one, other = both.split(" / ")
        assert opposed(one, other) == opposed(other, one) == reason, both


def test_what_can_both_be_true_is_none() -> None:
    for one, other in [*pairs(COMPATIBLE), ("", ""), ("User", ".")]:
        assert opposed(one, other) is opposed(other, one) is None, (one, other)


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_two_texts_get_an_answer(one: str, other: str) -> None:
    assert opposed(one, one) is None
    assert opposed(one, other) == opposed(one, other)
    assert says_nothing_new(one, one)
    assert not refines(one, one)
    assert not (refines(one, other) and refines(other, one))


@given(st.lists(st.sampled_from(PIECES.replace("_", " ").split()), max_size=12).map(" ".join))
def test_no_statement_contradicts_itself(text: str) -> None:
    assert opposed(text, text) is None


@pytest.mark.parametrize("chars", [4_000, pytest.param(40_000, marks=pytest.mark.slow)])
def test_hostile_text_ends(chars: int) -> None:
    for piece in ("a ", "user lives in ", "switched from ", "'s ", "is no ", "1 ", ". ", "ない"):
        hostile = (piece * chars)[:chars]
        opposed(hostile, f"User lives in Turin. {hostile}")


# The older statement / the newer one.
SAYS_MORE = """
User likes tea. / User likes green tea with honey. | User likes tea. / User loves green tea. |
User has a dog. / User has a dog named Rex. | The user has a dog. / User has a brown dog. |
User works as a nurse. / User works as a nurse in a hospital. |
User hates coffee. / User doesn't like coffee after lunch. |
User plays tennis. / User plays tennis. User plays chess. |
User ran a marathon. / User ran a marathon in 2024. |
Pengguna suka teh. / Pengguna suka teh hijau dengan madu. |
Pengguna punya anjing. / Pengguna punya anjing bernama Rex.
"""
DOES_NOT_REFINE = """
User likes tea. / User likes tea. | User likes tea. / User likes coffee with honey. |
User likes tea. / User hates green tea. | User likes tea. / User does not like green tea. |
User eats meat. / User does not eat red meat. |
User has a dog. / User's neighbour has a brown dog. |
Ana has a dog. / Ben has a dog that Ana likes. | User has 2 dogs. / User has 3 brown dogs. |
User lives in Turin. / User used to live in Turin. |
Pengguna suka teh. / Pengguna tidak suka teh hijau. | コーヒーが好き / コーヒーが好きではない
"""
NOTHING_NEW = """
User likes tea. / user  likes TEA | User likes tea. / The user really loves tea. |
User likes green tea with honey. / User likes tea. | User has a dog named Rex. / User has a dog. |
User has 2 dogs named Rex and Miso. / User has two dogs. |
User hates coffee. / User doesn't like coffee. | Pengguna suka teh hijau. / Pengguna suka teh. |
User likes tea. User has a dog. / User has a dog.
"""
SOMETHING_NEW = """
User likes tea. / User likes green tea. | User likes tea. / User hates tea. |
User has 2 dogs. / User has 3 dogs. | User has dogs. / User has 3 dogs. |
User's neighbour has a dog. / User has a dog. | Ana likes Ben. / Ben likes Ana. |
User prefers tea over coffee. / User prefers coffee over tea. |
User likes Python more than Java. / User likes Java more than Python. |
User likes tea and hates coffee. / User likes coffee and hates tea. |
User likes cats but not dogs. / User does not like cats but likes dogs. |
User likes coffee without sugar. / User likes coffee with sugar. |
User used to play chess. / User plays chess. | User does not eat meat. / User eats meat. |
コーヒーが好きではない / コーヒーが好き
"""


def test_the_newer_says_more() -> None:
    for older, newer in pairs(SAYS_MORE):
        assert refines(newer, older), newer
        assert not refines(older, newer), newer
    for older, newer in [*pairs(DOES_NOT_REFINE), ("", "User likes tea."), ("User likes tea.", "")]:
        assert not refines(newer, older), newer


def test_the_newer_says_nothing_new() -> None:
    for older, newer in pairs(NOTHING_NEW):
        assert says_nothing_new(newer, older), newer
    for older, newer in [*pairs(SOMETHING_NEW), ("User likes tea.", "")]:
        assert not says_nothing_new(newer, older), newer
