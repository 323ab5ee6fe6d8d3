"""One memory in place of others: superseding, merging, and undoing either."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.errors import IllegalTransition, InvalidValue, NothingToUndo
from ricordo.limits import MAX_TAGS
from ricordo.memories.adding import add_all, update_keyed
from ricordo.memories.changing import check_place_is_free, reactivate, set_values
from ricordo.memories.expiring import is_expired
from ricordo.memories.owning import check_in_reach, own_item
from ricordo.memories.recording import record_change
from ricordo.model.draft import NewMemory
from ricordo.model.former import former_values
from ricordo.model.history import Change
from ricordo.model.item import Added, Item
from ricordo.model.lifecycle import check_step
from ricordo.model.record import plain
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.history import (
    UNDONE_REVISION,
    drop_replaced_values,
    last_change,
    last_update,
    replaced_by,
    update_that_kept,
)
from ricordo.storage.items import changed_at, delete_items, item_of, update_item
from ricordo.storage.links import remove_links, viewers_of
from ricordo.storage.store_entries import hand_over_entry, has_entry
from ricordo.storage.writing import OWNER_ACTED, Writing
from ricordo.text.normalise import canonical

_REPLACED = (Event.SUPERSEDE, Event.MERGE)
MERGED_IDS = "merged_ids"
"""In the meta of a MERGE: the memories that became one. In that of an UPDATE: what brought it."""
TAKEN_UP = "taken_up"
"""In the meta of a replacement by a memory that was there before (``absorbing.py``): how many
recalls went to it, and when it had last been recalled and verified itself."""


def replace_with(
    writing: Writing,
    scope: Scope,
    old_ids: Sequence[int],
    draft: NewMemory,
    event: Event,
    reason: str | None,
    *,
    reason_to_add: str | None = None,
) -> Added:
    """Supersede one memory, or merge several, by a new one.

    The old ones are kept, closed at the new one's start. What the new one leaves open it takes
    from them: where they are filed, what they are, how much they matter. ``reason_to_add`` is what
    the new one's own history says where the reason tells of the old ones.

    Raises:
        InvalidValue: the new one would begin before an old one did.
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    olds = [own_item(writing, scope, old_id) for old_id in dict.fromkeys(old_ids)]
    draft = _inheriting(draft, olds)
    if len(olds) == 1 and _says_the_same(olds[0], draft):
        changed = update_keyed(writing, scope, olds[0], draft, reason)
        return Added(olds[0].id, Status.ACTIVE, duplicate=not changed, updated=changed)
    start = draft.start(writing.now)
    for old in olds:
        check_step(old.id, old.status, Status.SUPERSEDED)
        if start < old.valid_from:
            raise InvalidValue(
                "valid_from", f"must not be before that of memory {old.id}, which it replaces"
            )
        _close(writing, old, start)
    added = add_all(writing, scope, [draft], reason_to_add or reason)[0]
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
            meta={"made": made} | ({MERGED_IDS: merged} if event is Event.MERGE else {}),
            before={"valid_to": plain(old.valid_to)},
        )
    return added


def _inheriting(draft: NewMemory, olds: Sequence[Item]) -> NewMemory:
    """The draft with what it leaves open taken from what it replaces, where those agree."""
    open_fields: dict[str, Any] = {
        "importance": max(old.importance for old in olds),
        "pinned": any(old.pinned for old in olds),
        "tags": tuple(dict.fromkeys(tag for old in olds for tag in old.tags))[:MAX_TAGS],
    }
    for name in ("theme", "type", "key"):
        values = {getattr(old, name) for old in olds}
        if len(values) == 1:
            open_fields[name] = values.pop()
    return replace(
        draft,
        **{name: value for name, value in open_fields.items() if getattr(draft, name) is None},
    )


