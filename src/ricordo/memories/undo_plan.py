"""What an undo would do, found out without doing it.

:mod:`ricordo.memories.replacing` does what is planned here; who only shows a memory asks here, too,
whether something can be undone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.errors import IllegalTransition, MemoryNotFound, NothingToUndo
from ricordo.memories.expiring import is_expired
from ricordo.memories.owning import check_in_reach
from ricordo.model.item import Change, Item
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status, Undoable
from ricordo.storage.history import last_change, last_update, replaced_by, update_that_kept
from ricordo.storage.items import item_of

REPLACED: Final = (Event.SUPERSEDE, Event.MERGE)
MERGED_IDS: Final = "merged_ids"
"""In the meta of a MERGE: the memories that became one. In that of an UPDATE: what brought it."""
TAKEN_UP: Final = "taken_up"
"""In the meta of a replacement by a memory that was there before (``absorbing.py``): how many
recalls went to it, and when it had last been recalled and verified itself."""
MADE: Final = "made"
"""In the meta of a replacement: whether the new memory was made for it."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A superseded memory, and the change that closed it."""

    item: Item
    change: Change


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What is taken back, and what becomes of the memories.

    Of a replacement: ``item`` comes back and so do its ``siblings``, which were merged along with
    it; ``withdrawn`` was made in their place and is put aside. Of an update: ``item`` gets its
    former values.
    """

    undoable: Undoable
    item: Item
    change: Change
    siblings: tuple[Closed, ...] = ()
    withdrawn: Item | None = None


def plan_undo(connection: sa.Connection, scope: Scope, item: Item, now: datetime) -> UndoPlan:
    """How the last replacement or update of a memory of the user's own would be taken back.

    Raises:
        NothingToUndo: it was neither superseded, merged nor updated.
        IllegalTransition: it was archived or deleted, or has expired.
        MemoryNotFound: what would change along with it is gone, or not in reach of the scope.
    """
    if item.status not in (Status.ACTIVE, Status.SUPERSEDED) or is_expired(item, now):
        raise IllegalTransition(f"memory {item.id} is {item.status}: restore it instead")
    if item.status is Status.SUPERSEDED:
        change = last_change(connection, item.user_id, item.id, REPLACED)
        if change is None or change.new_ref is None:
            return _by_old_version(connection, scope, item, now)
        return _of_replacement(connection, scope, Closed(item, change))
    update = last_update(connection, item.user_id, item.id)
    replaced = _last_replacement(connection, item)
    if replaced is not None and (update is None or _absorbed_after(update, replaced.change)):
        return _of_replacement(connection, scope, replaced)
    if update is not None:
        return _of_update(item, update)
    raise NothingToUndo(f"memory {item.id} has no change that can be undone")


def _last_replacement(connection: sa.Connection, item: Item) -> Closed | None:
    """The memory whose place this one took last and still has, and the change that did it."""
    for old_id in dict.fromkeys(replaced_by(connection, item.user_id, item.id)):
        closed = _closed_by(connection, item.user_id, old_id, item.id)
        if closed is not None:
            return closed
    return None


def _closed_by(
    connection: sa.Connection, user_id: str, old_id: int, replacement_id: int
) -> Closed | None:
    """A memory that is superseded by this one and no other, if that is still so."""
    old = item_of(connection, user_id, old_id)
    if old is None or old.status is not Status.SUPERSEDED:
        return None
    change = last_change(connection, user_id, old_id, REPLACED)
    if change is None or change.new_ref != replacement_id:
        return None
    return Closed(old, change)


def _absorbed_after(update: Change, replacement: Change) -> bool:
    return TAKEN_UP in replacement.meta and replacement.revision > update.revision


def _of_replacement(connection: sa.Connection, scope: Scope, closed: Closed) -> UndoPlan:
    item, change = closed.item, closed.change
    assert change.new_ref is not None
    check_in_reach(scope, item)
    replacement = item_of(connection, item.user_id, change.new_ref)  # None: purged
    is_made = bool(change.meta.get(MADE))
    if replacement is not None and (is_made or TAKEN_UP in change.meta):
        check_in_reach(scope, replacement)
        if is_made and replacement.status is Status.SUPERSEDED:
            raise NothingToUndo(
                f"memory {replacement.id}, which took the place of {item.id}, was itself"
                " superseded: undo that first"
            )
    others = (one for one in change.meta.get(MERGED_IDS, ()) if one != item.id)
    found = (_closed_by(connection, item.user_id, one, change.new_ref) for one in others)
    siblings = tuple(one for one in found if one is not None)
    for sibling in siblings:
        check_in_reach(scope, sibling.item)
    return UndoPlan(Undoable.REPLACEMENT, item, change, siblings, replacement if is_made else None)


def _by_old_version(
    connection: sa.Connection, scope: Scope, version: Item, now: datetime
) -> UndoPlan:
    """Undo by naming the old text that an update kept, if nothing happened since."""
    update = update_that_kept(connection, version.user_id, version.id)
    if update is None:
        raise NothingToUndo(f"memory {version.id} was not superseded by another one")
    present = item_of(connection, version.user_id, update.item_id)
    if present is None:
        raise MemoryNotFound(update.item_id)
    check_in_reach(scope, present)
    newest = last_update(connection, version.user_id, present.id)
    is_present = present.status is Status.ACTIVE and not is_expired(present, now)
    if not is_present or newest is None or newest.revision != update.revision:
        raise NothingToUndo(f"memory {present.id} has changed since; undo its later changes first")
    return _of_update(present, update)


def _of_update(item: Item, update: Change) -> UndoPlan:
    if update.before is None:
        raise NothingToUndo(f"what memory {item.id} said before was purged")
    return UndoPlan(Undoable.UPDATE, item, update)
