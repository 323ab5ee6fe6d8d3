"""Upkeep of relations: delete outdated ones, add missing ones.

Both work in steps of one transaction each, so running twice or being killed does no harm.
"""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from ricordo import limits
from ricordo.frozen import dataclass
from ricordo.index.relations import Near, Nearest, Relating
from ricordo.model.activity import Report
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, retried
from ricordo.storage.items import Comparables, active
from ricordo.storage.relations import (
    Pair,
    Relation,
    add_relations,
    outlived_relations,
    relation_counts,
    relations_among,
    remove_outlived_relations,
)
from ricordo.storage.search_rows import index_position
from ricordo.storage.users import note_upkeep, upkeep_state

_STEP_MEMORIES: Final = 500
"""Memories compared with all others at once, which bounds the memory used."""
_DIGITS: Final = 6
"""Of a cosine, so that results do not depend on the batch."""


def prune_relations(database: Database, link_min: float, user_id: str, report: Report) -> int:
    """Delete relations of memories that are inactive, or no longer similar enough; how many. Raises
    StorageError: the database failed; what was done before stays."""
    removed = 0
    after: Pair = (0, 0)
    while True:
        with database.read(user_id) as view:
            upto, outlived = outlived_relations(
                view.connection, user_id, link_min, view.now, after, limits.TRIM_BATCH_ROWS
            )
        if upto is None:
            return removed
        if outlived:  # not interrupted before any progress: the next run starts from the beginning
            removed += _remove(database, user_id, link_min, after, upto)
            report(f"{removed} relations cut")
        after = upto


def refresh_relations(database: Database, recall: Recall, user_id: str, report: Report) -> int:
    """Add relations to memories that lack some; how many.

    Continues where it last stopped, for a bounded number of memories, and starts again at the end.
    Raises StorageError: the database failed; what was done before stays.
    """
    made = 0
    left = limits.MAX_RELATED_PER_ROUND
    while left > 0 and recall.relating.per_memory:
        step = _next_step(database, recall, user_id, min(left, _STEP_MEMORIES))
        if step is None:
            break
        if step.edges or step.reached != step.after:
            made += _note(database, user_id, step)
        left -= step.memories
        if step.reached == 0:
            break
        report(f"relations refreshed up to memory {step.reached}")
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A few memories with the relations they lack.

    From ``after`` to ``reached``, 0 at the end of all. ``stamp`` is the index version that was
    read.
    """

    compared: Comparables
    after: int
    reached: int
    memories: int
    stamp: int
    edges: Sequence[Relation]


def _next_step(database: Database, recall: Recall, user_id: str, size: int) -> _Step | None:
    """The next step; None where there is no embedder."""
    relating = recall.relating
    with database.read(user_id) as view:
        connection = view.connection
        model = recall.embedders.chosen(connection, user_id).model
        if model is None:
            return None
        compared = Comparables(user_id, model, active(user_id, view.now))
        after = upkeep_state(connection, user_id).related_after
        ids = compared.ids(connection, after, size)
        counts = relation_counts(connection, user_id, ids, view.now)
        lacking = [one for one in ids if counts.get(one, 0) < relating.per_memory]
        found = _nearest(connection, compared, lacking, relating)
        stamp = index_position(connection, user_id).stamp
    return _Step(
        compared=compared,
        after=after,
        reached=ids[-1] if len(ids) == size else 0,
        memories=len(ids),
        stamp=stamp,
        edges=[
            (item_id, other, similarity)
            for item_id, near in found.items()
            for other, similarity in near
        ],
    )


def _nearest(
    connection: sa.Connection, compared: Comparables, ids: Sequence[int], relating: Relating
) -> dict[int, Near]:
    """The nearest neighbours of each of these memories, the oldest first among equals.

    All vectors are read page by page: exact, in bounded memory, and without evicting the indexes of
    searching users.
    """
    found: dict[int, Near] = {}
    for alike in compared.vectors(connection, ids):
        nearest = Nearest(
            alike.ids,
            alike.matrix,
            count=relating.per_memory,
            least=relating.link_min,
            digits=_DIGITS,
        )
        after: int | None = 0
        while after is not None:
            page = compared.page(connection, alike.matrix.shape[1], after)
            nearest.show(page.ids, page.matrix)
            after = page.last
        found |= nearest.found()
    return found


@retried
def _remove(database: Database, user_id: str, link_min: float, after: Pair, upto: Pair) -> int:
    with database.write(user_id) as writing:
        return remove_outlived_relations(writing, link_min, after, upto)


@retried
def _note(database: Database, user_id: str, step: _Step) -> int:
    """Add the relations of a step that are still missing, and record its position."""
    with database.write(user_id) as writing:
        if upkeep_state(writing.connection, user_id).related_after != step.after:
            return 0  # another run was faster
        ends = {end for low, high, _ in step.edges for end in (low, high)}
        unchanged = step.compared.unchanged(writing.connection, ends, step.stamp)
        present = {
            (low, high) for low, high, _ in relations_among(writing.connection, user_id, ends)
        }
        new = {
            (min(one, other), max(one, other)): similarity
            for one, other, similarity in step.edges
            if one in unchanged and other in unchanged
        }
        missing = [(*pair, similarity) for pair, similarity in new.items() if pair not in present]
        add_relations(writing, missing)
        note_upkeep(writing, related_after=step.reached)
        return len(missing)