def undo(writing: Writing, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Take back the last replacement or update of a memory; what stands in its place now.

    A superseded memory comes back and the one made in its place is archived, whichever of the two
    is named; a merge is taken back as a whole. An updated one gets its former values. A scope that
    does not reach all that would change by it can undo nothing.

    Raises:
        NothingToUndo: it was neither superseded, merged nor updated.
        Occupied: its key or text has been taken by another active memory.
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    if item.status is Status.SUPERSEDED:
        return _undo_superseded(writing, scope, item, reason)
    if item.status is not Status.ACTIVE:
        raise IllegalTransition(f"memory {item.id} is {item.status}: restore it instead")
    update = last_update(writing.connection, writing.user_id, item.id)
    replaced = _last_replacement(writing, item)
    if replaced is not None and (update is None or _absorbed_after(update, replaced[1])):
        return _undo_superseded(writing, scope, replaced[0], reason)
    if update is not None:
        return _undo_update(writing, scope, item, update, reason)
    raise NothingToUndo(f"memory {item.id} has no change that can be undone")


def _last_replacement(writing: Writing, item: Item) -> tuple[Item, Change] | None:
    """The memory whose place this one took last and still has, and the change that did it."""
    for old_id in replaced_by(writing.connection, writing.user_id, item.id):
        old = item_of(writing.connection, writing.user_id, old_id)
        change = last_change(writing.connection, writing.user_id, old_id, _REPLACED)
        if old is None or change is None or change.new_ref != item.id:
            continue
        if old.status is Status.SUPERSEDED:
            return old, change
    return None


def _absorbed_after(update: Change, replacement: Change) -> bool:
    return TAKEN_UP in replacement.meta and replacement.revision > update.revision


def _undo_superseded(writing: Writing, scope: Scope, item: Item, reason: str | None) -> Item:
    change = last_change(writing.connection, writing.user_id, item.id, _REPLACED)
    if change is None or change.new_ref is None:
        return _undo_by_old_version(writing, scope, item, reason)
    check_in_reach(scope, item)
    if change.meta.get("made"):
        _withdraw(writing, scope, change.new_ref, item.id)
    for sibling_id in change.meta.get(MERGED_IDS, ()):
        if sibling_id != item.id:
            _bring_back_sibling(writing, scope, sibling_id, change.new_ref, reason)
    return _bring_back(writing, scope, item, change, reason)


def _undo_by_old_version(writing: Writing, scope: Scope, version: Item, reason: str | None) -> Item:
    """Undo by naming the old text that an update kept, if nothing happened since."""
    update = update_that_kept(writing.connection, writing.user_id, version.id)
    if update is None:
        raise NothingToUndo(f"memory {version.id} was not superseded by another one")
    present = own_item(writing, scope, update.item_id)
    newest = last_update(writing.connection, writing.user_id, present.id)
    if present.status is not Status.ACTIVE or newest is None or newest.revision != update.revision:
        raise NothingToUndo(f"memory {present.id} has changed since; undo its later changes first")
    return _undo_update(writing, scope, present, update, reason)


def _undo_update(
    writing: Writing, scope: Scope, item: Item, update: Change, reason: str | None
) -> Item:
    if update.before is None:
        raise NothingToUndo(f"what memory {item.id} said before was purged")
    values = former_values(update.before)
    if has_entry(writing, item.id):
        values.pop("expires_at", None)  # when an entry of a store ends, its program says
    former = replace(item, **values, updated_at=changed_at(writing, item))
    if is_expired(former, writing.now):  # or it would be gone at once
        former = replace(former, expires_at=None)
        values["expires_at"] = None
    check_place_is_free(writing, former)
    update_item(writing, item, {**values, "updated_at": former.updated_at})
    if update.old_ref is not None:  # only now: until then it kept the vector of its text
        _dissolve_former_text(writing, update.old_ref)
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


def _dissolve_former_text(writing: Writing, former_id: int) -> None:
    """The kept old text is the text again; its own row, and who it was shared with, go."""
    for viewer in viewers_of(writing.connection, writing.user_id, former_id):
        writing.record(
            Event.UNLINK,
            former_id,
            actor=OWNER_ACTED,
            other_user=writing.user_id,
            user_id=viewer,
        )
    remove_links(writing.connection, writing.user_id, [former_id])
    delete_items(writing, [former_id])


def _bring_back(
    writing: Writing, scope: Scope, item: Item, change: Change, reason: str | None
) -> Item:
    if TAKEN_UP in change.meta:
        _give_back(writing, scope, item, change, reason)
    hand_over_entry(writing, change.new_ref or 0, item.id)
    former = former_values(change.before or {})
    return reactivate(writing, item, Event.UNDO, scope.actor, reason, former)


def _give_back(
    writing: Writing, scope: Scope, absorbed: Item, change: Change, reason: str | None
) -> None:
    """Take off the survivor what it had taken up; tags and importance if it is as it was left."""
    survivor = item_of(writing.connection, writing.user_id, change.new_ref or 0)
    if survivor is None:  # purged
        return
    check_in_reach(scope, survivor)
    taken_up = former_values(change.meta[TAKEN_UP])
    count = max(0, survivor.access_count - taken_up.get("access_count", 0))
    values: dict[str, Any] = {
        "access_count": count,
        "updated_at": changed_at(writing, survivor),
    }
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


def _bring_back_sibling(
    writing: Writing,
    scope: Scope,
    sibling_id: int,
    replacement_id: int,
    reason: str | None,
) -> None:
    sibling = item_of(writing.connection, writing.user_id, sibling_id)
    change = last_change(writing.connection, writing.user_id, sibling_id, _REPLACED)
    if sibling is None or sibling.status is not Status.SUPERSEDED or change is None:
        return
    if change.new_ref == replacement_id:
        check_in_reach(scope, sibling)
        _bring_back(writing, scope, sibling, change, reason)


def _withdraw(writing: Writing, scope: Scope, replacement_id: int, old_id: int) -> None:
    replacement = item_of(writing.connection, writing.user_id, replacement_id)
    if replacement is None:  # purged
        return
    check_in_reach(scope, replacement)
    if replacement.status is Status.SUPERSEDED:
        raise NothingToUndo(
            f"memory {replacement_id}, which took the place of {old_id}, was itself superseded:"
            " undo that first"
        )
    if replacement.status is Status.ACTIVE:
        why = f"took the place of memory {old_id}, which was brought back"
        aside = {"status": Status.ARCHIVED}
        set_values(writing, replacement, aside, Event.ARCHIVE, scope.actor, why)


def _close(writing: Writing, old: Item, start: datetime) -> None:
    ended = start if old.valid_to is None else min(old.valid_to, start)
    closed = {
        "status": Status.SUPERSEDED,
        "valid_to": ended,
        "updated_at": changed_at(writing, old),
    }
    update_item(writing, old, closed)


def _says_the_same(old: Item, draft: NewMemory) -> bool:
    return (
        old.status is Status.ACTIVE
        and old.theme == draft.theme
        and old.key == draft.key
        and canonical(old.content) == canonical(draft.content)
    )
