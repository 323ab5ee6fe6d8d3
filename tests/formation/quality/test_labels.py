"""The labelled snippets and their scorer: format, number and spread, and what counts as right."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ricordo.testing import WordEmbedder
from ricordo_bench.formation import (
    EVERYTHING,
    Fact,
    MeasuredSet,
    Outcome,
    Snippet,
    Stored,
    Turn,
    judge,
    measure_formation,
    read_labelled,
    total,
)

pytestmark = pytest.mark.requirement("formation.quality")

SETS = ("snippets", "everyday", "held_out", "blind", "languages")
"""The rules were written with the first two at hand, and without looking at the others."""
FOLDER = Path(__file__).parent
WORDS = json.loads((FOLDER / "vocabulary.json").read_text(encoding="utf-8"))
LANGUAGES, ROLES, TYPES = WORDS["languages"], WORDS["roles"], WORDS["types"]
ATTRIBUTES, SENSITIVE = WORDS["attributes"], WORDS["sensitive"]
KEEPING, TEMPTING = WORDS["keeping"], WORDS["tempting"]
SNIPPETS = read_labelled(FOLDER / "snippets")
# Written without looking at the rules, nor taken from the other sets.
OF_LANGUAGES = read_labelled(FOLDER / "languages")
# The languages that the rule-based extractor knows; the others are there for a model.
KNOWN_TO_THE_RULES = ("en", "id")


def test_every_line_keeps_to_the_vocabularies_and_contradicts_nothing() -> None:
    for one in (one for name in SETS for one in read_labelled(FOLDER / name)):
        kind = one.category.replace("_", "-")
        assert re.fullmatch(rf"{one.language}-{kind}-\d\d", one.id)
        assert one.language in LANGUAGES
        assert one.category in (*KEEPING, *TEMPTING)
        assert {turn.role for turn in one.turns} <= set(ROLES)
        assert one.nothing is not bool(one.facts or one.optional)
        said = one.said().casefold()
        assert all(word.casefold() in said for word in one.never)
        for fact in (*one.facts, *one.optional):
            assert (fact.what in ATTRIBUTES, fact.sensitive in (None, *SENSITIVE)) == (True, True)
            assert set(fact.types) <= set(TYPES)
            assert fact.types
            # An optional fact may be put in words of its own ("not" for "don't"), but not wholly.
            by_user = one.said("user").casefold()
            said_of_it = [word.casefold() in by_user for word in fact.must_contain]
            assert all(said_of_it) if fact in one.facts else any(said_of_it)


def test_every_attribute_category_consent_field_and_kind_of_turn_is_there() -> None:
    for language in KNOWN_TO_THE_RULES:
        mine = [one for one in SNIPPETS if one.language == language]
        count = Counter(fact.what for one in mine for fact in one.facts)
        assert [what for what in ATTRIBUTES if count[what] < 2] == []
        assert {*KEEPING, *TEMPTING} == {one.category for one in mine}
    assert len(SNIPPETS) == len({one.said() for one in SNIPPETS}) >= 240
    assert 0.38 <= sum(one.nothing for one in SNIPPETS) / len(SNIPPETS) <= 0.52
    assert {one.language for one in (*SNIPPETS, *OF_LANGUAGES)} == set(LANGUAGES)
    expected = [fact for one in SNIPPETS for fact in one.facts]
    assert {fact.sensitive for fact in expected} == {None, *SENSITIVE}
    assert {fact.explicit for fact in expected} == {True, False}
    assert {turn.role for one in SNIPPETS for turn in one.turns} == set(ROLES)


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja", "ko", "pt", "zh"])
def test_a_language_of_its_own_has_every_category_attribute_and_consent_field(
    language: str,
) -> None:
    mine = [one for one in OF_LANGUAGES if one.language == language]
    assert len(mine) == len({one.said() for one in mine}) >= 70
    assert {*KEEPING, *TEMPTING} == {one.category for one in mine}
    assert 0.4 <= sum(one.nothing for one in mine) / len(mine) <= 0.6
    expected = [fact for one in mine for fact in one.facts]
    assert {fact.what for fact in expected} == set(ATTRIBUTES)
    assert {fact.sensitive for fact in expected} == {None, *SENSITIVE}
    assert {turn.role for one in mine for turn in one.turns} == set(ROLES)


def test_every_snippet_has_what_its_category_says_and_no_more_than_may_be_written() -> None:
    for one in (*SNIPPETS, *OF_LANGUAGES):
        assert one.category not in KEEPING or one.facts or one.optional
        assert one.category not in TEMPTING or not one.facts
        assert one.category != "secret" or one.never
        # At most 3 writes a turn: more could not all be stored, however good the former is.
        assert len(one.facts) <= 3 * sum(turn.role == "user" for turn in one.turns)


def fact(what: str, *words: str, refused: tuple[str, ...] = (), consent: str | None = None) -> Fact:
    return Fact(what, words, refused, ("fact",), False, consent)


def snippet(
    *facts: Fact, optional: tuple[Fact, ...] = (), never: tuple[str, ...] = (), language: str = "en"
) -> Snippet:
    return Snippet(
        id=f"{language}-several-01",
        language=language,
        category="several",
        turns=(Turn("user", "any"),),
        facts=facts,
        optional=optional,
        nothing=not facts and not optional,
        never=never,
        note="made for a test",
    )


def stored(
    content: str, kind: str = "fact", *, explicit: bool = False, sensitive: str | None = None
) -> Stored:
    return Stored(content, kind, explicit, sensitive)


HOME = fact("home_city", "Bekasi", refused=("plumber",), consent="city")
DIET = fact("diet", "vegan")


@pytest.mark.parametrize(
    ("wanted", "contents", "right", "missed"),
    [
        (snippet(HOME), [stored("lives in BEKASI", sensitive="city")], 1, ()),
        (snippet(HOME), [stored("lives in Depok")], 0, ("home_city",)),
        (snippet(HOME), [stored("lives in Bekasi, needs a Plumber")], 0, ("home_city",)),
        (snippet(HOME), [stored("lives in Bekasi", "preference")], 0, ("home_city",)),
        (snippet(fact("pet", "cat", "Miso")), [stored("has a cat")], 0, ("pet",)),
        (snippet(HOME, DIET), [], 0, ("home_city", "diet")),
        (snippet(), [stored("likes tea")], 0, ()),
        (snippet(HOME, optional=(DIET,)), [stored("is vegan")], 1, ("home_city",)),
        (snippet(DIET), [stored("is vegan"), stored("eats vegan")], 1, ()),  # a duplicate
        (snippet(HOME, DIET), [stored("a vegan in Bekasi")], 1, ("diet",)),  # answers for one
        (snippet(HOME, DIET), [stored("a vegan in Bekasi"), stored("is vegan")], 2, ()),
        (snippet(DIET, HOME), [stored("is vegan"), stored("a vegan in Bekasi")], 2, ()),
        (snippet(DIET, never=("vegan",)), [stored("is vegan")], 0, ("diet",)),
    ],
)
def test_what_is_expected_and_stored_is_right(
    wanted: Snippet, contents: list[Stored], right: int, missed: tuple[str, ...]
) -> None:
    result = judge(wanted, contents)
    assert (len(result.right), result.missed) == (right, missed)
    assert len(result.wrong) == len(contents) - right
    assert len(result.leaked) == (1 if wanted.never else 0)


def test_figures_are_counted_over_memories_and_languages() -> None:
    results = [
        judge(snippet(HOME, DIET), [stored("in Bekasi", sensitive="city"), stored("tall")]),
        judge(snippet(never=("tired",)), [stored("tired"), stored("bored")]),
        judge(snippet(DIET, language="id"), [stored("vegan", explicit=True)]),
    ]
    figures = total(results)
    assert (figures.stored, figures.right, figures.precision) == (5, 2, 0.4)
    assert (figures.expected, figures.found, figures.recall) == (3, 2, 2 / 3)
    assert [content for _, content in figures.wrong] == ["tall", "tired", "bored"]
    assert figures.missed == [("en-several-01", "diet")]
    assert figures.leaked == [("en-several-01", "tired")]
    assert figures.misflagged == [("id-several-01", "diet")]
    assert judge(snippet(HOME), [stored("in Bekasi")]).misflagged == ("home_city",)
    measured = MeasuredSet("made up", None, tuple(Outcome(one, 1.0) for one in results))
    recalls = {name: one.figures.recall for name, one in measured.by_language.items()}
    assert recalls == {EVERYTHING: 2 / 3, "en": 0.5, "id": 1}
    assert (total([]).precision, total([]).recall, total([]).stored) == (1, 1, 0)


def test_the_labels_can_be_met() -> None:
    """A former that says just the wanted words of every fact gets full marks on our own data."""
    figures = total(
        judge(
            one,
            [
                stored(
                    " / ".join(f.must_contain),
                    f.types[0],
                    explicit=f.explicit,
                    sensitive=f.sensitive,
                )
                for f in one.facts
            ],
        )
        for one in (*SNIPPETS, *OF_LANGUAGES)
    )
    assert (figures.wrong, figures.missed, figures.misflagged) == ([], [], [])
    assert figures.expected > 200


# Of each set: the least precision, and the least recall.
LEAST = {
    "snippets": (0.95, 0.83),
    "everyday": (0.97, 0.84),
    "held_out": (0.95, 0.85),
    "blind": (0.97, 0.92),
    "languages": (0.93, 0.74),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_what_is_stored_without_a_model_is_right(name: str) -> None:
    measured = measure_formation(name, read_labelled(FOLDER / name), embedder=WordEmbedder())
    found = measured.figures
    precision, recall = LEAST[name]
    assert found.precision >= precision, found.wrong
    assert found.recall >= recall, found.missed
    assert [one for one in found.leaked if "secret" in one[0] or "inject" in one[0]] == []
    assert all(part.figures.stored for part in measured.by_language.values())
