"""Changes of a memory: permission checks, status, expiry, history; and the erasure of a user."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import (
    Changed,
    GroupNotFound,
    IllegalTransition,
    MemoryNotFound,
    NotOwner,
    Occupied,
    PermissionMissing,
    StorageError,
    UserNotFound,
)
from ricordo.limits import SWEEP_BATCH_ITEMS
from ricordo.model.activity import STORE_JOB_USER, NewJob
from ricordo.model.group import group_of, space_of
from ricordo.model.item import Item, check_step, doubts_of_agents, is_refuted, unrefuted
from ricordo.model.reports import ErasureReceipt
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, Status
from ricordo.storage.database import OWNER_ACTED, Database, WriteTransaction
from ricordo.storage.entries import next_entry_end, remove_expired_entries
from ricordo.storage.groups import has_group, is_member
from ricordo.storage.history import has_view, last_change, old_versions, silence
from ricordo.storage.idempotency import drop_answers
from ricordo.storage.items import (
    active_with_key,
    active_with_text,
    changed_at,
    delete_items,
    find_item,
    find_items,
    item_of,
    update_item,
)
from ricordo.storage.jobs import discard_queued
from ricordo.storage.links import links_granted, remove_links, viewers_of
from ricordo.storage.sql import Moment
from ricordo.storage.tables import items
from ricordo.storage.users import delete_user_rows, drop_summary, has_user
from ricordo.storage.where import audience_of, in_project, not_expired
from ricordo.text.normalise import content_hash

LIFECYCLE_JOB: Final = "lifecycle"
"""Kind of the job that expires and purges one user's memories."""

SYSTEM_ACTED: Final = "system"

WENT_WITH: Final = "went_with"
"""In the meta of a DELETE: the memory whose former text was deleted with it."""

_DELETED: Final = (Event.DELETE, Event.TTL)


def record_change(
    writing: WriteTransaction,
    item: Item,
    event: Event,
    *,
    actor: str,
    reason: str | None = None,
    old_ref: int | None = None,
    new_ref: int | None = None,
    meta: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
) -> None:
    """Record a change for the owner, and without any content for each viewer.

    Viewers get it so that followers of their change feed (caches, files) notice.
    """
    writing.record(
        event,
        item.id,
        actor=actor,
        reason=reason,
        old_ref=old_ref,
        new_ref=new_ref,
        meta=meta,
        before=before,
        user_id=item.user_id,
    )
    for viewer in viewers_of(writing.connection, item.user_id, item.id):
        writing.record(event, item.id, actor=OWNER_ACTED, other_user=item.user_id, user_id=viewer)


def is_expired(item: Item, now: datetime) -> bool:
    return item.expires_at is not None and item.expires_at <= now


def end_when_replaced(item: Item, start: datetime) -> datetime:
    """Until when a memory was true that another one replaces from ``start`` on."""
    ended = start if item.valid_to is None else min(item.valid_to, start)
    return max(item.valid_from, ended)  # its start lies ahead after a clock was set back


def settle_if_expired(writing: WriteTransaction, item: Item) -> Item:
    """Soft-delete the memory first if it has expired."""
    if item.status is Status.DELETED or not is_expired(item, writing.now):
        return item
    return soft_delete(writing, item, Event.TTL, SYSTEM_ACTED, "expired")


