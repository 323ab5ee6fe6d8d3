"""Which turn a memory was formed from: the other way round of ``drafting.py``.

A wrong turn is worse than none, so whatever cannot be told for certain is not told.
"""

from collections.abc import Iterable

from ricordo.formation.candidate import source_role
from ricordo.model.item import Item
from ricordo.model.thread import Turn


def source_among(item: Item, said: Iterable[Turn]) -> Turn | None:
    """The turn that a memory was formed from, or None where that cannot be told.

    ``said`` must have every turn that it can be: the one with its message id or, for a memory
    without one, all that were said in its thread at the time from which on it holds.

    A message id decides alone. Without one, a turn must have none either, and have the memory's
    quote, role, speaker and time. Where several have, that say different things, it could be any of
    them; where they say the same, it is the first.
    """
    found = [turn for turn in said if may_be_source(item, turn)]
    if len({turn.content for turn in found}) != 1:
        return None
    return min(found, key=lambda turn: turn.position)


def may_be_source(item: Item, turn: Turn) -> bool:
    """Whether a memory can have been formed from a turn."""
    if item.thread_id is None or item.thread_id != turn.thread_id:
        return False
    if item.message_id is not None or turn.message_id is not None:
        return item.message_id == turn.message_id
    return (
        item.source_context is not None
        and item.valid_from == turn.at
        and item.role is not None
        and item.role == source_role(turn.role)
        and item.actor_id == turn.actor
        and item.source_context in turn.content
    )
