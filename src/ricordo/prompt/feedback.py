"""Which of the memories that a prompt showed the answer used."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ricordo.model.activity import RECALLED_SHOWN, RECALLED_USED
from ricordo.model.context import Feedback
from ricordo.model.item import Item
from ricordo.recall.service import Recall
from ricordo.storage.database import Database
from ricordo.text.analyser import Analyser

_LEAST_SHARE: Final = 0.5
"""Of a memory's words, how many an answer must have to have used it."""

_WHOM_IT_IS_ABOUT: Final = "user pengguna"
"""Words that say of whom a memory tells, not what."""


def give_feedback(
    database: Database,
    recall: Recall,
    user_id: str,
    recalled: Mapping[int, Item | None],
    used: Sequence[int],
) -> Feedback:
    """Count which memories were of use; they count as recalled once more.

    ``recalled`` has None for those that are gone meanwhile: they were shown all the same.
    """
    present = [item for item_id in used if (item := recalled[item_id]) is not None]
    recall.memories.count_recalled(present)
    counts = {RECALLED_SHOWN: len(recalled), RECALLED_USED: len(used)}
    recall.accesses.count(user_id, counts, database.clock())
    rate = round(len(used) / len(recalled), 4) if recalled else 0.0
    return Feedback(recalled=tuple(recalled), used=tuple(used), hit_rate=rate)


def used_in(answer: str, recalled: Iterable[Item], analyser: Analyser) -> list[int]:
    """The memories of whose words an answer has at least half, by their stems."""
    said = set(analyser.terms(answer))
    untold = set(analyser.terms(_WHOM_IT_IS_ABOUT))
    used = []
    for item in recalled:
        words = set(analyser.terms(item.content)) - untold
        if words and len(words & said) / len(words) >= _LEAST_SHARE:
            used.append(item.id)
    return used
