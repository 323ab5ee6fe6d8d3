"""Whatever is typed finds what it names: identifiers, languages, emoji, typos, operators."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from tests.support.searching import Searching

pytestmark = pytest.mark.requirement("recall.text")

TEXTS = {
    "prefs": "The table user_prefs_v2 replaces the old one",
    "error": "The printer shows ERR-4512 when it is cold",
    "call": "Use getUserById for single rows",
    "dotted": "The setting lives in app.settings.timeout",
    "mail": "Write to ana@example.com about invoices",
    "version": "Runs Python 3.11.7 on the server",
    "cplus": "Writes C++ at work",
    "indonesian": "Suka makan nasi goreng pedas di pagi hari",
    "german": "Wohnt in der Straße der Äpfel neben dem Bäcker",
    "japanese": "毎朝コーヒーを飲んでから東京駅へ行く",
    "thai": "ชอบกินผัดไทยตอนเย็น",
    "french": "Préfère un café crème à Orléans",
    "russian": "Живёт в Москве и любит чай",
    "emoji": "Sends 🎸 when practice is over",
    "flag": "Roots for 🇮🇩 in every match",
    "plain": "Is lactose-intolerant since childhood",
    "price": "Paid $1,299 for the bicycle",
}
FOUND_BY = {
    "prefs": ("user_prefs_v2", "USER_PREFS_V2", "prefs"),
    "error": ("ERR-4512", "err-4512", "4512", "what does “ERR-4512” mean?"),
    "call": ("getUserById", "getuserbyid", "by id user get"),
    "dotted": ("app.settings.timeout", "timeout"),
    "mail": ("ana@example.com", "invoice"),
    "version": ("3.11.7",),
    "cplus": ("C++",),
    "indonesian": ("nasi goreng", "PEDAS"),
    "german": ("strasse", "STRAẞE", "apfel", "A\u0308pfel", "backer"),
    "japanese": ("コーヒー", "東京", "ｺｰﾋｰ"),
    "thai": ("ผัดไทย",),
    "french": ("cafe creme", "orleans"),
    "russian": ("москве", "ЧАЙ"),
    "emoji": ("🎸", "where is my 🎸?"),
    "flag": ("🇮🇩",),
    "plain": ("lactose-intolerant", "intolerance lactose"),
    "price": ("1299", "1,299"),
}
TYPOS = {
    "plain": ("lacto", "lactsoe", "intollerant", "chldhood"),
    "price": ("bicyle",),
    "error": ("printr",),
    "indonesian": ("gorengg",),
    "call": ("getUserByI",),
}
OPERATORS = [
    *('tea AND "coffee', "tea OR", "NOT tea", "NEAR(tea coffee, 2)", "tea*", "^tea", "terms:tea"),
    *("tea:*", "-tea", "(tea", "tea)", "tea & coffee | !milk", "tea <-> coffee", "'tea'", "tea'"),
    *('tea"', "tea\\", "tea; DROP TABLE items; --", "%tea%", "{tea} : coffee", "?1 tea :wanted"),
    *(
        "+tea -coffee ~milk",
        "tea\tcoffee\r\nmilk",
        "🫖 tea",
        "tea \u200b\u202e\ufeff",
        ":tea @> '[]'",
    ),
]
NOTHING_BUT_SIGNS = [
    "&|!()<->",
    '"',
    "''",
    "\\",
    "***",
    "-",
    ":",
    "AND OR NOT",
    "%_",
    "\u200b",
    "…",
]


def words_alone(searching: Searching) -> UserMemory:
    return searching.open(ranking_off="semantic").user("ana")


@pytest.fixture
def filled(searching: Searching) -> tuple[UserMemory, dict[int, str]]:
    ana = words_alone(searching)
    added = ana.add_many(list(TEXTS.values()))
    return ana, dict(zip((one.id for one in added), TEXTS, strict=True))


def assert_found_by(
    filled: tuple[UserMemory, dict[int, str]], expected: dict[str, tuple[str, ...]]
) -> None:
    ana, names = filled
    pairs = [(name, query) for name, queries in expected.items() for query in queries]
    assert [([names[hit.id] for hit in ana.search(query)][:1], query) for _, query in pairs] == [
        ([name], query) for name, query in pairs
    ]


def test_words_of_every_kind_are_found(filled: tuple[UserMemory, dict[int, str]]) -> None:
    assert_found_by(filled, FOUND_BY)


@pytest.mark.requirement("recall.typo")
def test_a_typo_or_a_fragment_still_finds(filled: tuple[UserMemory, dict[int, str]]) -> None:
    assert_found_by(filled, TYPOS)
    assert len(filled[0].search("xylophone")) == len(filled[0].search("zq")) == 0


@pytest.mark.requirement("recall.typo")
def test_a_guess_weighs_less_than_the_word_itself(searching: Searching) -> None:
    ana = words_alone(searching)
    exact = ana.add("Orders lactose in bulk").id
    near = ana.add("Orders lactase in bulk").id
    ana.observe([{"role": "user", "content": "I order lactose"}], thread="t")
    assert [hit.id for hit in ana.search("lactose")] == [exact]
    both = ana.search("lactose lactasw", explain=True)
    assert [hit.id for hit in both] == [exact, near]
    worth = (both[0].explanation or {})["terms"]
    assert worth["lactos"] > worth["lactas"]
    literal = searching.open(ranking_off="semantic,fuzzy").user("ana")
    assert len(literal.search("lactosw")) == len(literal.search_turns("lactosw")) == 0


INFLECTED = {
    "Sie hat zwei Häuser am Meer": "Wem gehört das Haus?",
    "A Ana le gustan los perros": "¿Quién tiene un perro?",
    "Il a acheté des chevaux": "Où est le cheval ?",
    "Pengguna sedang menuliskan laporan": "Siapa yang menulis itu?",
    "У неё дома живут кошки": "Где кошка?",
    "يعمل في المدرسة": "أين مدرسته؟",
    "Bahçede köpekleri besliyor": "Bu köpek kimin?",
    "उसके पास दो किताबें हैं": "वह किताब कहाँ है?",
}


def test_words_are_found_in_the_forms_of_their_own_language(searching: Searching) -> None:
    ana = words_alone(searching)
    stored = {text: ana.add(text).id for text in INFLECTED}
    for text, question in INFLECTED.items():
        assert [hit.id for hit in ana.search(question)] == [stored[text]], question
    town = ana.add("Seit dem Herbst wohnt sie in Bremen").id
    for question in ("Who lives in Bremen?", "Wer wohnt in Bremen?", "Bremen"):
        assert ana.search(question)[0].id == town


def test_every_operator_is_plain_text(searching: Searching) -> None:
    ana = words_alone(searching)
    tea = ana.add("Likes tea").id
    ana.add("Owns a boat")
    ana.observe([{"role": "user", "content": "I like tea"}], thread="t")
    for query in OPERATORS:
        assert [hit.id for hit in ana.search(query)] == [tea], query
    for query in OPERATORS[::5]:
        assert len(ana.search_turns(query)) == 1, query


def test_signs_alone_find_nothing_and_words_are_no_operators(searching: Searching) -> None:
    ana = words_alone(searching)
    ana.add("Likes tea")
    ana.observe([{"role": "user", "content": "I like tea"}], thread="t")
    for query in NOTHING_BUT_SIGNS:
        assert len(ana.search(query)) == len(ana.search_turns(query)) == 0, query
    ben = searching.open(ranking_off="semantic", language="none").user("ben")
    near = ben.add("near the harbour").id
    ben.add("far from it")
    for query in ("NEAR", "NOT near"):
        assert [hit.id for hit in ben.search(query)] == [near]


def test_the_longest_questions_are_answered(searching: Searching) -> None:
    ana = searching.open().user("ana")
    tea = ana.add("漢字 tea 🎸").id
    ana.observe([{"role": "user", "content": "tea 漢字"}], thread="t")
    for query in (
        "".join(chr(0x4E00 + 3 * n) for n in range(997)) + "tea",
        " ".join(f"w{n:03}x" for n in range(166)),
        "".join(chr(0x1F300 + n % 700) for n in range(1000)),
        "aB" * 500,
        "a." * 499 + "b",
        "(" * 1000,
        '"' * 999 + "x",
    ):
        assert [hit.id for hit in ana.search(query)] == [tea]
    assert len(ana.search_turns(query)) == 1


@pytest.mark.requirement("recall.isolation")
def test_users_are_told_apart_whatever_their_names(searching: Searching) -> None:
    memory = searching.open(global_until=0)
    names = ["o'br\\ien", "a & b", "ana:*", "🐈", "x" * 200, "字" * 200, "'", "\\", "%"]
    own = {name: memory.user(name).add("Likes tea").id for name in [*names, "ana", "ANA"]}
    for name, item_id in own.items():
        assert [hit.id for hit in memory.user(name).search("tea")] == [item_id]
        assert [hit.id for hit in memory.user(name).search("tae")] == [item_id]


@pytest.fixture
def any_store(searching_store: Memory) -> UserMemory:
    ana = searching_store.user("ana")
    ana.add_many(["Likes tea", "漢字 and 🎸", "user_prefs_v2 o'clock"])
    ana.observe([{"role": "user", "content": "Some tea, 漢字"}], thread="t")
    return ana


@pytest.mark.fuzz
@given(
    query=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
)
def test_nothing_that_can_be_typed_is_an_error(any_store: UserMemory, query: str) -> None:
    assert len(any_store.search(query)) <= 3
    if query.strip() not in ("", "*"):
        assert len(any_store.search_turns(query)) <= 1


@pytest.mark.fuzz
@given(
    content=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
    ).filter(str.strip)
)
def test_every_text_is_found_by_itself(any_store: UserMemory, content: str) -> None:
    added = any_store.add(content, theme="typed").id
    found = {hit.id: hit for hit in any_store.search(content, theme="typed", limit=50)}
    has_terms = bool(any_store.database.analyser.query_terms(content))
    assert added in found
    if found[added].signals.fts is not None:  # nothing is found by a word that says nothing
        assert has_terms
    any_store.forget(added)
    any_store.purge(before_time=True)


def test_a_rare_identifier_comes_first(searching: Searching) -> None:
    """However alike the others look to a model of meaning."""
    ana = searching.open(embedder=None).user("ana")
    serials = [f"sn{(number * 7_654_321 + 123_456_789) % 10**9:09}" for number in range(40)]
    things = ("laptop", "router", "fridge")
    notes = [f"The {things[place % 3]} has {serial}" for place, serial in enumerate(serials)]
    ana.add_many(notes)
    ana.observe([{"role": "user", "content": note} for note in notes], thread="t")
    for serial in serials[::4]:
        for question in (serial, f"which device has the serial number {serial.upper()}?"):
            assert serial in ana.search(question, limit=1)[0].content_snippet
            assert serial in ana.search_turns(question, limit=1)[0].content_snippet


def test_a_sentence_without_spaces_is_no_word_to_match_exactly(searching: Searching) -> None:
    """Its common syllables would go before all meaning."""
    ana = searching.open().user("ana")
    ana.add_many(
        ["妹は大阪の病院で看護師として働いている。", "昨日の会議で何をしたかを議事録に書いた。"]
    )
    asked = {"妹の仕事は何をしていますか？": False, "明日の天気は？": False, "看護師": True}
    for query, is_word in asked.items():
        explained = [hit.explanation or {} for hit in ana.search(query, threshold=0, explain=True)]
        assert any(one["exact"] > 0 for one in explained) == is_word


def test_an_identifier_of_which_a_part_is_unknown_still_counts(searching: Searching) -> None:
    ana = searching.open().user("ana")
    ana.add_many(["The server runs v1.2.3 of the driver.", "The garden has a new fence."])
    explained = [hit.explanation or {} for hit in ana.search("v1.2.3-beta", explain=True)]
    assert any(one["exact"] > 0 for one in explained)
