"""Whatever is typed finds what it names: identifiers, languages, emoji, typos, operators."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Memory, UserMemory
from ricordo.testing.embedder import WordEmbedder
from tests.support.searching import ENGINES, Searching

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
FOUND_BY = [
    ("prefs", "user_prefs_v2"),
    ("prefs", "USER_PREFS_V2"),
    ("prefs", "prefs"),
    ("error", "ERR-4512"),
    ("error", "err-4512"),
    ("error", "4512"),
    ("error", "what does “ERR-4512” mean?"),
    ("call", "getUserById"),
    ("call", "getuserbyid"),
    ("call", "by id user get"),
    ("dotted", "app.settings.timeout"),
    ("dotted", "timeout"),
    ("mail", "ana@example.com"),
    ("mail", "invoice"),
    ("version", "3.11.7"),
    ("cplus", "C++"),
    ("indonesian", "nasi goreng"),
    ("indonesian", "PEDAS"),
    ("german", "strasse"),
    ("german", "STRAẞE"),
    ("german", "apfel"),
    ("german", "A\u0308pfel"),
    ("german", "backer"),
    ("japanese", "コーヒー"),
    ("japanese", "東京"),
    ("japanese", "ｺｰﾋｰ"),
    ("thai", "ผัดไทย"),
    ("french", "cafe creme"),
    ("french", "orleans"),
    ("russian", "москве"),
    ("russian", "ЧАЙ"),
    ("emoji", "🎸"),
    ("emoji", "where is my 🎸?"),
    ("flag", "🇮🇩"),
    ("plain", "lactose-intolerant"),
    ("plain", "intolerance lactose"),
    ("price", "1299"),
    ("price", "1,299"),
]
TYPOS = [
    ("plain", "lacto"),
    ("plain", "lactsoe"),
    ("plain", "intollerant"),
    ("plain", "chldhood"),
    ("price", "bicyle"),
    ("error", "printr"),
    ("indonesian", "gorengg"),
    ("call", "getUserByI"),
]
OPERATORS = [
    'tea AND "coffee',
    "tea OR",
    "NOT tea",
    "NEAR(tea coffee, 2)",
    "tea*",
    "^tea",
    "terms:tea",
    "tea:*",
    "-tea",
    "(tea",
    "tea)",
    "tea & coffee | !milk",
    "tea <-> coffee",
    "'tea'",
    "tea'",
    'tea"',
    "tea\\",
    "tea; DROP TABLE items; --",
    "%tea%",
    "{tea} : coffee",
    "+tea -coffee ~milk",
    "tea\tcoffee\r\nmilk",
    "🫖 tea",
    "tea \u200b\u202e\ufeff",
    ":tea @> '[]'",
    "?1 tea :wanted",
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


@pytest.mark.requirement("recall.text")
def test_words_of_every_kind_are_found(filled: tuple[UserMemory, dict[int, str]]) -> None:
    ana, names = filled
    found = [(query, [names[hit.id] for hit in ana.search(query)][:1]) for _, query in FOUND_BY]
    assert found == [(query, [name]) for name, query in FOUND_BY]


@pytest.mark.requirement("recall.typo")
def test_a_typo_or_a_fragment_still_finds(filled: tuple[UserMemory, dict[int, str]]) -> None:
    ana, names = filled
    found = [(query, [names[hit.id] for hit in ana.search(query)][:1]) for _, query in TYPOS]
    assert found == [(query, [name]) for name, query in TYPOS]
    assert len(ana.search("xylophone")) == 0
    assert len(ana.search("zq")) == 0


@pytest.mark.requirement("recall.typo")
def test_a_guess_weighs_less_than_the_word_itself(searching: Searching) -> None:
    ana = words_alone(searching)
    exact = ana.add("Orders lactose in bulk").id
    near = ana.add("Orders lactase in bulk").id
    assert [hit.id for hit in ana.search("lactose")] == [exact]
    both = ana.search("lactose lactasw", explain=True)
    assert [hit.id for hit in both] == [exact, near]
    worth = (both[0].explanation or {})["terms"]
    assert worth["lactos"] > worth["lactas"]


@pytest.mark.requirement("recall.typo")
def test_guessing_can_be_turned_off(searching: Searching) -> None:
    ana = searching.open(ranking_off="semantic,fuzzy").user("ana")
    ana.add("Is lactose-intolerant")
    ana.observe([{"role": "user", "content": "I am lactose-intolerant"}], thread="t")
    assert len(ana.search("lactosw")) == 0
    assert len(ana.search_turns("lactosw")) == 0


@pytest.mark.requirement("recall.text")
def test_every_operator_is_plain_text(searching: Searching) -> None:
    ana = words_alone(searching)
    tea = ana.add("Likes tea").id
    ana.add("Owns a boat")
    ana.observe([{"role": "user", "content": "I like tea"}], thread="t")
    for query in OPERATORS:
        assert [hit.id for hit in ana.search(query)] == [tea], query
        assert len(ana.search_turns(query)) == 1, query
    for query in NOTHING_BUT_SIGNS:
        assert len(ana.search(query)) == 0, query
        assert len(ana.search_turns(query)) == 0 if query != "*" else True, query


@pytest.mark.requirement("recall.text")
def test_words_such_as_and_or_near_are_no_operators(searching: Searching) -> None:
    ana = searching.open(ranking_off="semantic", language="none").user("ana")
    near = ana.add("near the harbour").id
    ana.add("far from it")
    assert [hit.id for hit in ana.search("NEAR")] == [near]
    assert [hit.id for hit in ana.search("NOT near")] == [near]


@pytest.mark.requirement("recall.text")
def test_the_longest_questions_are_answered(searching: Searching) -> None:
    ana = searching.open().user("ana")
    tea = ana.add("漢字 tea 🎸").id
    ana.observe([{"role": "user", "content": "tea 漢字"}], thread="t")
    for query in (
        "".join(chr(0x4E00 + 3 * n) for n in range(997)) + "tea",
        " ".join(f"w{n:03}x" for n in range(166)),
        "".join(chr(0x1F300 + n % 700) for n in range(1000)),
        "".join(chr(0x3300 + (n * n + n * 7) % 88) for n in range(1000)),
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
    names = ["o'br\\ien", "a & b", "ana:*", "🐈", "x" * 200, "字" * 200, "'", "\\", "a|!(c)", "%"]
    own = {name: memory.user(name).add("Likes tea").id for name in [*names, "@ana", "ana", "ANA"]}
    for name, item_id in own.items():
        assert [hit.id for hit in memory.user(name).search("tea")] == [item_id]
        assert [hit.id for hit in memory.user(name).search("tae")] == [item_id]


@pytest.fixture(params=ENGINES)
def any_store(
    request: pytest.FixtureRequest, backend_url: str, open_store: Callable[..., Memory]
) -> UserMemory:
    memory = open_store(backend_url, embedder=WordEmbedder(), **ENGINES[request.param])
    ana = memory.user("ana")
    ana.add_many(["Likes tea", "漢字 and 🎸", "user_prefs_v2 o'clock"])
    ana.observe([{"role": "user", "content": "Some tea, 漢字"}], thread="t")
    return ana


@pytest.mark.requirement("recall.text")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    query=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
)
def test_nothing_that_can_be_typed_is_an_error(any_store: UserMemory, query: str) -> None:
    assert len(any_store.search(query)) <= 3
    if query.strip() not in ("", "*"):
        assert len(any_store.search_turns(query)) <= 1


@pytest.mark.requirement("recall.text")
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    content=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
    ).filter(str.strip)
)
def test_every_text_is_found_by_itself(any_store: UserMemory, content: str) -> None:
    added = any_store.add(content, theme="typed").id
    found = {hit.id: hit for hit in any_store.search(content, theme="typed", limit=50)}
    has_terms = bool(any_store.database.analyser.terms(content))
    assert added in found
    assert (found[added].signals.fts is not None) == has_terms
    any_store.forget(added)
    any_store.purge(before_time=True)
