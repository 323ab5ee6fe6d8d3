"""How well pairs are told apart without a model, with the vectors that are shipped."""

from collections.abc import Callable, Sequence

import pytest

from ricordo import Memory
from ricordo.model.consolidation import PairAction
from ricordo.testing.clock import ManualClock
from tests.upkeep.consolidating.conftest import Tidied
from tests.upkeep.consolidating.statement_pairs import DISTINCT, DISTINCT_AGAIN, SAME, SAME_AGAIN

PRECISION_MIN = 0.95
RECALL_MIN = 0.5


@pytest.mark.requirement("upkeep.consolidate")
@pytest.mark.parametrize(
    ("same", "distinct"), [(SAME, DISTINCT), (SAME_AGAIN, DISTINCT_AGAIN)], ids=["first", "second"]
)
def test_what_is_merged_says_the_same(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    clock: ManualClock,
    capsys: pytest.CaptureFixture[str],
    same: Sequence[tuple[str, str]],
    distinct: Sequence[tuple[str, str]],
) -> None:
    memory = open_store(sqlite_url, embedder=None)
    became: dict[tuple[str, str], PairAction | None] = {}
    for number, (one, other) in enumerate((*same, *distinct)):
        user = Tidied(memory, clock, f"user-{number}")
        user.say(one)
        user.say(other)
        decisions = user.consolidate().decisions
        became[one, other] = decisions[0].action if decisions else None
    merged = {pair for pair, action in became.items() if action is PairAction.MERGE}
    # One in place of the other that says the same is as good as a merge, and no loss.
    found = {pair for pair in same if became[pair] in (PairAction.MERGE, PairAction.SUPERSEDE)}
    precision = len(merged.intersection(same)) / len(merged)
    recall = len(found) / len(same)
    with capsys.disabled():
        print(f"\nmerging without a model: precision {precision:.2f}, recall {recall:.2f}")
        for pair in [pair for pair in same if pair not in found]:
            print(f"  not found: {pair}")
        for pair in merged.intersection(distinct):
            print(f"  wrongly merged: {pair}")
    assert precision >= PRECISION_MIN
    assert merged.isdisjoint(distinct)
    assert recall >= RECALL_MIN
