"""Which pairs are looked at today, and in which portions a model is asked about them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ricordo import limits
from ricordo.upkeep.consolidating.deciding import Ruling, Table
from ricordo.upkeep.consolidating.pairs import NearPair


@dataclass(slots=True)
class Plan:
    """Pairs of one day, the most similar first: those decided by rules, and those in doubt.

    ``waiting`` says how many more there are. ``changed_since`` is from when on changes were looked
    at.
    """

    changed_since: datetime
    ruled: list[Ruling] = field(default_factory=list)
    doubtful: list[NearPair] = field(default_factory=list)
    waiting: int = 0


def plan(
    blocks: Iterable[Sequence[NearPair]],
    most: int,
    table: Table,
    has_judge: bool,
    changed_since: datetime,
) -> Plan:
    """Decide what can be decided, most similar pairs first, up to as many as the day allows.

    A memory that one pair takes away is no partner for another. What is in doubt waits for the
    judge, or stays as it is where there is none.
    """
    made = Plan(changed_since)
    gone: set[int] = set()
    for pair in (pair for block in blocks for pair in block):
        if not gone.isdisjoint((pair.older.id, pair.newer.id)):
            continue
        if len(made.ruled) + len(made.doubtful) >= most:
            made.waiting += 1
            continue
        ruling = table.by_rules(pair)
        if ruling is None and not has_judge:
            ruling = table.beside_each_other(pair)
        if ruling is None:
            made.doubtful.append(pair)
            continue
        made.ruled.append(ruling)
        if ruling.takes_away:
            gone.add(ruling.other.id)
    return made


def next_portion(pairs: Sequence[NearPair]) -> int:
    """How many of the pairs to ask about next, so that all questions are about equally long.

    Ten at most; and at least five, unless there are fewer.
    """
    questions = -(-len(pairs) // limits.MAX_JUDGED_PAIRS)
    return -(-len(pairs) // questions) if questions else 0
