"""The end of a memory's time: expiry, soft delete and removal for good."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.limits import SWEEP_BATCH_ITEMS
from ricordo.memories.recording import record_change
from ricordo.model.item import Item
from ricordo.model.job import NewJob
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.columns import Moment
from ricordo.storage.entries import next_entry_end, remove_expired_entries
from ricordo.storage.history import silence
from ricordo.storage.idempotency import drop_answers
from ricordo.storage.items import changed_at, delete_items, find_items, update_item
from ricordo.storage.links import remove_links
from ricordo.storage.tables import items
from ricordo.storage.themes import drop_summary
from ricordo.storage.transaction import Writing

LIFECYCLE_JOB: Final = "lifecycle"
"""Kind of the job that expires and purges one user's memories when their time comes."""

SYSTEM_ACTED: Final = "system"


def is_expired(item: Item, now: datetime) -> bool:
    """True where the memory's own end has come."""
    return item.expires_at is not None and item.expires_at <= now


def settle_if_expired(writing: Writing, item: Item) -> Item:
    """The memory as it really stands: one whose time has come is soft-deleted first."""
    if item.status is Status.DELETED or not is_expired(item, writing.now):
        return item
    return soft_delete(writing, item, Event.TTL, SYSTEM_ACTED, "expired")


def soft_delete(
    writing: Writing,
    item: Item,
    event: Event,
    actor: str,
    reason: str | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Item:
    """Hide a memory from every read and plan its removal."""
    purge_at = writing.now + writing.policy.purge_after
    values: dict[str, Any] = {
        "status": Status.DELETED,
        "purge_at": purge_at,
        "updated_at": changed_at(writing, item),
    }
    update_item(writing, item, values)
    drop_summary(writing.connection, item.user_id)  # it may tell of this memory
    before = {"status": item.status.value}
    record_change(writing, item, event, actor=actor, reason=reason, meta=meta, before=before)
    plan_lifecycle(writing, item.user_id, purge_at)
    return replace(item, **values)


def plan_lifecycle(writing: Writing, user_id: str, when: datetime) -> None:
    """Queue the job that will look after this user's memories at that time."""
    writing.enqueue(
        NewJob(kind=LIFECYCLE_JOB, user_id=user_id, run_at=when, unique_key="", payload={})
    )


def expire_due(writing: Writing) -> int:
    """Soft-delete a bounded number of memories whose time has come; how many there were.

    Entries of stores whose time has come are removed along with them, and counted too.
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


def purge_due(writing: Writing, *, before_time: bool = False) -> int:
    """Remove a bounded number of soft-deleted memories for good; how many there were.

    ``before_time`` also takes those whose time has not come yet. History keeps that they existed,
    and nothing of what they said.
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


def next_end(writing: Writing) -> datetime | None:
    """When the next memory of this user expires or is to be purged, or an entry of a store ends."""
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
