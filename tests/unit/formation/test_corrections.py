"""What a later turn takes back, and scenes that go on over several turns."""

import pytest

from ricordo.formation.candidate import TOOL_ROLE, USER_ROLE, Passage
from ricordo.formation.corrections import uncorrected
from ricordo.formation.rules.extracting import extract
from ricordo.limits import MAX_TURN_CHARS
from tests.unit.formation.rules.passages import NOW


def _turns(texts: list[str]) -> list[Passage]:
    return [
        Passage(
            turn_id=number,
            position=number,
            role=USER_ROLE,
            actor=None,
            message_id=None,
            at=NOW,
            text=text,
        )
        for number, text in enumerate(texts, start=1)
    ]


def _left(*texts: str) -> list[str]:
    passages = _turns(list(texts))
    found = [candidate for passage in passages for candidate in extract(passage)]
    return [candidate.content for candidate in uncorrected(found, passages)]


CORRECTED = [
    (["I'm allergic to figs", "sorry, typo. I'm allergic to eggs"], ["User is allergic to eggs."]),
    (["I'm allergic to figs", "I'm allergic to eggs, not figs!"], ["User is allergic to eggs."]),
    (["I live in Bonn", "oops, that was wrong, I live in Rome"], ["User lives in Rome."]),
    (["I live in Bonn", "scratch that"], []),
    (["my favourite tea is oolong", "no wait, it's the green one"], []),
    (["my favourite tea is oolong", "I meant sencha"], []),
    (["my bike is a Trek 520", "update: sold it last week"], []),
    (["I love figs", "wait, no. I love dates"], ["User loves dates."]),
    (["I love figs. Scratch that, I love dates"], ["User loves dates."]),
    (
        ["I play the cello", "Actually, I play the viola, not the cello"],
        ["User plays viola."],
    ),
    (["I'm a baker", "sorry, i typed baker. I'm a barber"], ["User is a barber."]),
    (["saya alergi telur", "eh salah, saya alergi udang"], ["Pengguna alergi udang."]),
    (["saya alergi telur", "bukan telur, saya alergi udang"], ["Pengguna alergi udang."]),
    (["saya tinggal di Bogor", "ralat, saya tinggal di Depok"], ["Pengguna tinggal di Depok."]),
    (["saya tinggal di Bogor", "maaf salah ketik"], []),
    (["aku suka teh", "maksudku kopi"], []),
]
LEFT_ALONE = [
    (
        ["I love figs", "actually I love dates too"],
        ["User loves figs.", "User loves dates."],
    ),
    (
        ["I'm allergic to figs", "actually I'm allergic to dates"],
        ["User is allergic to figs.", "User is allergic to dates."],
    ),
    (
        ["I love jazz", "No, I don't like olives anymore"],
        ["User loves jazz.", "User does not like olives."],
    ),
    (["I love jazz", "No, I hate opera"], ["User loves jazz.", "User hates opera."]),
    (["saya suka jazz", "bukan, saya tidak suka opera"],
     ["Pengguna suka jazz.", "Pengguna tidak suka opera."]),
    (["I live in Bonn", "actually, can you make it shorter?"], ["User lives in Bonn."]),
    (["I live in Bonn", "sorry, one more question"], ["User lives in Bonn."]),
    (["I live in Bonn", "fix the typo in my title"], ["User lives in Bonn."]),
    (["I live in Bonn", "why is it not working?"], ["User lives in Bonn."]),
    (["I live in Bonn", "what is 2+2", "scratch that, what is 3+3"], ["User lives in Bonn."]),
    (
        ["I'm allergic to figs", "I'm allergic to eggs"],
        ["User is allergic to figs.", "User is allergic to eggs."],
    ),
    (["saya tinggal di Bogor", "maksudnya apa?"], ["Pengguna tinggal di Bogor."]),
    (["I live in Bonn", "you're great!", "I love tea"], ["User lives in Bonn.", "User loves tea."]),
    (["Act as a translator.", "I live in Bonn"], ["User lives in Bonn."]),
]  # fmt: skip
PLAYED = [
    (["you are the guard, i am a thief", "I live in the Old Tower. I hate dogs."], []),
    (["Let's role-play. I'm a knight.", "My name is Ben."], []),
    (["kita main peran yuk", "saya tinggal di Majapahit"], []),
    (["I live in Bonn", "Pretend you are my boss", "I hate mornings"], ["User lives in Bonn."]),
    (
        ["Let's role-play a shop.", "I love swords", "ok stop the role-play", "I live in Bonn"],
        ["User lives in Bonn."],
    ),
]


@pytest.mark.requirement("formation.rules")
@pytest.mark.parametrize(("texts", "left"), CORRECTED)
def test_what_is_taken_back_is_withdrawn(texts: list[str], left: list[str]) -> None:
    assert _left(*texts) == left


@pytest.mark.requirement("formation.rules")
@pytest.mark.parametrize(("texts", "left"), LEFT_ALONE)
def test_what_only_sounds_like_a_correction_takes_nothing_back(
    texts: list[str], left: list[str]
) -> None:
    assert _left(*texts) == left


@pytest.mark.requirement("formation.rules")
@pytest.mark.parametrize(("texts", "left"), PLAYED)
def test_a_scene_teaches_nothing_until_it_ends(texts: list[str], left: list[str]) -> None:
    assert _left(*texts) == left


@pytest.mark.requirement("formation.rules")
def test_what_a_tool_gave_back_corrects_nobody() -> None:
    told = _turns(["I live in Bonn"])
    tool = Passage(
        turn_id=9, position=9, role=TOOL_ROLE, actor=None, message_id=None, at=NOW,
        text="scratch that, sorry, typo",
    )  # fmt: skip
    found = extract(told[0])
    assert uncorrected(found, [*told, tool]) == found


@pytest.mark.requirement("formation.rules")
def test_nothing_said_leaves_nothing() -> None:
    assert uncorrected([], []) == []


@pytest.mark.requirement("formation.rules")
@pytest.mark.parametrize(
    "piece",
    ["\n", "not ", "no wait ", "oh ", "i am a, you are a ", "you are a ", ". ", " ", "bukan "],
)
def test_a_text_made_to_be_slow_comes_to_an_end(piece: str) -> None:
    text = (piece * MAX_TURN_CHARS)[:MAX_TURN_CHARS]
    assert _left("I live in Bonn", text) in ([], ["User lives in Bonn."])
