"""Each of the seventeen languages is searched by its words: inflected, mistyped, cut, and beside
texts that have only the small words of a question in common with it."""

import unicodedata
from typing import Final, NamedTuple

import pytest

from ricordo import UserMemory
from tests.support.searching import Searching

pytestmark = pytest.mark.requirement("recall.languages")


class Language(NamedTuple):
    """A text; a question with other forms of its words; a text that has only the small words of
    that question; one of the words mistyped; and that word, as it stands in the text."""

    text: str
    question: str
    small_words: str
    mistyped: str
    word: str


LANGUAGES: Final = {
    "English": Language(
        "She repairs old bicycles in the cellar",
        "Where is the bicycle that she is repairing?",
        "She is where that one is",
        "bicycels",
        "bicycles",
    ),
    "Indonesian": Language(
        "Dia menyimpan sepedanya di ruang bawah tanah",
        "Sepeda itu disimpan di mana?",
        "Dia ada di mana saja itu",
        "sepedanyya",
        "sepedanya",
    ),
    "Spanish": Language(
        "Vivió en otro barrio y repara relojes viejos",
        "¿Dónde vive ella?",
        "Está donde está la de ella",
        "barrrio",
        "barrio",
    ),
    "Portuguese": Language(
        "Ele conserta bicicletas velhas na garagem",
        "Onde está a bicicleta velha dele?",
        "Onde está o dele e o dela",
        "cosnerta",
        "conserta",
    ),
    "French": Language(
        "Elle répare de vieilles bicyclettes avec les élèves",
        "Où est la bicyclette de l'élève ?",
        "Où est la même et où est celle-ci",
        "bicylcettes",
        "bicyclettes",
    ),
    "German": Language(
        "Im Keller repariert sie alte Fahrräder für die Nachbarn",
        "Wo ist das Fahrrad des Nachbarn?",
        "Wo ist das und was ist dort?",
        "Fharräder",
        "Fahrräder",
    ),
    "Italian": Language(
        "Ripara vecchie biciclette con gli amici nella cantina",
        "Dove è la bicicletta del suo amico?",
        "Dove è quello e dove è quella?",
        "vecchei",
        "vecchie",
    ),
    "Dutch": Language(
        "Hij repareert oude boeken voor zijn dochters in de kelder",
        "Waar is het boek van zijn dochter?",
        "Waar is het en van wie is dat?",
        "dochtesr",
        "dochters",
    ),
    "Russian": Language(
        "Она чинит старые велосипеды для сестры в подвале",
        "Где велосипед её сестры?",
        "Где она и где её нет",
        "велоиспеды",
        "велосипеды",
    ),
    "Turkish": Language(
        "Bodrumda çocukların bisikletlerini tamir ediyor",
        "Çocuğu nerede?",
        "Bu nerede ve şu nerede?",
        "bisikeltlerini",
        "bisikletlerini",
    ),
    "Arabic": Language(
        "يصلح الدراجات القديمة في المدرسة",
        "أين مدرسته التي هو فيها؟",
        "أين هو ومن هي التي في هذا",
        "الدراجت",
        "الدراجات",
    ),
    "Hindi": Language(
        "वह तहखाने में पुरानी साइकिलें ठीक करता है",
        "उसकी साइकिल कहाँ है?",
        "वह कहाँ है और यह क्या है",
        "साइकलें",
        "साइकिलें",
    ),
    "Vietnamese": Language(
        "Anh ấy sửa những chiếc xe đạp cũ dưới tầng hầm",
        "Xe đạp của anh ấy ở đâu?",
        "Nó là gì và ở đâu?",
        "chiéc",
        "chiếc",
    ),
    "Thai": Language(
        "เขาซ่อมจักรยานเก่าในห้องใต้ดิน",
        "จักรยานของเขาอยู่ที่ไหน",
        "ใครคือคนนั้นและที่ไหนคืออะไร",
        "จักรยน",
        "จักรยาน",
    ),
    "Chinese": Language(
        "他在地下室修理旧自行车", "自行车是什么颜色的？", "那是什么时候的什么", "自行东", "自行车"
    ),
    "Japanese": Language(
        "地下室で古い自転車を直しています",
        "自転車はどこですか？",
        "それはどこでいつですか、これはどこですか",
        "自転者",
        "自転車",
    ),
    "Korean": Language(
        "그는 지하실에서 낡은 자전거를 고칩니다",
        "자전거가 어디에 있나요?",
        "그것은 무엇인가요 그리고 어디에 있나요",
        "자전가",
        "자전거",
    ),
}
_ALL_OF_THEM: Final = 17
_LONG: Final = 24
_SNIPPET_CHARS: Final = 240
_WITHOUT_SPACES: Final = ("Thai", "Chinese", "Japanese")
_WRITTEN_FIRST: Final = ("เ", "แ", "โ", "ใ", "ไ")  # vowels of Thai that belong to the next letter