def soft_delete(
    writing: WriteTransaction,
    item: Item,
    event: Event,
    actor: str,
    reason: str | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Item:
    """Hide a memory from every read and schedule its purge."""
    purge_at = writing.now + writing.policy.purge_after
    values: dict[str, Any] = {
        "status": Status.DELETED,
        "purge_at": purge_at,
        "updated_at": changed_at(writing, item),
    }
    update_item(writing, item, values)
    drop_summary(writing.connection, item.user_id)  # it may mention this memory
    before = {"status": item.status.value}
    record_change(writing, item, event, actor=actor, reason=reason, meta=meta, before=before)
    plan_lifecycle(writing, item.user_id, purge_at)
    return replace(item, **values)


def plan_lifecycle(writing: WriteTransaction, user_id: str, when: datetime) -> None:
    writing.enqueue(NewJob(kind=LIFECYCLE_JOB, user_id=user_id, run_at=when))


def expire_due(writing: WriteTransaction) -> int:
    """Soft-delete a bounded number of expired memories; returns how many.

    Expired store entries are deleted and counted, too.
    """
    due = sa.and_(
        items.c.user_id == writing.user_id,
        items.c.expires_at <= writing.now,
        items.c.status != Status.DELETED.value,
    )
    expired = find_items(writing.connection, due, SWEEP_BATCH_ITEMS)
    for item in expired:
        settle_if_expired(writing, item)
    return len(expired) + remove_expired_entries(writing, SWEEP_BATCH_ITEMS)


def purge_due(writing: WriteTransaction, *, before_time: bool = False) -> int:
    """Purge a bounded number of soft-deleted memories; returns how many.

    ``before_time`` also takes those that are not due. History keeps the events without the
    contents.
    """
    due = [items.c.user_id == writing.user_id, items.c.status == Status.DELETED.value]
    if not before_time:
        due.append(items.c.purge_at <= writing.now)
    doomed = find_items(writing.connection, sa.and_(*due), SWEEP_BATCH_ITEMS)
    if not doomed:
        return 0
    for item in doomed:
        record_change(writing, item, Event.PURGE, actor=SYSTEM_ACTED)
    ids = [item.id for item in doomed]
    silence(writing.connection, writing.user_id, ids)
    remove_links(writing.connection, writing.user_id, ids)
    delete_items(writing, ids)
    drop_answers(writing.connection, writing.user_id)
    writing.backend.search.compact(writing.connection)
    return len(doomed)


def next_end(writing: WriteTransaction) -> datetime | None:
    """When the next memory of this user expires or is due for purging, or a store entry expires."""
    deleted = items.c.status == Status.DELETED.value
    moment = sa.case((deleted, items.c.purge_at), else_=items.c.expires_at)
    earliest = sa.select(sa.func.min(moment, type_=Moment)).where(
        items.c.user_id == writing.user_id
    )
    ends = (
        writing.connection.execute(earliest).scalar_one(),
        next_entry_end(writing.connection, writing.user_id),
    )
    return min((end for end in ends if end is not None), default=None)


def own_item(writing: WriteTransaction, scope: Scope, item_id: int) -> Item:
    """A memory of the writing user, in any status.

    An expired one counts as deleted. Raises MemoryNotFound: there is none, it is another user's, or
    it is out of the scope's reach; NotOwner: it is another user's but linked to this one, a
    group's, or global.
    """
    found = item_of(writing.connection, writing.user_id, item_id)
    if found is not None:
        check_in_reach(scope, found)
        return settle_if_expired(writing, found)
    shared = shared_item(writing, scope, item_id)
    if shared is None:
        raise MemoryNotFound(item_id)
    group = group_of(shared.user_id)
    if group is not None:
        raise NotOwner(f"memory {item_id} is of group {group!r}: change it there, naming the group")
    if shared.user_id == GLOBAL_OWNER:
        raise NotOwner(f"memory {item_id} is a global one: users cannot change it")
    raise NotOwner(f"memory {item_id} is shared with you: you can unlink it, not change it")


def check_unchanged(
    writing: WriteTransaction, scope: Scope, item_id: int, expected_updated_at: datetime | None
) -> None:
    """Optimistic locking: refuse if the memory has changed since; None skips the check.

    Raises:
        Changed: it was changed at another time than the caller knows of.
        MemoryNotFound, NotOwner.
    """
    if expected_updated_at is None:
        return
    if own_item(writing, scope, item_id).updated_at != expected_updated_at:
        raise Changed(item_id)


def check_in_reach(scope: Scope, item: Item) -> None:
    """Refuse a memory outside the scope's categories, or of another project. Raises MemoryNotFound:
    its theme is none of the scope's categories, or it is of another project."""
    if not (scope.reaches(item.theme) and scope.sees_project(item.project_id)):
        raise MemoryNotFound(item.id)


def shared_item(writing: WriteTransaction, scope: Scope, item_id: int) -> Item | None:
    """A memory that the writing user may see, of any owner."""
    audience = audience_of(
        writing.connection,
        writing.user_id,
        writing.policy.global_until,
        writing.now,
        scope.categories,
        scope.project_id,
    )
    visible = audience.condition() & not_expired(writing.now) & (items.c.id == item_id)
    return find_item(writing.connection, visible)


def archive(writing: WriteTransaction, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Hide a memory from searches unless they ask for archived ones.

    Raises:
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    check_step(item.id, item.status, Status.ARCHIVED)
    return set_values(
        writing, item, {"status": Status.ARCHIVED}, Event.ARCHIVE, scope.actor, reason
    )


def forget(writing: WriteTransaction, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Soft-delete a memory and its former texts.

    Raises:
        IllegalTransition, MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    check_step(item.id, item.status, Status.DELETED)
    for version in _old_versions(writing, item):
        if version.status is Status.SUPERSEDED:
            along = {WENT_WITH: item.id}
            soft_delete(writing, version, Event.DELETE, scope.actor, reason, along)
    return soft_delete(writing, item, Event.DELETE, scope.actor, reason)


def forget_key(
    writing: WriteTransaction, scope: Scope, key: str, theme: str | None, reason: str | None
) -> list[Item]:
    """Soft-delete the memories with this key, in one theme or all, with their former texts. Raises
    MemoryNotFound: nothing has this key; CategoryNotAllowed: the scope does not reach the theme."""
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
    if scope.project_id is not None:
        where &= in_project(items, scope.project_id)
    found = [
        item for item in find_items(writing.connection, where) if not is_expired(item, writing.now)
    ]
    if not found:
        raise MemoryNotFound(f"with key {key!r}")
    # Former texts are gone already when their turn comes.
    return [
        forget(writing, scope, item.id, reason)
        for item in found
        if own_item(writing, scope, item.id).status is not Status.DELETED
    ]


def restore(writing: WriteTransaction, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Restore an archived or soft-deleted memory.

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
    check_may_return(scope, item)
    values: dict[str, Any] = {}
    if item.status is Status.DELETED:
        for version in _old_versions(writing, item):
            deleted = last_change(writing.connection, writing.user_id, version.id, _DELETED)
            went_along = deleted is not None and deleted.meta.get(WENT_WITH) == item.id
            if version.status is Status.DELETED and went_along:
                former = {"status": Status.SUPERSEDED, "purge_at": None}
                set_values(writing, version, former, Event.RESTORE, scope.actor, reason)
        deleted = last_change(writing.connection, writing.user_id, item.id, _DELETED)
        before = (deleted.before if deleted is not None else None) or {}
        expired_just_now = unsettled is not None and unsettled.status is Status.SUPERSEDED
        if expired_just_now or before.get("status") == Status.SUPERSEDED.value:
            values["valid_to"] = None  # it is true again, so it has no end
    return reactivate(writing, item, Event.RESTORE, scope.actor, reason, values)


def reactivate(
    writing: WriteTransaction,
    item: Item,
    event: Event,
    actor: str,
    reason: str | None,
    values: dict[str, Any] | None = None,
) -> Item:
    """Make a memory active again, if its place is free: nobody calls it wrong any more. Raises
    Occupied: its key or text has been taken by another active memory."""
    check_place_is_free(writing, item)
    changes: dict[str, Any] = {**(values or {}), "status": Status.ACTIVE, "purge_at": None}
    if is_expired(item, writing.now):
        changes["expires_at"] = None  # or it would be gone again at once
    if is_refuted(item.ratings):
        changes["ratings"] = unrefuted(item.ratings)
    return set_values(writing, item, changes, event, actor, reason)


def check_may_return(scope: Scope, item: Item) -> None:
    """Refuse to an agent to bring back what the user called wrong or outdated. Raises
    PermissionMissing: it is one."""
    if is_refuted(item.ratings) and not scope.is_the_users:
        raise PermissionMissing(
            f"the user said that memory {item.id} is wrong or outdated: only they can bring it back"
        )


def pin(writing: WriteTransaction, scope: Scope, item_id: int, pinned: bool) -> Item:
    """Pin or unpin a memory.

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


def verify(writing: WriteTransaction, scope: Scope, item_id: int) -> Item:
    """Mark a memory as verified now; by the user, what agents say against it is settled.

    Raises:
        IllegalTransition: it was deleted.
        MemoryNotFound, NotOwner.
    """
    item = _present_item(writing, scope, item_id)
    values: dict[str, Any] = {"last_verified_at": writing.now}
    if scope.is_the_users and (doubts := doubts_of_agents(item.ratings)):
        values["ratings"] = tuple(one for one in item.ratings if one not in doubts)
    return set_values(writing, item, values, Event.VERIFY, scope.actor)


def set_values(
    writing: WriteTransaction,
    item: Item,
    values: dict[str, Any],
    event: Event,
    actor: str,
    reason: str | None = None,
    meta: dict[str, Any] | None = None,
) -> Item:
    """Change a memory and record it; returns the new state."""
    changes = {**values, "updated_at": changed_at(writing, item)}
    update_item(writing, item, changes)
    record_change(writing, item, event, actor=actor, reason=reason, meta=meta)
    return replace(item, **changes)


def _present_item(writing: WriteTransaction, scope: Scope, item_id: int) -> Item:
    item = own_item(writing, scope, item_id)
    if item.status is Status.DELETED:
        raise IllegalTransition(f"memory {item.id} was deleted: restore it first")
    return item


def _old_versions(writing: WriteTransaction, item: Item) -> list[Item]:
    ids = old_versions(writing.connection, writing.user_id, item.id)
    where = (items.c.user_id == writing.user_id) & items.c.id.in_(ids)
    return find_items(writing.connection, where) if ids else []


def check_place_is_free(writing: WriteTransaction, item: Item) -> None:
    """Require that no other active memory has the same key or text. Raises Occupied: another active
    memory has its key or, where it has none, its text."""
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
        if match.project_id != item.project_id:
            continue
        if match.expired:
            expired = item_of(writing.connection, writing.user_id, match.id)
            if expired is not None:
                settle_if_expired(writing, expired)
        elif match.id != item.id:
            others.append(match.id)
    if others:
        raise Occupied(
            f"memory {others[0]} already has this {what} in theme {item.theme!r}:"
            " archive or forget it first"
        )


SCRUB_JOB: Final = "scrub"
"""Kind of the job that overwrites freed space later if it could not be done at once."""

_SCRUB_DELAY: Final = timedelta(minutes=1)


def erase_user(database: Database, user_id: str) -> ErasureReceipt:
    """Delete everything of a user and return a receipt. Raises UserNotFound: nothing is stored for
    this user."""
    with database.read(user_id) as reading:
        connection = reading.connection
        if not (
            has_user(connection, user_id)
            or has_view(connection, user_id)
            or is_member(connection, user_id)
        ):
            raise UserNotFound(user_id)
    return _erase(database, user_id)


def erase_group(database: Database, group: str) -> ErasureReceipt:
    """Delete a group, its memberships and everything that its members share. Raises GroupNotFound:
    there is no such group."""
    space = space_of(group)
    with database.read(space) as reading:
        if not has_group(reading.connection, space):
            raise GroupNotFound(group)
    return _erase(database, space)


def _erase(database: Database, user_id: str) -> ErasureReceipt:
    with database.write(user_id) as writing:
        for viewer, item_id in links_granted(writing.connection, user_id):
            writing.record(Event.UNLINK, item_id, actor=OWNER_ACTED, user_id=viewer)
        with writing.acting_for_all():  # others mention the user, who knows who
            removed = delete_user_rows(writing.backend, writing.connection, user_id)
        plan_scrub(writing)
        erased_at = writing.now
    scrubbed = scrub_now(database, erased_at)
    return ErasureReceipt(user_id=user_id, erased_at=erased_at, removed=removed, scrubbed=scrubbed)


def plan_scrub(writing: WriteTransaction) -> None:
    """Queue a job in case this process dies before it has scrubbed."""
    if writing.backend.overwrites_freed_space:
        writing.enqueue(_scrub_job(writing.now + _SCRUB_DELAY))


def scrub_now(database: Database, erased_at: datetime) -> bool:
    """Overwrite the freed space; on failure the job does it later."""
    try:
        with database.our_errors():
            scrubbed = database.backend.scrub()
        if scrubbed:
            with database.transaction_for([STORE_JOB_USER]) as connection:
                discard_queued(connection, _scrub_job(erased_at), not_after=erased_at)
    except StorageError:
        return False
    return scrubbed


def _scrub_job(run_at: datetime) -> NewJob:
    return NewJob(kind=SCRUB_JOB, user_id=STORE_JOB_USER, run_at=run_at)
