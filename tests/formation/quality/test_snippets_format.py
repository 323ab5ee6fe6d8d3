"""The labelled snippets: their format, their number and spread, and that none repeats another."""

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from tests.formation.quality.snippets import BadSnippet, load, parse
from tests.formation.quality.vocabulary import (
    ATTRIBUTES,
    KEEPING,
    LANGUAGES,
    ROLES,
    SENSITIVE,
    TEMPTING,
)

SNIPPETS = load()
# The languages that the rule-based extractor knows; the others are there for a model.
KNOWN_TO_THE_RULES = ("en", "id")
LEAST = {"en": 130, "id": 80, "de": 15, "ja": 15}
MOST_WORDS_SHARED = 0.7
GOOD: dict[str, object] = {
    "id": "en-home-01",
    "language": "en",
    "category": "home",
    "turns": [{"role": "user", "content": "I live in Bekasi, know a plumber?"}],
    "facts": [
        {
            "what": "home_city",
            "must_contain": ["Bekasi"],
            "must_not_contain": ["plumber"],
            "type": ["fact"],
            "explicit": False,
            "sensitive": "city",
        }
    ],
    "nothing": False,
    "never": [],
    "note": "home beside a request",
}
FACT: dict[str, object] = GOOD["facts"][0]  # type: ignore[index]


def changed(**fields: object) -> str:
    return json.dumps({**GOOD, **fields})


def with_fact(**fields: object) -> str:
    return changed(facts=[{**FACT, **fields}])


@pytest.mark.requirement("formation.quality")
def test_a_good_line_is_read_whole() -> None:
    snippet = parse(changed(optional=[{**FACT, "must_contain": ["live"]}]))
    assert snippet.said("user") == "I live in Bekasi, know a plumber?"
    assert snippet.facts[0].must_contain == ("Bekasi",)
    assert snippet.facts[0].types == ("fact",)
    assert snippet.optional[0].must_contain == ("live",)
    assert not snippet.nothing


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "Expecting value"),
        ("[]", "expected an object"),
        ('{"id": "a", "id": "b"}', "given twice"),
        ("{}", "missing fields"),
        (changed(extra=1), "unknown fields"),
        (changed(language="fr"), "language"),
        (changed(category="weather"), "category"),
        (changed(id="en-work-01"), "language-category-NN"),
        (changed(id="en-home-1"), "language-category-NN"),
        (changed(turns=[]), "the user says nothing"),
        (changed(turns=[{"role": "assistant", "content": "hi"}]), "the user says nothing"),
        (changed(turns=[{"role": "bot", "content": "hi"}]), "role"),
        (changed(turns=[{"role": "user", "content": " "}]), "content"),
        (changed(turns=[{"role": "user"}]), "missing fields"),
        (changed(nothing=True), "nothing"),
        (changed(facts=[]), "nothing"),
        (changed(nothing=0), "nothing"),
        (changed(never="plumber"), "expected a list"),
        (changed(never=["Jakarta"]), "does not occur"),
        (changed(never=["bekasi"]), "both wanted and refused"),
        (changed(never=["plumber", "plumber"]), "twice"),
        (changed(note=""), "note"),
        (with_fact(what="shoe_size"), "what"),
        (with_fact(type=["summary"]), "type"),
        (with_fact(type=[]), "at least one"),
        (with_fact(must_contain=[]), "at least one"),
        (with_fact(must_contain=["Depok"]), "did not say"),
        (with_fact(must_contain=["Bekasi "]), "space"),
        (with_fact(must_not_contain=["kasi"]), "both wanted and refused"),
        (with_fact(explicit=None), "explicit"),
        (with_fact(sensitive="shoes"), "sensitive"),
        (changed(optional=[{**FACT, "must_contain": ["Depok"]}]), "did not say"),
    ],
)
def test_a_bad_line_is_refused_with_its_place(line: str, problem: str) -> None:
    with pytest.raises(BadSnippet, match=problem) as refusal:
        parse(line, "some.jsonl:7")
    assert str(refusal.value).startswith("some.jsonl:7: ")


@pytest.mark.requirement("formation.quality")
def test_an_id_may_occur_once_in_all_files(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(changed() + "\n", encoding="utf-8")
    with pytest.raises(BadSnippet, match="b.jsonl:1: the id 'en-home-01' occurs twice"):
        load(tmp_path)


@pytest.mark.requirement("formation.quality")
def test_an_empty_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(changed() + "\n\n", encoding="utf-8")
    with pytest.raises(BadSnippet, match="a.jsonl:2"):
        load(tmp_path)


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize(("language", "least"), LEAST.items())
def test_there_are_enough_and_nearly_half_have_nothing_to_keep(language: str, least: int) -> None:
    empty = [one.nothing for one in SNIPPETS if one.language == language]
    assert len(empty) >= least
    assert 0.38 <= sum(empty) / len(empty) <= 0.52


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize("language", KNOWN_TO_THE_RULES)
def test_every_attribute_comes_in_several_wordings(language: str) -> None:
    count = Counter(fact.what for one in SNIPPETS if one.language == language for fact in one.facts)
    assert [what for what in ATTRIBUTES if count[what] < 2] == []


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize("language", KNOWN_TO_THE_RULES)
def test_every_category_is_there(language: str) -> None:
    there = {one.category for one in SNIPPETS if one.language == language}
    assert set(KEEPING) | set(TEMPTING) == there


@pytest.mark.requirement("formation.quality")
def test_a_category_to_keep_has_something_to_keep() -> None:
    assert [
        one.id for one in SNIPPETS if one.category in KEEPING and not one.facts and not one.optional
    ] == []
    assert [one.id for one in SNIPPETS if one.category in TEMPTING and one.facts] == []


@pytest.mark.requirement("formation.quality")
def test_every_consent_field_and_every_kind_of_turn_is_there() -> None:
    expected = [fact for one in SNIPPETS for fact in one.facts]
    assert {fact.sensitive for fact in expected} == {None, *SENSITIVE}
    assert {fact.explicit for fact in expected} == {True, False}
    assert {turn.role for one in SNIPPETS for turn in one.turns} == set(ROLES)
    assert set(LEAST) == set(LANGUAGES)


@pytest.mark.requirement("formation.quality")
def test_a_secret_is_always_named_as_never() -> None:
    assert [one.id for one in SNIPPETS if one.category == "secret" and not one.never] == []


@pytest.mark.requirement("formation.quality")
def test_no_turn_has_more_to_keep_than_may_be_written() -> None:
    # At most 3 writes a turn: more could not all be stored, however good the former is.
    assert [
        one.id
        for one in SNIPPETS
        if len(one.facts) > 3 * sum(turn.role == "user" for turn in one.turns)
    ] == []


@pytest.mark.requirement("formation.quality")
def test_no_two_are_nearly_the_same() -> None:
    words = {one.id: set(re.findall(r"\w+", one.said("user").casefold())) for one in SNIPPETS}
    alike = [
        (a, b)
        for a, b in combinations(words, 2)
        if len(words[a] & words[b]) / len(words[a] | words[b]) > MOST_WORDS_SHARED
    ]
    assert alike == []
    assert len({one.said() for one in SNIPPETS}) == len(SNIPPETS)
