"""One memory in place of others: superseding, merging, and undoing either."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_TAGS
from ricordo.memories.adding import add_all, update_keyed
from ricordo.memories.changing import check_place_is_free, reactivate, set_values
from ricordo.memories.expiring import is_expired
from ricordo.memories.owning import own_item
from ricordo.memories.recording import record_change
from ricordo.memories.undo_plan import MADE, MERGED_IDS, TAKEN_UP, UndoPlan, plan_undo
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added, Change, Item, check_step, former_values
from ricordo.model.record import plain
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status, Undoable
from ricordo.storage.entries import hand_over_entry, has_entry
from ricordo.storage.history import (
    UNDONE_REVISION,
    drop_replaced_values,
    last_update,
)
from ricordo.storage.items import changed_at, delete_items, item_of, update_item
from ricordo.storage.links import remove_links, viewers_of
from ricordo.storage.transaction import OWNER_ACTED, Writing
from ricordo.text.normalise import canonical


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
        if draft.begins_before(old.valid_from):
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
            meta={MADE: made} | ({MERGED_IDS: merged} if event is Event.MERGE else {}),
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
    plan = plan_undo(writing.connection, scope, item, writing.now)
    if plan.undoable is Undoable.UPDATE:
        return _undo_update(writing, scope, plan.item, plan.change, reason)
    return _undo_replacement(writing, scope, plan, reason)


def _undo_replacement(writing: Writing, scope: Scope, plan: UndoPlan, reason: str | None) -> Item:
    if plan.withdrawn is not None:
        _withdraw(writing, scope, plan.withdrawn, plan.item.id)
    for sibling in plan.siblings:
        _bring_back(writing, scope, sibling.item, sibling.change, reason)
    return _bring_back(writing, scope, plan.item, plan.change, reason)


def _undo_update(
    writing: Writing, scope: Scope, item: Item, update: Change, reason: str | None
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


def _withdraw(writing: Writing, scope: Scope, replacement: Item, old_id: int) -> None:
    """Put aside what was made in the place of a memory, where it is not out of the way already."""
    if replacement.status is Status.ACTIVE:
        why = f"took the place of memory {old_id}, which was brought back"
        aside = {"status": Status.ARCHIVED}
        set_values(writing, replacement, aside, Event.ARCHIVE, scope.actor, why)


def _close(writing: Writing, old: Item, start: datetime) -> None:
    ended = start if old.valid_to is None else min(old.valid_to, start)
    closed = {
        "status": Status.SUPERSEDED,
        "valid_to": max(old.valid_from, ended),  # its start lies ahead after a clock was set back
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
