"""Which memories took the place of which, and what of that can be taken back."""

from ricordo.errors import IllegalTransition, MemoryNotFound, NothingToUndo
from ricordo.limits import MAX_PREDECESSORS
from ricordo.memories.reading import read_items
from ricordo.memories.undo_plan import REPLACED, plan_undo
from ricordo.model.item import Item, Lineage
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Status, Undoable
from ricordo.storage.database import Reading
from ricordo.storage.history import formers_of, last_change, last_changes, update_that_kept
from ricordo.storage.where import Audience


def read_lineage(reading: Reading, audience: Audience, scope: Scope, item: Item) -> Lineage:
    """Where a memory of the user's own stands among those that replaced each other.

    Only memories that the audience may see are named, also forgotten ones.
    """
    return Lineage(
        _successor(reading, audience, item),
        _predecessors(reading, audience, item),
        _undoable(reading, scope, item),
    )


def _successor(reading: Reading, audience: Audience, item: Item) -> Item | None:
    if item.status is not Status.SUPERSEDED:
        return None
    replaced = last_change(reading.connection, item.user_id, item.id, REPLACED)
    successor_id = None if replaced is None else replaced.new_ref
    if successor_id is None:  # the former text of one that was updated
        update = update_that_kept(reading.connection, item.user_id, item.id)
        successor_id = None if update is None else update.item_id
    if successor_id is None:
        return None
    found = read_items(reading, audience, [successor_id], include_deleted=True)
    return found[0] if found else None


def _predecessors(reading: Reading, audience: Audience, item: Item) -> tuple[Item, ...]:
    """Those whose place a memory took, without what came back since or was replaced again."""
    ids = formers_of(reading.connection, item.user_id, item.id, MAX_PREDECESSORS)
    found = read_items(reading, audience, ids, include_deleted=True)
    replaced = last_changes(reading.connection, item.user_id, ids, REPLACED)

    def is_replaced_by_it(former: Item) -> bool:
        change = replaced.get(former.id)
        by = None if change is None else change.new_ref  # None: by an update of it
        return former.status is Status.SUPERSEDED and by in (item.id, None)

    return tuple(former for former in found if is_replaced_by_it(former))


def _undoable(reading: Reading, scope: Scope, item: Item) -> Undoable | None:
    try:
        return plan_undo(reading.connection, scope, item, reading.now).undoable
    except (NothingToUndo, IllegalTransition, MemoryNotFound):
        return None
