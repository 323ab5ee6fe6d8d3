"""Replaces memories by one: superseding, merging, absorbing, and undo."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import IllegalTransition, InvalidValue, MemoryNotFound, NothingToUndo
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_MERGED_ITEMS, MAX_PREDECESSORS, MAX_TAGS
from ricordo.memories.additions import add_all, update_keyed
from ricordo.memories.lifecycle import (
    check_in_reach,
    check_may_return,
    check_place_is_free,
    end_when_replaced,
    is_expired,
    own_item,
    reactivate,
    record_change,
    set_values,
)
from ricordo.memories.lookup import read_items
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added, Change, Item, Lineage, check_step, former_values, joined
from ricordo.model.record import plain
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status, Undoable
from ricordo.storage.database import OWNER_ACTED, ReadTransaction, WriteTransaction
from ricordo.storage.entries import hand_over_entry, has_entry
from ricordo.storage.history import (
    UNDONE_REVISION,
    drop_replaced_values,
    formers_of,
    last_change,
    last_changes,
    last_update,
    replaced_by,
    update_that_kept,
)
from ricordo.storage.items import changed_at, delete_items, item_of, update_item
from ricordo.storage.links import remove_links, viewers_of
from ricordo.storage.relations import remove_relations
from ricordo.storage.where import Audience
from ricordo.text.normalise import canonical

REPLACED: Final = (Event.SUPERSEDE, Event.MERGE)
MERGED_IDS: Final = "merged_ids"
"""Key in the meta of a MERGE: the merged memories. Of an UPDATE: those that caused it."""
TAKEN_UP: Final = "taken_up"
"""Key in the meta of an absorption: the recalls added to the survivor, and when it had last been
recalled and verified itself."""
MADE: Final = "made"
"""Key in the meta of a replacement: whether the new memory was created for it."""


@dataclass(frozen=True, slots=True)
class Closed:
    item: Item
    change: Change


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo does.

    Of a replacement: restores ``item`` and its ``siblings`` from the same merge, and archives
    ``withdrawn``, their replacement. Of an update: ``item`` gets its former values.
    """

    undoable: Undoable
    item: Item
    change: Change
    siblings: tuple[Closed, ...] = ()
    withdrawn: Item | None = None


def plan_undo(connection: sa.Connection, scope: Scope, item: Item, now: datetime) -> UndoPlan:
    """How the last replacement or update of a user's own memory would be undone.

    Raises:
        NothingToUndo: it was neither superseded, merged nor updated.
        IllegalTransition: it was archived or deleted, or has expired.
        MemoryNotFound: what would change along with it is gone, or not in reach of the scope.
    """
    if item.status not in (Status.ACTIVE, Status.SUPERSEDED) or is_expired(item, now):
        raise IllegalTransition(f"memory {item.id} is {item.status}: restore it instead")
    if item.status is Status.SUPERSEDED:
        change = last_change(connection, item.user_id, item.id, REPLACED)
        if change is None:
            return _by_old_version(connection, scope, item, now)
        return _of_replacement(connection, scope, Closed(item, change))
    update = last_update(connection, item.user_id, item.id)
    formers = dict.fromkeys(replaced_by(connection, item.user_id, item.id))
    closed = (_closed_by(connection, item.user_id, one, item.id) for one in formers)
    last = next((one for one in closed if one is not None), None)
    if last is not None:
        absorbed_since = update is not None and (
            TAKEN_UP in last.change.meta and last.change.revision > update.revision
        )
        if update is None or absorbed_since:
            return _of_replacement(connection, scope, last)
    if update is not None:
        return _of_update(item, update)
    raise NothingToUndo(f"memory {item.id} has no change that can be undone")


def _closed_by(
    connection: sa.Connection, user_id: str, old_id: int, replacement_id: int
) -> Closed | None:
    """A memory that is still superseded by this one."""
    old = item_of(connection, user_id, old_id)
    if old is None or old.status is not Status.SUPERSEDED:
        return None
    change = last_change(connection, user_id, old_id, REPLACED)
    if change is None or change.new_ref != replacement_id:
        return None
    return Closed(old, change)


def _of_replacement(connection: sa.Connection, scope: Scope, closed: Closed) -> UndoPlan:
    item, change = closed.item, closed.change
    check_in_reach(scope, item)
    if change.new_ref is None:  # nothing took its place
        return UndoPlan(Undoable.REPLACEMENT, item, change)
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
    """Undo by the id of an old text that an update kept, if it was the last change."""
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


