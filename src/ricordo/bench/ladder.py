"""What each step of the ranking adds: from the plain fusion upwards, one step at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ricordo.bench.questions import QuestionSet
from ricordo.bench.recall import RecallReport, measure_recall
from ricordo.model.record import Record
from ricordo.transfer.exports import Progress, no_progress

PLAIN: Final = "plain"
STEPS: Final = ("names", "window", "actor", "date", "thread", "role")
"""In the order in which they are added; also what the setting ``ranking_off`` calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung(Record):
    """A step, how the search does with it and all before it, and what it added to recall@10."""

    step: str
    gain: float
    report: RecallReport


def climb(
    url: str,
    questions: QuestionSet,
    progress_of: Callable[[str], Progress] = lambda step: no_progress,  # noqa: ARG005
) -> Iterator[Rung]:
    """Ask all questions once for each step; the turns must be in the store.

    Vectors are not computed again: every step searches the same store.
    """
    before: float | None = None
    for count, step in enumerate((PLAIN, *STEPS)):
        off = ",".join(STEPS[count:])
        report = measure_recall(url, questions, progress_of(step), settings={"ranking_off": off})
        reached = report.scores.overall.recall_at_10
        yield Rung(step=step, gain=0.0 if before is None else reached - before, report=report)
        before = reached
