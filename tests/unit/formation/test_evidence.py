"""Evidence: quotes are found where they stand, and what was not said is not supported."""

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.formation.candidate import Material, Passage
from ricordo.formation.evidence import find_quote, occurrence, supports
from tests.unit.formation.rules import passages as rules
from tests.unit.tables import cases

pytestmark = pytest.mark.requirement("formation.evidence")


def passage(text: str, position: int = 1, actor: str | None = None) -> Passage:
    made = rules.passage(text, at=datetime(2026, 5, 1, tzinfo=UTC), number=position)
    return replace(made, actor=actor)


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        ("I live in Rome", "Well, I live in Rome now.", "I live in Rome"),
        ("i LIVE in rome", "Well, I live in Rome now.", "I live in Rome"),
        ("I live\n in   Rome", "I live in\u00a0Rome", "I live in\u00a0Rome"),
        ("I live in Rome", "I  live\nin Rome", "I  live\nin Rome"),
        ("“I'm a nurse”", "So: I’m a nurse.", "I’m a nurse"),
        ('he said "no" to me', "he said «no» to me", "he said «no» to me"),
        ("my cafe\u0301 in Lyon", "I love my café in Lyon", "my café in Lyon"),
        ("ｍｙ ｃａｔ", "this is my cat", "my cat"),
        ("…live in Rome.", "I live in Rome, Italy", "live in Rome"),
        ("京都に住んで", "私は京都に住んでいます。", "京都に住んで"),
        ("I live in Rom", "I live in Rome", None),
        ("live in Rome", "olive in Rome", None),
        ("my cafe", "my café", "my café"),
        ("I live in Oslo", "I live in Rome", None),
        ("Rome", "I live in Rome", None),
        ("I am", "I am here", None),
        ("saya juga", "saya juga suka", None),
        ("京都", "京都に住んでいます", None),
        ("", "x", None),
        ("!!", "!!", None),
        ("a b " * 1_000, "a b " * 1_000, None),
    ],
)
def test_where_a_quote_stands(quote: str, text: str, found: str | None) -> None:
    hit = find_quote(quote, [passage(text)])
    assert (hit[1] if hit else None) == found
    if hit:
        assert hit[1] in text


# What a model writes => what was said, with the words found in brackets.
LOOSE = """
User moved to Leeds in May => Well, [I moved to Leeds in May], did you know?
she has two dogs Max and Bella => [I have two dogs, Max and Bella]!
User works at a bakery => [I work at a bakery] these days
User does not eat meat => [I don't eat meat]
I live ... Rome => [I live in Rome]
I moved to Leeds ... I'm a nurse => [I moved to Leeds in May. It rains. I'm a nurse] there.
we eat meat => [we eat fish and meat]
Me llamo Carmen y estudio enfermeria => [Me llamo Carmen, tengo 34 años y estudio enfermería] aquí.
i always buy warm bread at the corner bakery => [I always get warm bread at the corner bakery]
京都に住んでいる => 私は[京都に住んでいます]。
我在上海工作了三年 => [我在上海已经工作了三年]
"""
UNLIKE = """
I like coffee => I like tea. He hates coffee.
I like coffee => I like tea. Coffee is bad.
I like coffee => I like tea and hate coffee
I love ... Rome => I love Paris. My brother lives in Rome.
I eat meat => I don't eat meat
I eat meat => I do not ever eat meat
I don't eat meat => I eat meat
I am 35 years old => I am 34 years old
I really enjoy mangoes => I really enjoy plums
my sister Ana lives in Oslo with two children => my sister Eva lives in Oslo with two children
大阪に住んでいます => 京都に住んでいます
犬が好きです => 猫と犬がいる。猫が好きです。
肉は食べます => 私は肉は食べません。
私はねこが好きです => 私はいぬが好きです
我住在上海 => 我住在北京
"""


def test_what_a_model_copied_loosely_is_found_and_the_words_really_said_are_returned() -> None:
    for quote, marked in cases(LOOSE):
        text = marked.replace("[", "").replace("]", "")
        hit = find_quote(quote, [passage(text)])
        assert hit is not None, quote
        assert hit[1] == marked.partition("[")[2].partition("]")[0]
    for quote, text in cases(UNLIKE):
        assert find_quote(quote, [passage(text)]) is None, quote
    assert find_quote("I like coffee", [passage("I like tea\ncoffee")]) is None
    assert occurrence("User moved to Leeds", "I moved to Leeds") is None  # others stay strict


def test_what_was_copied_from_material_is_not_looked_for_elsewhere() -> None:
    pasted = Material("My brother moved to Leeds.", "quotation")
    said = replace(passage("I moved to Leeds."), material=(pasted,))
    assert find_quote("brother moved to Leeds", [said]) is None


def test_of_several_the_nearest_counts_and_then_the_latest() -> None:
    said = [passage("I moved to Leeds.", 1), passage("I then moved away to Leeds.", 2)]
    assert find_quote("User moved to Leeds", said) == (said[0], "I moved to Leeds")
    again = [passage("I moved to Leeds!", 3), passage("We moved to Leeds.", 4)]
    assert find_quote("User moved to Leeds", again) == (again[1], "We moved to Leeds")


MEANING = ("garden", "violin", "Leeds", "harbour", "bakery", "Ana", "walks", "winter", "7", "京都")
LITTLE = ("I", "my", "the", "in", "to", "and", "is", "a")