def replace_with(
    writing: WriteTransaction,
    scope: Scope,
    old_ids: Sequence[int],
    draft: NewMemory,
    event: Event,
    reason: str | None,
    *,
    reason_to_add: str | None = None,
) -> Added:
    """Supersede one memory, or merge several, by a new one.

    The old ones end at the new one's start. Values not given are inherited from them.
    ``reason_to_add`` is the reason in the new one's own history, if the other one is about the old
    ones.

    Raises:
        InvalidValue: the new one would begin before an old one did.
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    olds = [own_item(writing, scope, old_id) for old_id in dict.fromkeys(old_ids)]
    draft = _inheriting(draft, olds, scope)
    # It stays in the project of what it replaces, also where that has none.
    adding = replace(scope, project_id=None)
    first = olds[0]
    unchanged = (
        len(olds) == 1
        and first.status is Status.ACTIVE
        and first.theme == draft.theme
        and first.project_id == draft.project_id
        and first.key == draft.key
        and canonical(first.content) == canonical(draft.content)
    )
    if unchanged:
        changed = update_keyed(writing, scope, first, draft, reason)
        return Added(first.id, Status.ACTIVE, duplicate=not changed, updated=changed)
    for old in olds:
        check_step(old.id, old.status, Status.SUPERSEDED)
        if draft.begins_before(old.valid_from):
            raise InvalidValue(
                "valid_from", f"must not be before that of memory {old.id}, which it replaces"
            )
        _close(writing, old, draft.start(writing.now))
    added = add_all(writing, adding, [draft], reason_to_add or reason)[0]
    made = not (added.duplicate or added.updated)
    merged = [old.id for old in olds]
    for old in olds:
        hand_over_entry(writing, old.id, added.id)
        record_change(
            writing,
            old,
            event,
            actor=scope.actor,
            reason=reason,
            old_ref=old.id,
            new_ref=added.id,
            meta={MADE: made} | ({MERGED_IDS: merged} if event is Event.MERGE else {}),
            before={"valid_to": plain(old.valid_to)},
        )
    return added


def end(
    writing: WriteTransaction, scope: Scope, ids: Sequence[int], start: datetime, reason: str
) -> None:
    """Supersede memories by nothing that is stored: what is true instead may wait for consent."""
    for old in [own_item(writing, scope, one) for one in ids]:
        if old.status is Status.ACTIVE:
            close(writing, scope, old, start, reason)


def close(
    writing: WriteTransaction,
    scope: Scope,
    old: Item,
    start: datetime,
    reason: str | None = None,
    *,
    meta: Mapping[str, Any] | None = None,
) -> Item:
    """End a memory from ``start`` on by nothing else."""
    ended = _close(writing, old, start)
    record_change(
        writing,
        old,
        Event.SUPERSEDE,
        actor=scope.actor,
        reason=reason,
        old_ref=old.id,
        meta={MADE: False, **(meta or {})},
        before={"valid_to": plain(old.valid_to)},
    )
    return ended


def _inheriting(draft: NewMemory, olds: Sequence[Item], scope: Scope) -> NewMemory:
    """The draft with missing values taken from the replaced memories, where those agree. Of several
    projects, it is of none or, where the scope has one, of that. Raises ScopeWidened: it names
    another project than the scope."""
    open_fields: dict[str, Any] = {
        "importance": max(old.importance for old in olds),
        "pinned": any(old.pinned for old in olds),
        "tags": tuple(dict.fromkeys(tag for old in olds for tag in old.tags))[:MAX_TAGS],
    }
    for name in ("theme", "type", "key", "project_id"):
        values = {getattr(old, name) for old in olds}
        if len(values) == 1:
            open_fields[name] = values.pop()
        elif name == "project_id":
            open_fields[name] = scope.project_id
    scope.check_project(draft.project_id)
    return replace(
        draft,
        **{name: value for name, value in open_fields.items() if getattr(draft, name) is None},
    )


def undo(writing: WriteTransaction, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Undo the last replacement or update of a memory; returns what is active now.

    A superseded memory is restored and its replacement archived, whichever of the two is named; a
    merge is undone as a whole. An updated one gets its former values. The scope must reach
    everything that changes.

    Raises:
        NothingToUndo: it was neither superseded, merged nor updated.
        Occupied: its key or text has been taken by another active memory.
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    plan = plan_undo(writing.connection, scope, item, writing.now)
    if plan.undoable is Undoable.UPDATE:
        return _undo_update(writing, scope, plan.item, plan.change, reason)
    check_may_return(scope, plan.item)
    replacement = plan.withdrawn
    if replacement is not None and replacement.status is Status.ACTIVE:
        why = f"took the place of memory {plan.item.id}, which was brought back"
        archived = {"status": Status.ARCHIVED}
        set_values(writing, replacement, archived, Event.ARCHIVE, scope.actor, why)
    for sibling in plan.siblings:
        restore_closed(writing, scope, sibling.item, sibling.change, reason)
    return restore_closed(writing, scope, plan.item, plan.change, reason)


def _undo_update(
    writing: WriteTransaction, scope: Scope, item: Item, update: Change, reason: str | None
) -> Item:
    values = former_values(update.before or {})
    if has_entry(writing, item.id):
        values.pop("expires_at", None)  # when an entry of a store ends, its program says
    former = replace(item, **values, updated_at=changed_at(writing, item))
    if is_expired(former, writing.now):  # or it would be gone at once
        former = replace(former, expires_at=None)
        values["expires_at"] = None
    check_place_is_free(writing, former)
    update_item(writing, item, {**values, "updated_at": former.updated_at})
    if update.old_ref is not None:  # only now: until then it kept the vector of its text
        for viewer in viewers_of(writing.connection, writing.user_id, update.old_ref):
            writing.record(
                Event.UNLINK,
                update.old_ref,
                actor=OWNER_ACTED,
                other_user=writing.user_id,
                user_id=viewer,
            )
        remove_links(writing.connection, writing.user_id, [update.old_ref])
        delete_items(writing, [update.old_ref])
    drop_replaced_values(writing.connection, writing.user_id, update.revision)
    record_change(
        writing,
        item,
        Event.UNDO,
        actor=scope.actor,
        reason=reason,
        old_ref=update.old_ref,
        new_ref=item.id,
        meta={UNDONE_REVISION: update.revision},
    )
    return former


def restore_closed(
    writing: WriteTransaction, scope: Scope, item: Item, change: Change, reason: str | None
) -> Item:
    """Bring back what a change superseded, as it was."""
    if TAKEN_UP in change.meta:
        _subtract_absorbed(writing, scope, item, change, reason)
    hand_over_entry(writing, change.new_ref or 0, item.id)
    former = former_values(change.before or {})
    return reactivate(writing, item, Event.UNDO, scope.actor, reason, former)


def _subtract_absorbed(
    writing: WriteTransaction, scope: Scope, absorbed: Item, change: Change, reason: str | None
) -> None:
    """Take from the survivor what it had absorbed; tags and importance if it is unchanged since."""
    survivor = item_of(writing.connection, writing.user_id, change.new_ref or 0)
    if survivor is None:  # purged
        return
    taken_up = former_values(change.meta[TAKEN_UP])
    count = max(0, survivor.access_count - taken_up.get("access_count", 0))
    values: dict[str, Any] = {"access_count": count, "updated_at": changed_at(writing, survivor)}
    if "ratings" in taken_up and survivor.ratings == joined(taken_up["ratings"], absorbed.ratings):
        values["ratings"] = taken_up["ratings"]
    for name in ("last_accessed_at", "last_verified_at"):
        if getattr(survivor, name) == getattr(absorbed, name):  # not again since
            values[name] = taken_up.get(name)
    update = last_update(writing.connection, writing.user_id, survivor.id)
    if update is not None and absorbed.id in update.meta.get(MERGED_IDS, ()):
        values |= former_values(update.before or {})
        drop_replaced_values(writing.connection, writing.user_id, update.revision)
        undone = {UNDONE_REVISION: update.revision}
        record_change(writing, survivor, Event.UNDO, actor=scope.actor, reason=reason, meta=undone)
    update_item(writing, survivor, values)


def _close(writing: WriteTransaction, old: Item, start: datetime) -> Item:
    closed: dict[str, Any] = {
        "status": Status.SUPERSEDED,
        "valid_to": end_when_replaced(old, start),
        "updated_at": changed_at(writing, old),
    }
    update_item(writing, old, closed)
    return replace(old, **closed)


def absorb(
    writing: WriteTransaction,
    scope: Scope,
    survivor_id: int,
    absorbed_ids: Sequence[int],
    event: Event,
    reason: str | None,
) -> Item:
    """Let a memory replace others of the same user; returns its new state.

    ``event`` says whether they had the same meaning (``MERGE``) or were outdated (``SUPERSEDE``).
    Each ends at the survivor's start if that is later than its own, else now.

    The survivor gets the higher importance, all tags, the recalls and the latest verification, and
    counts as changed now. An undo, whichever memory is named, restores the absorbed memory,
    subtracts its recalls, and resets importance and tags unless the survivor was updated since.

    Raises:
        InvalidValue: nothing, too much or the survivor itself would be absorbed.
        IllegalTransition: one of them is not active.
        MemoryNotFound, NotOwner.
    """
    listed = list(dict.fromkeys(absorbed_ids))
    if not listed or survivor_id in listed or len(listed) > MAX_MERGED_ITEMS:
        raise InvalidValue(
            "absorbed_ids", f"must name 1 to {MAX_MERGED_ITEMS} memories besides the survivor"
        )
    survivor = own_item(writing, scope, survivor_id)
    if survivor.status is not Status.ACTIVE:
        raise IllegalTransition(f"memory {survivor.id} is {survivor.status}, not active")
    absorbed = [own_item(writing, scope, one) for one in listed]
    for one in absorbed:
        check_step(one.id, one.status, Status.SUPERSEDED)
        began_later = survivor.valid_from > one.valid_from
        _close(writing, one, survivor.valid_from if began_later else writing.now)
    # Recorded first, so that an undo finds the replacement as the later change.
    grown = _grown(writing, scope, survivor, absorbed, reason)
    for one in absorbed:
        grown = _with_recalls(writing, scope, grown, one, listed, event, reason)
    remove_relations(writing, listed)
    return grown


def _grown(
    writing: WriteTransaction,
    scope: Scope,
    survivor: Item,
    absorbed: Sequence[Item],
    reason: str | None,
) -> Item:
    """The survivor with the highest importance and all tags, recorded if it changes."""
    importance = max(item.importance for item in (survivor, *absorbed))
    tags = survivor.tags
    # Viewers of a shared memory must not learn of one that they never saw.
    if not viewers_of(writing.connection, writing.user_id, survivor.id):
        every = (tag for item in (survivor, *absorbed) for tag in item.tags)
        tags = tuple(dict.fromkeys(every))[: max(MAX_TAGS, len(survivor.tags))]
    if (importance, tags) == (survivor.importance, survivor.tags):
        return survivor
    values: dict[str, Any] = {
        "importance": importance,
        "tags": tags,
        "updated_at": changed_at(writing, survivor),
    }
    update_item(writing, survivor, values)
    record_change(
        writing,
        survivor,
        Event.UPDATE,
        actor=scope.actor,
        reason=reason,
        meta={MERGED_IDS: [one.id for one in absorbed]},
        before={"importance": survivor.importance, "tags": list(survivor.tags)},
    )
    return replace(survivor, **values)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _with_recalls(
    writing: WriteTransaction,
    scope: Scope,
    survivor: Item,
    absorbed: Item,
    together: Sequence[int],
    event: Event,
    reason: str | None,
) -> Item:
    values: dict[str, Any] = {
        "access_count": survivor.access_count + absorbed.access_count,
        "last_accessed_at": _later(survivor.last_accessed_at, absorbed.last_accessed_at),
        "last_verified_at": _later(survivor.last_verified_at, absorbed.last_verified_at),
        # It was said again, so it must not be forgotten soon.
        "updated_at": changed_at(writing, survivor),
    }
    taken_up = {
        "access_count": absorbed.access_count,
        "last_accessed_at": plain(survivor.last_accessed_at),
        "last_verified_at": plain(survivor.last_verified_at),
    }
    ratings = joined(survivor.ratings, absorbed.ratings)
    if ratings != survivor.ratings:
        values["ratings"] = ratings
        taken_up["ratings"] = plain(survivor.ratings)
    update_item(writing, survivor, values)
    merged = {MERGED_IDS: list(together)} if event is Event.MERGE else {}
    record_change(
        writing,
        absorbed,
        event,
        actor=scope.actor,
        reason=reason,
        old_ref=absorbed.id,
        new_ref=survivor.id,
        meta={MADE: False, TAKEN_UP: taken_up, **merged},
        before={"valid_to": plain(absorbed.valid_to)},
    )
    return replace(survivor, **values)


def read_lineage(reading: ReadTransaction, audience: Audience, scope: Scope, item: Item) -> Lineage:
    """The chain of replacements of a user's own memory.

    Names only memories that the audience may see, also forgotten ones.
    """
    undoable = None
    with contextlib.suppress(NothingToUndo, IllegalTransition, MemoryNotFound):
        undoable = plan_undo(reading.connection, scope, item, reading.now).undoable
    return Lineage(
        _successor(reading, audience, item), _predecessors(reading, audience, item), undoable
    )


def _successor(reading: ReadTransaction, audience: Audience, item: Item) -> Item | None:
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


def _predecessors(reading: ReadTransaction, audience: Audience, item: Item) -> tuple[Item, ...]:
    """The memories that this one replaced, without those restored or replaced again since."""
    ids = formers_of(reading.connection, item.user_id, item.id, MAX_PREDECESSORS)
    found = read_items(reading, audience, ids, include_deleted=True)
    replaced = last_changes(reading.connection, item.user_id, ids, REPLACED)

    def is_replaced_by_it(former: Item) -> bool:
        change = replaced.get(former.id)
        by = None if change is None else change.new_ref  # None: by an update of it
        return former.status is Status.SUPERSEDED and by in (item.id, None)

    return tuple(former for former in found if is_replaced_by_it(former))
