"""The scorer, on cases whose right answer is plain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formation.quality.measure import (
    Judgement,
    Stored,
    by_category,
    by_language,
    judge,
    total,
)
from tests.formation.quality.snippets import Fact, Snippet, Turn, load


def fact(what: str, *words: str, refused: tuple[str, ...] = (), consent: str | None = None) -> Fact:
    return Fact(what, words, refused, ("fact",), False, consent)


def snippet(
    *facts: Fact,
    optional: tuple[Fact, ...] = (),
    never: tuple[str, ...] = (),
    language: str = "en",
    category: str = "several",
) -> Snippet:
    return Snippet(
        id=f"{language}-{category}-01",
        language=language,
        category=category,
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


@pytest.mark.requirement("formation.quality")
def test_what_is_expected_and_stored_is_right() -> None:
    result = judge(snippet(HOME), [stored("The user lives in BEKASI.", sensitive="city")])
    assert result == Judgement(
        snippet_id="en-several-01",
        language="en",
        category="several",
        right=("The user lives in BEKASI.",),
        wrong=(),
        leaked=(),
        found=("home_city",),
        missed=(),
        misflagged=(),
    )


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize(
    "content",
    [
        stored("The user lives in Depok."),
        stored("The user lives in Bekasi and needs a Plumber."),
        stored("The user lives in Bekasi.", "preference"),
    ],
)
def test_what_does_not_fit_is_wrong_and_leaves_the_fact_missed(content: Stored) -> None:
    result = judge(snippet(HOME), [content])
    assert (result.right, result.wrong) == ((), (content.content,))
    assert (result.found, result.missed) == ((), ("home_city",))


@pytest.mark.requirement("formation.quality")
def test_all_words_are_needed() -> None:
    pet = fact("pet", "cat", "Miso")
    assert judge(snippet(pet), [stored("The user has a cat.")]).missed == ("pet",)
    assert judge(snippet(pet), [stored("The user's cat is called Miso.")]).found == ("pet",)


@pytest.mark.requirement("formation.quality")
def test_nothing_stored_misses_everything_and_is_not_wrong() -> None:
    result = judge(snippet(HOME, DIET), [])
    assert result.missed == ("home_city", "diet")
    assert result.wrong == ()


@pytest.mark.requirement("formation.quality")
def test_anything_is_wrong_where_nothing_may_be_stored() -> None:
    assert judge(snippet(), [stored("The user likes tea.")]).wrong == ("The user likes tea.",)


@pytest.mark.requirement("formation.quality")
def test_an_optional_fact_is_right_but_never_expected() -> None:
    with_it = judge(snippet(HOME, optional=(DIET,)), [stored("The user is vegan.")])
    assert (with_it.right, with_it.missed) == (("The user is vegan.",), ("home_city",))
    without = judge(snippet(optional=(DIET,)), [])
    assert (without.right, without.missed, without.wrong) == ((), (), ())


@pytest.mark.requirement("formation.quality")
def test_a_second_content_for_a_fact_is_a_duplicate() -> None:
    result = judge(snippet(DIET), [stored("The user is vegan."), stored("The user eats vegan.")])
    assert result.right == ("The user is vegan.",)
    assert result.wrong == ("The user eats vegan.",)


@pytest.mark.requirement("formation.quality")
def test_one_content_answers_for_one_fact() -> None:
    result = judge(snippet(HOME, DIET), [stored("The user is vegan and lives in Bekasi.")])
    assert len(result.right) == len(result.found) == len(result.missed) == 1


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_storing_does_not_matter(order: int) -> None:
    # The first content fits both facts, the second only one: both facts can be answered.
    contents = [stored("The user, a vegan, lives in Bekasi."), stored("The user is vegan.")]
    for facts in ((HOME, DIET), (DIET, HOME)):
        result = judge(snippet(*facts), contents[::order])
        assert (len(result.right), result.wrong, result.missed) == (2, (), ())


@pytest.mark.requirement("formation.quality")
def test_an_optional_fact_takes_nothing_from_an_expected_one() -> None:
    result = judge(snippet(DIET, optional=(fact("other", "user"),)), [stored("The user is vegan.")])
    assert result.found == ("diet",)


@pytest.mark.requirement("formation.quality")
def test_a_word_of_never_spoils_a_content_that_fits() -> None:
    content = "The user lives in Bekasi; password Swordfish."
    result = judge(snippet(HOME, never=("swordfish",)), [stored(content)])
    assert result.wrong == result.leaked == (content,)
    assert result.missed == ("home_city",)


@pytest.mark.requirement("formation.quality")
def test_a_diacritic_counts_and_its_encoding_does_not() -> None:
    city = snippet(fact("home_city", "Köln"))
    assert judge(city, [stored("lives in Koln")]).missed == ("home_city",)
    assert judge(city, [stored("lives in KO\u0308LN")]).found == ("home_city",)


@pytest.mark.requirement("formation.quality")
@pytest.mark.parametrize(
    ("content", "misflagged"),
    [
        (stored("lives in Bekasi", sensitive="city"), ()),
        (stored("lives in Bekasi"), ("home_city",)),
        (stored("lives in Bekasi", sensitive="health"), ("home_city",)),
        (stored("lives in Bekasi", sensitive="city", explicit=True), ("home_city",)),
    ],
)
def test_a_wrong_sign_for_consent_is_shown_and_still_right(
    content: Stored, misflagged: tuple[str, ...]
) -> None:
    result = judge(snippet(HOME), [content])
    assert result.misflagged == misflagged
    assert result.right == (content.content,)


@pytest.mark.requirement("formation.quality")
def test_figures_are_counted_over_memories() -> None:
    figures = total(
        [
            judge(snippet(HOME, DIET), [stored("in Bekasi", sensitive="city"), stored("tall")]),
            judge(snippet(category="mood", never=("tired",)), [stored("tired"), stored("bored")]),
            judge(snippet(DIET, language="id", category="diet"), [stored("vegan")]),
        ]
    )
    assert (figures.stored, figures.right, figures.precision) == (5, 2, 0.4)
    assert (figures.expected, figures.found, figures.recall) == (3, 2, 2 / 3)
    assert figures.wrong == [
        ("en-several-01", "tall"),
        ("en-mood-01", "tired"),
        ("en-mood-01", "bored"),
    ]
    assert figures.missed == [("en-several-01", "diet")]
    assert figures.leaked == [("en-mood-01", "tired")]
    assert figures.misflagged == []


@pytest.mark.requirement("formation.quality")
def test_groups_hold_their_own_results() -> None:
    results = [
        judge(snippet(DIET, category="diet"), [stored("vegan")]),
        judge(snippet(DIET, language="id", category="diet"), []),
        judge(snippet(language="id", category="mood"), [stored("tired")]),
    ]
    languages, categories = by_language(results), by_category(results)
    assert {name: (one.precision, one.recall) for name, one in languages.items()} == {
        "en": (1, 1),
        "id": (0, 0),
    }
    assert {name: (one.stored, one.expected) for name, one in categories.items()} == {
        "diet": (1, 2),
        "mood": (1, 0),
    }


@pytest.mark.requirement("formation.quality")
def test_no_result_is_no_mistake() -> None:
    assert (total([]).precision, total([]).recall, total([]).stored) == (1, 1, 0)


@pytest.mark.requirement("formation.quality")
def test_the_labels_can_be_met() -> None:
    """A former that says just the wanted words of every fact gets full marks on our own data."""
    results = [
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
        for one in load()
    ]
    figures = total(results)
    assert (figures.wrong, figures.missed, figures.misflagged) == ([], [], [])
    assert figures.expected > 200


words = st.sampled_from(["red", "blue", "green", "red blue", "blue green", "grey"])


@pytest.mark.requirement("formation.quality")
@given(st.lists(words, max_size=4), st.lists(words, max_size=4), st.lists(words, max_size=5))
def test_every_content_and_every_fact_is_counted_once(
    wanted: list[str], allowed: list[str], contents: list[str]
) -> None:
    case = snippet(
        *(fact("taste", *each.split()) for each in wanted),
        optional=tuple(fact("other", *each.split()) for each in allowed),
    )
    result = judge(case, [stored(content) for content in contents])
    assert sorted((*result.right, *result.wrong)) == sorted(contents)
    assert len(result.found) + len(result.missed) == len(wanted)
    assert len(result.found) <= len(result.right)
    backwards = judge(case, [stored(content) for content in reversed(contents)])
    assert len(backwards.right) == len(result.right)
    assert len(backwards.found) == len(result.found)
