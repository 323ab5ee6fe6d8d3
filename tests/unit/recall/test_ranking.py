"""The settings of the ranking."""

import pytest

from ricordo import InvalidValue
from ricordo.recall.ranking import PARTS, Ranking
from ricordo.wiring import open_memory


@pytest.mark.requirement("recall.search")
def test_parts_are_turned_off_by_name() -> None:
    ranking = Ranking.parse(0.6, 0.4, 20, " recency, fuzzy ,, ")
    assert (ranking.semantic_weight, ranking.lexical_weight, ranking.candidates) == (0.6, 0.4, 20)
    assert [part for part in PARTS if not ranking.uses(part)] == ["recency", "fuzzy"]
    assert all(Ranking.parse(0.7, 0.3, 50, "").uses(part) for part in PARTS)


@pytest.mark.requirement("recall.search")
def test_a_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidValue, match="'magic' is not one of: semantic, lexical"):
        Ranking.parse(0.7, 0.3, 50, "recency,magic")
    with pytest.raises(InvalidValue, match="magic"):
        open_memory(":memory:", run_jobs=False, ranking_off="magic")


@pytest.mark.requirement("recall.search")
@pytest.mark.parametrize(
    "wanted",
    [{"semantic_weight": 1.1}, {"lexical_weight": -0.1}, {"candidates": 9}, {"candidates": 1001}],
)
def test_numbers_out_of_range_are_refused(wanted: dict[str, float]) -> None:
    with pytest.raises(InvalidValue, match=next(iter(wanted))):
        open_memory(":memory:", run_jobs=False, **wanted)
