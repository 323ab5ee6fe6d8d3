"""The terms of a text: what is found by what, and what no text can break."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_TERMS_PER_TEXT
from ricordo.text import analyser as analysing
from ricordo.text.analyser import Analyser, languages, stemmer
from ricordo.text.normalise import word_lists
from tests.unit.tables import cases

pytestmark = pytest.mark.requirement("recall.text")

ENGLISH = Analyser("english")
AUTO = Analyser()
PLAIN = Analyser("none")

# Lone surrogates included: a str can hold them.
any_text = st.text(st.characters(codec=None), max_size=80)
letters = st.text("abcxyzäöüßéèñçøłđæœıåšžğ АБВгдеёйщъ ΑΒΓαβγάώς ", min_size=1, max_size=40)


def terms(text: str) -> list[str]:
    return ENGLISH.terms(text)


# A text => its terms.
TERMS = """
user_prefs_v2 => user_prefs_v2 user pref v2
getUserById => getuserbyid get user by id
HTTPServer => httpserver http server
userPreferences => userpreferences userprefer user prefer
URLs => url
ricordo.db => ricordo.db ricordo db
a.b.c => a.b.c a b c
ERR-4512 => err-4512 err 4512
lactose-intolerant => lactose-intolerant lactos intoler
state-of-the-art => state-of-the-art state art
__init__ => init
C++ or C# => c++ c c# c
ana.silva@example.com => ana.silva@example.com ana.silva ana silva example.com exampl com
/srv/notes_v2.txt => srv notes_v2.txt note v2 txt
https://example.com/a?q=1 => https example.com exampl com q 1
2024-05-07 => 2024-05-07 2024 05 07
3.14 => 3.14
2,500 => 2,500 2500
1,234.56 => 1,234.56 1234.56
3,14 => 3,14
1,2,3 => 1 2 3
10.0.0.1 => 10.0.0.1
٣٤ => 34
10² => 102
Straße Søren Łódź Æsop => strass soren lodz aesop
ﬁne Ｆｕｌｌ => fine full
Ana's cats' ANA’S => ana cat ana
O'Brien => o brien
running runs ran => run run ran
What will she do with the tea? => tea
Hawaiʻi => hawaii
東京タワー => 東京 京タ タワ ワー
日 => 日
ﾃｽﾄ => テス スト
한국어 => 한국 국어
สวัสดี => สว วั ัส สด ดี
ລາວ ខ្មែរ => ລາ າວ ខ្ ្ម មែ ែរ
iPhone15を買う => iphone15 i phone15 を買 買う
हिन्दी => हिन्दी
🎉 => 🎉
party🎉🎉 => parti 🎉 🎉
🇮🇩🇫🇷 => 🇮🇩 🇫🇷
€500 => € 500
"""
SPECIAL = {
    "C:\\Users\\ana": ["c", "user", "ana"],
    "so\xadft wi\u200bde b\x07ell": ["soft", "wide", "bell"],
    "don't we'll I'm they’ve": [],
    "\U0001f469\u200d\U0001f4bb \U0001f44d\U0001f3fd \u2764\ufe0f": ["👩", "👍", "❤"],
}


def test_the_terms_of_a_text() -> None:
    for text, expected in cases(TERMS):
        assert terms(text) == expected.split()
    for text, found in SPECIAL.items():
        assert terms(text) == found


LANGUAGES = """
indonesian: Saya sedang menulis buku untuk mereka => ulis buku
german: Die Häuser für den Jungen => haus jung
spanish: ¿Dónde están las niñas? => nin
french: L'été dans les maisons => ete maison
italian: l'amico della città => amic citt
dutch: Ik heb de boeken van haar => boek
portuguese: Não gosto das maçãs => gost mac
russian: красный красная => красн красн
none: The houses, don't => the houses don t
"""


def test_each_language_has_its_stop_words_and_stems() -> None:
    for given_text, expected in cases(LANGUAGES):
        language, text = given_text.split(": ")
        assert Analyser(language).terms(text) == expected.split()


OF_THEIR_OWN = """
Wie heißen Bens Katzen? => heiss ben katz | heiss heissen ben katz katzen
Where do Ana's cats live? => ana cat live | ana cat live
¿Dónde duermen los gatos? => duerm gat | duerm duermen gat gato
У неё две кошки => две кошк | две кошк кошки
أين تعيش القطط؟ => تعيش قطط | تعيش قطط القطط
Kedileri nasıl buldun? => kedi bul | kedi kedileri bul buldun
Tên con mèo là gì? => ten con meo | ten con meo
Bremen => bremen | bremen
猫の名前は => 猫の の名 名前 前は | 猫の の名 名前 前は
ana.silva@example.com => ana.silva@example.com ana.silva ana silva example.com exampl com |
"""


def test_each_text_may_have_the_terms_of_its_own_language() -> None:
    for text, expected in cases(OF_THEIR_OWN):
        asked, _, stored = expected.partition("|")
        assert AUTO.query_terms(text) == asked.split()
        assert AUTO.terms(text) == (stored or asked).split()
    assert AUTO.like("Wie heißen Bens Katzen?").terms("Katzen") == ["katz"]


def test_search_operators_are_plain_text() -> None:
    for text in (
        *('tea AND "milk', "tea OR milk)", "NOT tea (milk", 'NEAR("tea" milk, 5)', "tea* ^milk"),
        *("content:tea - milk", "{tea milk} + tea", "tea & milk | !milk <-> tea:*"),
        "'tea' \\ % _ `milk`",
    ):
        assert {"tea", "milk"} <= set(ENGLISH.query_terms(text))


@given(any_text)
@example("don't#")
@example("a'b,c@d#")
@example("\ud800'\udfff:`\"")
def test_every_term_obeys_the_alphabet(text: str) -> None:
    for analyser in (ENGLISH, PLAIN, AUTO):
        for term in analyser.terms(text):
            assert 1 <= len(term) <= 64
            assert not any(letter.isspace() for letter in term)
            assert not set(term) & set("\x00\"'`:")
            term.encode("utf-8")
    assert ENGLISH.query_terms(text) == list(dict.fromkeys(ENGLISH.terms(text)))


@given(any_text)
def test_the_unicode_form_does_not_matter(text: str) -> None:
    for analyser in (ENGLISH, AUTO):
        wanted = analyser.terms(text)
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            assert analyser.terms(unicodedata.normalize(form, text)) == wanted, form


@given(letters)
def test_case_does_not_matter(text: str) -> None:
    assert terms(text.upper()) == terms(text.lower()) == terms(text.casefold())


@given(letters)
def test_diacritics_do_not_matter(text: str) -> None:
    apart = unicodedata.normalize("NFD", text.lower().replace("й", ""))
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    assert terms(bare) == terms(apart)


def test_long_words_and_texts_are_cut() -> None:
    assert terms("q" * 1_000) == ["q" * 64]
    assert len(terms("word " * 10_000)) == MAX_TERMS_PER_TEXT
    assert len(terms("x.y." * 10_000)) == MAX_TERMS_PER_TEXT
    assert len(terms("東" * 10_000)) == MAX_TERMS_PER_TEXT


def test_a_language_must_exist() -> None:
    with pytest.raises(
        InvalidValue, match="language: 'klingon' is not one of: auto, none, .*english"
    ):
        Analyser("klingon")
    assert Analyser("german").language == "german"


def test_fingerprints_tell_analysers_apart() -> None:
    every = ["auto", "none", *languages()]
    assert len({Analyser(language).fingerprint for language in every}) == len(every)
    assert Analyser().fingerprint == Analyser("auto").fingerprint
    assert len(Analyser().fingerprint) < 64


def test_stemming_loads_one_language_only() -> None:
    assert Analyser("finnish").terms("talossa") == ["talo"]
    assert "snowballstemmer" not in sys.modules


def test_threads_do_not_mix_up_each_others_words() -> None:
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}ationalizers" for n in range(676)]
    alone, shared = (stemmer.__wrapped__("porter") for _ in range(2))  # each with its own memory
    expected = [alone(word) for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(shared, words)) == expected
    finally:
        sys.setswitchinterval(interval)


LONG_WORDS = (
    "generously succeed proceeding dying skies only internationalization hopefulness electrical"
    " hopping relational goodness yes yellow hyphenated angling conditional communism 's dogs'"
    " häuser aufeinander verfügbarkeit freundlichkeiten aufgegessen memperbaiki keberhasilan"
    " pekerjaannya диктатуры красивейшими осталось kitaplarımızdan gidiyorduk arkadaşlarınız"
)


def test_a_sign_is_one_term_in_every_language() -> None:
    for language in languages():
        analyser = Analyser(language)
        assert analyser.terms("¬ 👩\u200d👩\u200d👧") == analyser.query_terms("¬ 👩") == ["¬", "👩"]


@pytest.mark.parametrize("language", ["english", "german", "indonesian", "russian", "turkish"])
def test_stems_are_those_of_the_stemmer_as_it_comes(language: str) -> None:
    ours = analysing._load(language)
    module = sys.modules[f"{analysing._UNOPENED_PACKAGE}.{language}_stemmer"]
    as_it_comes = getattr(module, f"{language.capitalize()}Stemmer")()
    words = sorted(word_lists("stop_words")[language] | set(LONG_WORDS.split()))
    assert [ours(word) for word in words] == [as_it_comes.stemWord(word) for word in words]
