"""What a later turn takes back, and scenes that go on over several turns."""

from unittest import mock

import pytest

from ricordo.formation.conflicts import REDUNDANT, Resolution, with_memories_of
from ricordo.formation.extraction import corrected, played
from ricordo.formation.gate import gate
from ricordo.formation.own_words import in_own_words
from ricordo.limits import MAX_READ_TURN_CHARS
from ricordo.model.item import Item
from ricordo.model.vocabulary import Action
from tests.unit.formation.rules.passages import passage, said
from tests.unit.tables import cases

pytestmark = pytest.mark.requirement("formation.rules")

# Turns, one after the other => what is learned in the end.
CORRECTED = """
I'm allergic to figs / sorry, typo. I'm allergic to eggs => User is allergic to eggs.
I'm allergic to figs / I'm allergic to eggs, not figs! => User is allergic to eggs, not figs.
I live in Bonn / oops, that was wrong, I live in Rome => User lives in Rome.
I live in Bonn / scratch that => nothing
my favourite tea is oolong / no wait, it's the green one => nothing
my favourite tea is oolong / I meant sencha => nothing
my bike is a Trek 520 / update: sold it last week => Sold it last week.
I love figs. Scratch that, I love dates => User loves dates.
I love figs / wait, no. I love dates => User loves dates.
I'm a baker / sorry, i typed baker. I'm a barber => User is a barber.
saya alergi telur / eh salah, saya alergi udang => Pengguna alergi udang.
saya alergi telur / bukan telur, saya alergi udang => Pengguna alergi udang.
saya tinggal di Bogor / ralat, saya tinggal di Depok => Pengguna tinggal di Depok.
saya tinggal di Bogor / maaf salah ketik => nothing
aku suka teh / maksudku kopi => Maksudku kopi.
"""
LEFT_ALONE = """
I love figs / actually I love dates too => User loves figs. User loves dates too.
I love jazz / No, I hate opera => User loves jazz. User hates opera.
I live in Bonn / actually, can you make it shorter? => User lives in Bonn.
I live in Bonn / sorry, one more question => User lives in Bonn.
I live in Bonn / fix the typo in my title => User lives in Bonn.
I live in Bonn / why is it not working? => User lives in Bonn.
I live in Bonn / what is 2+2 / scratch that, what is 3+3 => User lives in Bonn.
I'm allergic to figs / I'm allergic to eggs => User is allergic to figs. User is allergic to eggs.
saya tinggal di Bogor / maksudnya apa? => Pengguna tinggal di Bogor.
I live in Bonn / you're great! / I love tea => User lives in Bonn. User loves tea.
Act as a translator. / I live in Bonn => User lives in Bonn.
"""
PLAYED = """
you are the guard, i am a thief / I live in the Old Tower. I hate dogs. => nothing
Let's role-play. I'm a knight. / My name is Ben. => nothing
kita main peran yuk / saya tinggal di Majapahit => nothing
I live in Bonn / Pretend you are my boss / I hate mornings => User lives in Bonn.
Let's role-play a shop. / I love swords / ok stop the role-play / I live in Bonn
    => User lives in Bonn.
"""


def left(*texts: str) -> str:
    turns = [passage(text, number=number) for number, text in enumerate(texts, start=1)]
    readings = {turn.turn_id: gate().read(turn.text) for turn in turns}
    found = [one for turn in turns for one in in_own_words(turn, readings[turn.turn_id])]
    kept = [one for one in found if one.passage.turn_id not in played(turns)]
    gone = corrected(kept, turns, readings)
    told = [one.content.rstrip(".!") for one in kept if one not in gone]
    return " ".join(f"{content}." for content in told) or "nothing"


@pytest.mark.parametrize(
    "table", [CORRECTED, LEFT_ALONE, PLAYED], ids=["taken back", "not", "played"]
)
def test_what_is_taken_back_or_only_played_is_not_learned(table: str) -> None:
    for turns, expected in cases(table):
        assert left(*turns.split(" / ")) == expected, turns


@pytest.mark.parametrize(
    "chars", [4_000, pytest.param(MAX_READ_TURN_CHARS, marks=pytest.mark.slow)]
)
def test_a_text_made_to_be_slow_comes_to_an_end(chars: int) -> None:
    for piece in ("\n", "not ", "no wait ", "oh ", "i am a, you are a ", "you are a ", ". ", " "):
        text = (piece * chars)[:chars]
        assert left("I live in Bonn", text) in ("nothing", "User lives in Bonn.")


def test_what_only_repeats_something_new_ends_nothing() -> None:
    (tea,) = said("I love tea.")
    repeated = Resolution(
        candidate=tea, action=Action.IGNORE, reason=REDUNDANT
    )  # of another new statement: no target
    old = mock.create_autospec(Item, instance=True, id=7)
    assert with_memories_of("ana", [repeated], {tea.passage.turn_id: [old]}) == [repeated]
