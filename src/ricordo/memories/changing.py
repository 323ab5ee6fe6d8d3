"""Changing the standing of a memory: archive, forget, restore, pin, verify."""

from dataclasses import replace
from typing import Any

from ricordo.errors import IllegalTransition, MemoryNotFound, Occupied
from ricordo.memories.expiring import is_expired, settle_if_expired, soft_delete
from ricordo.memories.owning import own_item
from ricordo.memories.recording import record_change
from ricordo.model.item import Item, check_step
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.history import last_change, old_versions
from ricordo.storage.items import (
    active_with_key,
    active_with_text,
    changed_at,
    find_items,
    item_of,
    update_item,
)
from ricordo.storage.tables import items
from ricordo.storage.transaction import Writing
from ricordo.text.normalise import content_hash

WENT_WITH = "went_with"
"""In the meta of a DELETE: the memory whose former text it was and which took it along."""

_DELETED = (Event.DELETE, Event.TTL)


def archive(writing: Writing, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Put a memory aside: kept, and out of searches unless asked for.

    Raises:
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    check_step(item.id, item.status, Status.ARCHIVED)
    return set_values(
        writing, item, {"status": Status.ARCHIVED}, Event.ARCHIVE, scope.actor, reason
    )


def forget(writing: Writing, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Soft-delete a memory, and the older texts that it replaced under its key.

    Raises:
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    check_step(item.id, item.status, Status.DELETED)
    for version in _with_ids(writing, old_versions(writing.connection, writing.user_id, item.id)):
        if version.status is Status.SUPERSEDED:
            along = {WENT_WITH: item.id}
            soft_delete(writing, version, Event.DELETE, scope.actor, reason, along)
    return soft_delete(writing, item, Event.DELETE, scope.actor, reason)


def forget_key(
    writing: Writing,
    scope: Scope,
    key: str,
    theme: str | None,
    reason: str | None,
) -> list[Item]:
    """Soft-delete what has this key, in one theme or in all, with its older texts.

    Raises:
        MemoryNotFound: nothing has this key.
        CategoryNotAllowed: the scope does not reach the theme.
    """
    where = (
        (items.c.user_id == writing.user_id)
        & (items.c.key == key)
        & items.c.status.in_([Status.ACTIVE.value, Status.ARCHIVED.value])
    )
    if theme is not None:
        scope.check_reaches([theme])
        where &= items.c.theme == theme
    elif scope.categories is not None:
        where &= items.c.theme.in_(sorted(scope.categories))
    found = [
        item for item in find_items(writing.connection, where) if not is_expired(item, writing.now)
    ]
    if not found:
        raise MemoryNotFound(f"with key {key!r}")
    # One that goes along with another, as its former text, is gone when its turn comes.
    return [
        forget(writing, scope, item.id, reason)
        for item in found
        if own_item(writing, scope, item.id).status is not Status.DELETED
    ]


def restore(writing: Writing, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Bring an archived or soft-deleted memory back.

    Raises:
        IllegalTransition: it is active, or was superseded (``undo`` brings those back).
        Occupied: its key or text has been taken by another active memory.
        MemoryNotFound, NotOwner.
    """
    unsettled = item_of(writing.connection, writing.user_id, item_id)
    item = own_item(writing, scope, item_id)
    if item.status is Status.SUPERSEDED:
        raise IllegalTransition(f"memory {item.id} was superseded: undo brings it back")
    check_step(item.id, item.status, Status.ACTIVE)
    values: dict[str, Any] = {}
    if item.status is Status.DELETED:
        _restore_former_texts(writing, scope, item, reason)
        expired_just_now = unsettled is not None and unsettled.status is Status.SUPERSEDED
        if expired_just_now or _was_superseded(writing, item):
            values["valid_to"] = None  # it holds again, so it has no end
    return reactivate(writing, item, Event.RESTORE, scope.actor, reason, values)


def _restore_former_texts(writing: Writing, scope: Scope, item: Item, reason: str | None) -> None:
    """What was forgotten along with a keyed memory comes back along with it."""
    for version in _with_ids(writing, old_versions(writing.connection, writing.user_id, item.id)):
        deleted = last_change(writing.connection, writing.user_id, version.id, _DELETED)
        went_along = deleted is not None and deleted.meta.get(WENT_WITH) == item.id
        if version.status is Status.DELETED and went_along:
            values = {"status": Status.SUPERSEDED, "purge_at": None}
            set_values(writing, version, values, Event.RESTORE, scope.actor, reason)


def _was_superseded(writing: Writing, item: Item) -> bool:
    deleted = last_change(writing.connection, writing.user_id, item.id, _DELETED)
    before = {} if deleted is None or deleted.before is None else deleted.before
    return before.get("status") == Status.SUPERSEDED.value


def reactivate(
    writing: Writing,
    item: Item,
    event: Event,
    actor: str,
    reason: str | None,
    values: dict[str, Any] | None = None,
) -> Item:
    """Make a memory active again, if its place is free.

    Raises:
        Occupied: its key or text has been taken by another active memory.
    """
    check_place_is_free(writing, item)
    changes: dict[str, Any] = {**(values or {}), "status": Status.ACTIVE, "purge_at": None}
    if is_expired(item, writing.now):
        changes["expires_at"] = None  # or it would be gone again at once
    return set_values(writing, item, changes, event, actor, reason)


def pin(writing: Writing, scope: Scope, item_id: int, pinned: bool) -> Item:
    """Mark a memory as one to keep, or take the mark away.

    Raises:
        IllegalTransition: it was deleted.
        MemoryNotFound, NotOwner.
    """
    item = _present_item(writing, scope, item_id)
    if item.pinned == pinned:
        return item
    return set_values(
        writing, item, {"pinned": pinned}, Event.PIN, scope.actor, meta={"pinned": pinned}
    )


def verify(writing: Writing, scope: Scope, item_id: int) -> Item:
    """Note that a memory was found to be still true.

    Raises:
        IllegalTransition: it was deleted.
        MemoryNotFound, NotOwner.
    """
    item = _present_item(writing, scope, item_id)
    return set_values(writing, item, {"last_verified_at": writing.now}, Event.VERIFY, scope.actor)


def set_values(
    writing: Writing,
    item: Item,
    values: dict[str, Any],
    event: Event,
    actor: str,
    reason: str | None = None,
    meta: dict[str, Any] | None = None,
) -> Item:
    """Change a memory and record it; the memory as it stands now."""
    changes = {**values, "updated_at": changed_at(writing, item)}
    update_item(writing, item, changes)
    record_change(writing, item, event, actor=actor, reason=reason, meta=meta)
    return replace(item, **changes)


def _present_item(writing: Writing, scope: Scope, item_id: int) -> Item:
    item = own_item(writing, scope, item_id)
    if item.status is Status.DELETED:
        raise IllegalTransition(f"memory {item.id} was deleted: restore it first")
    return item


def _with_ids(writing: Writing, ids: list[int]) -> list[Item]:
    where = (items.c.user_id == writing.user_id) & items.c.id.in_(ids)
    return find_items(writing.connection, where) if ids else []


def check_place_is_free(writing: Writing, item: Item) -> None:
    """Refuse to give a memory a place that another active one has.

    Raises:
        Occupied: another active memory has its key or, where it has none, its text.
    """
    themes = {item.theme}
    if item.key is not None:
        met = active_with_key(writing.connection, item.user_id, themes, {item.key}, writing.now)
        what = f"key {item.key!r}"
    else:
        hashes = {content_hash(item.content)}
        met = active_with_text(writing.connection, item.user_id, themes, hashes, writing.now)
        met = [match for match in met if match.key is None]
        what = "text"
    others = []
    for match in met:
        if match.expired:
            for expired in _with_ids(writing, [match.id]):
                settle_if_expired(writing, expired)
        elif match.id != item.id:
            others.append(match.id)
    if others:
        raise Occupied(
            f"memory {others[0]} already has this {what} in theme {item.theme!r}:"
            " archive or forget it first"
        )
