"""What the rules make of labelled conversations: right, and nothing that must not be stored."""

import pytest

from ricordo.testing.embedder import WordEmbedder
from ricordo.wiring import open_memory
from tests.formation.quality.measure import Figures, Judgement, by_language, total
from tests.formation.quality.running import judged
from tests.formation.quality.snippets import FOLDER, load

LEAST_PRECISION = 0.95
SETS = ("snippets", "everyday", "held_out", "blind")
"""The rules were written with the first two at hand, and without looking at the others."""
READ_BY_RULES = ("en", "id")


@pytest.fixture(scope="module", params=SETS)
def judgements(request: pytest.FixtureRequest) -> list[Judgement]:
    with open_memory(":memory:", run_jobs=False, embedder=WordEmbedder()) as memory:
        return [judged(memory, snippet) for snippet in load(FOLDER.parent / request.param)]


@pytest.mark.requirement("formation.quality")
def test_what_the_rules_store_is_right(judgements: list[Judgement]) -> None:
    found = total(judgements)
    print(_shown("all", found))
    assert found.precision >= LEAST_PRECISION, found.wrong
    for language, of_language in by_language(judgements).items():
        print(_shown(language, of_language))


@pytest.mark.requirement("formation.quality")
def test_what_must_never_be_stored_is_not(judgements: list[Judgement]) -> None:
    assert total(judgements).leaked == []


@pytest.mark.requirement("formation.quality")
def test_what_is_sensitive_or_explicit_is_seen_as_such(judgements: list[Judgement]) -> None:
    found = total(judgements)
    assert len(found.misflagged) <= 0.05 * max(1, found.found), found.misflagged


@pytest.mark.requirement("formation.quality")
def test_the_rules_find_something_in_their_languages_and_leave_the_others(
    judgements: list[Judgement],
) -> None:
    for language, found in by_language(judgements).items():
        assert (found.stored > 0) is (language in READ_BY_RULES)


def _shown(name: str, found: Figures) -> str:
    return f"{name}: precision {found.precision:.3f}, recall {found.recall:.3f}"
