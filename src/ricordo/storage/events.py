"""Rows that tell what background work did."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ricordo.model.activity import ActivityEvent
from ricordo.model.page import Page, decode_cursor, encode_cursor
from ricordo.model.vocabulary import EventStatus
from ricordo.storage.columns import stored_choice
from ricordo.storage.tables import EVENT_IDS, events
from ricordo.storage.writing import Writing

_COLUMNS = [column for column in events.c if column.name != "user_id"]
_CURSOR = "events"


def put_events(writing: Writing, happened: Sequence[dict[str, Any]]) -> None:
    """Note steps of the writing user's background work; each has node, op, status and more.

    Nothing is noted of work for somebody who was erased meanwhile.
    """
    if not happened or writing.is_first:
        return
    ids = writing.take_ids(EVENT_IDS, len(happened))
    empty = dict.fromkeys(("thread_id", "item_id", "theme", "similarity", "detail"))
    rows = [
        {**empty, **entry, "user_id": writing.user_id, "id": event_id, "at": writing.now}
        for event_id, entry in zip(ids, happened, strict=True)
    ]
    writing.connection.execute(sa.insert(events), rows)


def page_of_events(
    connection: sa.Connection, user_id: str, limit: int, cursor: str | None
) -> Page[ActivityEvent]:
    """What happened for a user, the latest first.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """
    wanted = sa.select(*_COLUMNS).where(events.c.user_id == user_id)
    if cursor is not None:
        (last,) = decode_cursor(_CURSOR, cursor, (int,))
        wanted = wanted.where(events.c.id < last)
    ordered = wanted.order_by(events.c.id.desc()).limit(limit + 1)
    rows = connection.execute(ordered).mappings().all()
    found = tuple(
        ActivityEvent(**{**row, "status": stored_choice(EventStatus, row["status"])})
        for row in rows[:limit]
    )
    more = len(rows) > limit
    return Page(found, encode_cursor(_CURSOR, [found[-1].id]) if more else None)


def trim_events(connection: sa.Connection, user_id: str, before: datetime, limit: int) -> int:
    """Remove a bounded number of a user's oldest events from before then; how many there were."""
    oldest = (
        sa.select(events.c.id)
        .where(events.c.user_id == user_id, events.c.at < before)
        .order_by(events.c.at)
        .limit(limit)
    )
    gone = sa.delete(events).where(events.c.user_id == user_id, events.c.id.in_(oldest))
    return connection.execute(gone).rowcount
