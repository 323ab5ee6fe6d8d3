"""The memories that hang together most, for a picture of them."""

from collections.abc import Iterable, Sequence

from ricordo.limits import MAX_GRAPHED_MEMORIES
from ricordo.model.filters import ItemFilter
from ricordo.model.search import RelationEdge, RelationGraph
from ricordo.storage.database import Reading
from ricordo.storage.items import items_by_id
from ricordo.storage.relations import (
    Pair,
    ids_among,
    latest_active_ids,
    pairs_brought_by,
    relations_within,
)
from ricordo.storage.statements import plan_by_values
from ricordo.storage.where import Audience, matching

Neighbours = dict[int, set[int]]


def read_graph(view: Reading, user_id: str, wanted: ItemFilter, limit: int) -> RelationGraph:
    """The most connected of a user's own memories that a filter wants, and how they are related.

    Looked at are the latest ``MAX_GRAPHED_MEMORIES`` of them, and what those were related to when
    they came.
    """
    plan_by_values(view.connection)
    where = matching(Audience(user_id), wanted, view.now)
    latest = latest_active_ids(
        view.connection,
        where,
        MAX_GRAPHED_MEMORIES + 1,
        of_themes=wanted.theme is not None,
    )
    looked_at = latest[:MAX_GRAPHED_MEMORIES]
    pairs = pairs_brought_by(view.connection, user_id, looked_at)
    holding = set(looked_at)
    if len(latest) > len(looked_at):  # otherwise these are all that can be shown
        older = {low for low, _ in pairs} - holding
        holding |= ids_among(view.connection, where, older)
    near = _neighbours(pair for pair in pairs if holding.issuperset(pair))
    chosen = most_connected(near, limit)
    stored = items_by_id(view.connection, [(user_id, item_id) for item_id in chosen])
    return RelationGraph(
        memories=tuple(stored[item_id] for item_id in chosen),
        relations=_edges(view, user_id, chosen),
        more=len(near) > len(chosen) or len(latest) > len(looked_at),
    )


def most_connected(near: Neighbours, limit: int) -> list[int]:
    """Up to ``limit`` memories with the most neighbours, each beside at least one of its own.

    The most connected first, the latest first among equals. One whose neighbours all have fewer
    brings the most connected of them with it.
    """

    def rank(item_id: int) -> tuple[int, int]:
        return -len(near[item_id]), -item_id

    chosen: set[int] = set()
    for item_id in sorted(near, key=rank):
        if item_id in chosen:
            continue
        new = {item_id}
        if chosen.isdisjoint(near[item_id]):
            new.add(min(near[item_id], key=rank))
        if len(chosen) + len(new) <= limit:
            chosen |= new
        if len(chosen) == limit:
            break
    return sorted(chosen, key=rank)


def _neighbours(pairs: Iterable[Pair]) -> Neighbours:
    near: Neighbours = {}
    for low, high in pairs:
        near.setdefault(low, set()).add(high)
        near.setdefault(high, set()).add(low)
    return near


def _edges(view: Reading, user_id: str, chosen: Sequence[int]) -> tuple[RelationEdge, ...]:
    found = [
        RelationEdge(low, high, round(similarity, 4))
        for low, high, similarity in relations_within(view.connection, user_id, chosen)
    ]
    return tuple(sorted(found, key=lambda edge: (-edge.similarity, edge.one, edge.other)))