Filled = tuple[UserMemory, dict[int, str]]


def _filled(searching: Searching, ranking_off: str) -> Filled:
    """All languages, and for each the text that has only small words."""
    ana = searching.open(ranking_off=ranking_off).user("ana")
    texts = [one.text for one in LANGUAGES.values()]
    small = [one.small_words for one in LANGUAGES.values()]
    added = ana.add_many([*texts, *small])
    names = [*LANGUAGES, *(f"{name}, small words" for name in LANGUAGES)]
    return ana, dict(zip((one.id for one in added), names, strict=True))


def _first(filled: Filled, queries: dict[str, str]) -> dict[str, str]:
    ana, names = filled
    found = {name: ana.search(query, threshold=0) for name, query in queries.items()}
    return {name: names[hits[0].id] if hits else "nothing" for name, hits in found.items()}


def test_another_form_of_a_word_finds_it_and_small_words_count_for_nothing(
    searching: Searching,
) -> None:
    filled = _filled(searching, "semantic,fuzzy")
    assert len(LANGUAGES) == _ALL_OF_THEM
    asked = {name: one.question for name, one in LANGUAGES.items()}
    assert _first(filled, asked) == {name: name for name in LANGUAGES}
    ana, names = filled
    for name, one in LANGUAGES.items():
        (best, *_) = ana.search(one.question, explain=True, threshold=0)
        weighed = (best.explanation or {})["terms"]
        other = next(one_id for one_id, known in names.items() if known == f"{name}, small words")
        rest = [hit for hit in ana.search(one.question, threshold=0) if hit.id == other]
        assert weighed, name
        assert [hit.signals.fts for hit in rest] in ([], [0.0]), name


@pytest.mark.requirement("recall.typo")
def test_a_slip_in_a_word_still_finds_it(searching: Searching) -> None:
    filled = _filled(searching, "semantic")
    assert _first(filled, {name: one.mistyped for name, one in LANGUAGES.items()}) == {
        name: name for name in LANGUAGES
    }


def test_a_snippet_shows_the_word_and_takes_no_letter_apart(searching: Searching) -> None:
    ana = searching.open(ranking_off="semantic").user("ana")
    spaces = {name: "" if name in _WITHOUT_SPACES else " " for name in LANGUAGES}
    texts = {name: _in_the_middle(one, spaces[name]) for name, one in LANGUAGES.items()}
    ana.add_many([{"content": text, "theme": name} for name, text in texts.items()])
    for name, one in LANGUAGES.items():
        (hit,) = ana.search(one.word, theme=name, threshold=0)
        shown, space = hit.content_snippet, spaces[name]
        assert one.word in shown, name
        assert len(shown) <= _SNIPPET_CHARS
        assert shown.startswith("…"), name
        assert shown.endswith("…"), name
        inner = shown.strip("…")
        assert unicodedata.category(inner[0])[0] != "M", name
        before, after = texts[name].split(inner, 1)
        assert unicodedata.category(after[0])[0] != "M", name
        if space:
            assert before.endswith(" "), name
            assert after.startswith(" "), name
        assert not before.endswith(_WRITTEN_FIRST), name
        assert not inner.endswith(_WRITTEN_FIRST), name


def _in_the_middle(one: Language, space: str) -> str:
    around = space.join([one.small_words.rstrip("?？")] * _LONG)
    return f"{around}{space}{one.text}{space}{around}"