@given(st.lists(st.sampled_from(MEANING + LITTLE), max_size=14), st.data())
def test_a_loose_quote_names_nothing_that_was_not_said(
    said: list[str], data: st.DataObject
) -> None:
    text = " ".join(said)
    quote = " ".join(data.draw(st.lists(st.sampled_from(MEANING + LITTLE), max_size=8)))
    hit = find_quote(quote, [passage(text)])
    if hit is not None:
        assert hit[1] in text
        named = [word for word in quote.split() if word in {"Leeds", "Ana", "7", "京都"}]
        assert all(word in hit[1] for word in named)


@given(st.lists(st.sampled_from(MEANING[:-1]), min_size=4, max_size=12, unique=True), st.data())
def test_a_word_left_out_or_turned_does_not_hide_a_quote(
    said: list[str], data: st.DataObject
) -> None:
    text = " ".join(["I", *said])
    left_out = data.draw(st.integers(1, len(said) - 2))
    kept = said[:left_out] + said[left_out + 1 :]
    hit = find_quote(" ".join(["she", *kept]), [passage(text)])
    assert hit == (passage(text), text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_is_quoted_only_what_was_said_is_found(quote: str, text: str) -> None:
    for one in (quote, text[1:-1], f"{text} {quote}"):
        hit = find_quote(one, [passage(text)])
        assert hit is None or hit[1] in text


def test_letters_in_another_form_are_the_same() -> None:
    apart = unicodedata.normalize("NFD", "がっこう")
    said = passage(f"私の{apart}")
    assert find_quote("がっこう", [said]) == (said, apart)


def test_the_latest_statement_counts() -> None:
    said = [passage("I live in Rome.", 3), passage("i live in rome!", 7), passage("I moved.", 9)]
    hit = find_quote("I live in Rome", said)
    assert hit == (said[1], "i live in rome")
    assert find_quote("I live in Rome", []) is None


@given(st.text(max_size=80), st.data())
def test_every_part_between_spaces_is_found(text: str, data: st.DataObject) -> None:
    parts = text.split()
    start = data.draw(st.integers(0, len(parts)))
    quote = " ".join(parts[start : data.draw(st.integers(start, len(parts)))])
    found = occurrence(quote, text)
    if any(letter.isalnum() for letter in quote):
        assert found is not None
        assert found in text
    hit = find_quote(quote[1:], [passage(text)])
    assert hit is None or hit[1] in text


def test_a_hostile_text_is_worked_off() -> None:
    assert occurrence("aa", "a" * 100_000) is None
    assert occurrence("a a", "a " * 50_000) == "a a"
    assert find_quote("plum " * 300, [passage("plums " * 15_000)]) is None


# What is stored => what was said.
SUPPORTED = """
User lives in Paris. => i live in paris
User lives in Paris. => My flat is in Paris.
User dislikes coffee and prefers tea. => I can't stand coffee, tea is my thing
User has 2 cats. => we have two cats
User eats Italian food. => I love dishes from Italy
User's sister is called Ana. => my sister ana came over
User lives in the US. => I live in the United States
User earns 1,500 a month. => I get 1500 a month
User gets up at 6:30. => I get up at 6:30
User starts work at 8:00. => my work starts at 8
User plans to visit ben on Saturday, 2 May 2026. => I'll visit ben tomorrow
User plans to move on 2026-05-02. => I'm moving tomorrow
User moved in March. => I moved in march
Likes tea. => tea is nice
Pengguna tinggal di Bekasi. => aku di bekasi
Pengguna punya 3 anak. => anak saya tiga
Nutzer arbeitet als Lehrer. => ich unterrichte an einer Schule
Nutzer wohnt in Köln. => ich wohne in köln
Nutzer ist in Rente. => ich arbeite nicht mehr
ユーザーは京都に住んでいる。 => 京都に住んでいます
ユーザーはピーナッツアレルギーがある。 => ピーナッツにアレルギーがあります
ユーザーは猫を2匹飼っている。 => 猫が二匹います
"""
INVENTED = """
User lives in Paris. => I live near the river
User has a sister called Ana. => I have a sister
User has 3 cats. => we have two cats
User has cats. User's dog is named Rex. => we have cats and a dog
User was born in 1985. => I was born in the eighties
New York is where the user lives. => I live in a big city
User codes in Javascript. => I write Java
Pengguna tinggal di Bekasi. => saya tinggal di dekat sungai
Nutzer wohnt in Paris. => ich wohne am Fluss
ユーザーはパリに住んでいる。 => 川の近くに住んでいます
ユーザーは猫を3匹飼っている。 => 猫が二匹います
"""


def test_honest_paraphrases_are_supported_and_inventions_are_not() -> None:
    for content, quote in cases(SUPPORTED):
        assert supports(content, quote), content
    for content, quote in cases(INVENTED):
        assert not supports(content, quote), content


def test_the_passage_counts_beside_the_quote() -> None:
    source = passage("My sister Ana came. She lives in Rome. Last year I moved.", actor="Ben")
    assert supports("User's sister Ana lives in Rome.", "She lives in Rome", source)
    assert supports("User Ben moved in 2025.", "Last year I moved", source)
    assert not supports("User's sister Ana lives in Rome.", "She lives in Rome")
    assert not supports("User moved in 1999.", "Last year I moved", source)
