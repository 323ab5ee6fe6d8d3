"""Rows of what waits for the user's consent, or for being said again."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ricordo.model.page import Page, decode_cursor, encode_cursor
from ricordo.model.proposal import StoredProposal
from ricordo.model.vocabulary import ProposalKind, ProposalState
from ricordo.storage.columns import Moment, stored_choice
from ricordo.storage.tables import proposals
from ricordo.storage.writing import Writing

_COLUMNS = [column for column in proposals.c if column.name != "user_id"]
CURSOR = "proposals"


def insert_proposal(writing: Writing, new: StoredProposal) -> None:
    """Keep something until it is decided."""
    row = {
        "user_id": writing.user_id,
        "id": new.id,
        "kind": new.kind.value,
        "state": new.state.value,
        "fields": list(new.fields),
        "content_hash": new.content_hash,
        "draft": None if new.draft is None else dict(new.draft),
        "quote": new.quote,
        "signals": list(new.signals),
        "thread_id": new.thread_id,
        "created_at": new.created_at,
        "expires_at": new.expires_at,
        "decided_at": new.decided_at,
        "decided_by": new.decided_by,
        "item_id": new.item_id,
    }
    writing.connection.execute(sa.insert(proposals).values(**row))
    writing.keeps_user = True


def update_proposal(writing: Writing, proposal_id: int, values: Mapping[str, Any]) -> None:
    """Change columns of one proposal."""
    where = sa.and_(proposals.c.user_id == writing.user_id, proposals.c.id == proposal_id)
    stored = {
        name: value.value if isinstance(value, ProposalState) else value
        for name, value in values.items()
    }
    writing.connection.execute(sa.update(proposals).where(where).values(**stored))


def find_proposal(
    connection: sa.Connection, user_id: str, proposal_id: int
) -> StoredProposal | None:
    """One of a user's proposals, or None."""
    wanted = sa.select(*_COLUMNS).where(
        proposals.c.user_id == user_id, proposals.c.id == proposal_id
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else _proposal(row)


def open_proposals(connection: sa.Connection, user_id: str, now: datetime) -> list[StoredProposal]:
    """What waits for a user, the oldest first."""
    wanted = (
        sa.select(*_COLUMNS)
        .where(
            proposals.c.user_id == user_id,
            proposals.c.state == ProposalState.OPEN.value,
            proposals.c.expires_at > now,
        )
        .order_by(proposals.c.id)
    )
    return [_proposal(row) for row in connection.execute(wanted).mappings()]


def rejected_since(
    connection: sa.Connection, user_id: str, content_hashes: set[str], since: datetime
) -> set[str]:
    """Which of these texts the user has turned down."""
    wanted = sa.select(proposals.c.content_hash).where(
        proposals.c.user_id == user_id,
        proposals.c.content_hash.in_(sorted(content_hashes)),
        proposals.c.state == ProposalState.REJECTED.value,
        proposals.c.decided_at >= since,
    )
    return set(connection.execute(wanted).scalars())


def lapsed_proposals(connection: sa.Connection, user_id: str, now: datetime) -> list[int]:
    """The open proposals whose time has passed."""
    wanted = sa.select(proposals.c.id).where(
        proposals.c.user_id == user_id,
        proposals.c.state == ProposalState.OPEN.value,
        proposals.c.expires_at <= now,
    )
    return list(connection.execute(wanted.order_by(proposals.c.id)).scalars())


def next_lapse(connection: sa.Connection, user_id: str) -> datetime | None:
    """When the time of the next open proposal is up."""
    wanted = sa.select(sa.func.min(proposals.c.expires_at, type_=Moment)).where(
        proposals.c.user_id == user_id, proposals.c.state == ProposalState.OPEN.value
    )
    found: datetime | None = connection.execute(wanted).scalar_one()
    return found


def page_of_proposals(
    connection: sa.Connection,
    user_id: str,
    state: ProposalState | None,
    now: datetime,
    limit: int,
    cursor: str | None,
) -> Page[StoredProposal]:
    """A user's proposals, the oldest first; open ones whose time has passed count as expired.

    Raises:
        InvalidCursor: the cursor was not given out by this call.
    """
    wanted = sa.select(*_COLUMNS).where(proposals.c.user_id == user_id)
    lapsed = sa.and_(proposals.c.state == ProposalState.OPEN.value, proposals.c.expires_at <= now)
    if state is ProposalState.OPEN:
        wanted = wanted.where(proposals.c.state == state.value, proposals.c.expires_at > now)
    elif state is ProposalState.EXPIRED:
        wanted = wanted.where(sa.or_(proposals.c.state == state.value, lapsed))
    elif state is not None:
        wanted = wanted.where(proposals.c.state == state.value)
    if cursor is not None:
        (last,) = decode_cursor(CURSOR, cursor, (int,))
        wanted = wanted.where(proposals.c.id > last)
    rows = connection.execute(wanted.order_by(proposals.c.id).limit(limit + 1)).mappings().all()
    found = tuple(_proposal(row) for row in rows[:limit])
    more = len(rows) > limit
    return Page(found, encode_cursor(CURSOR, [found[-1].id]) if more else None)


def _proposal(row: Mapping[Any, Any]) -> StoredProposal:
    return StoredProposal(
        **{
            **row,
            "kind": stored_choice(ProposalKind, row["kind"]),
            "state": stored_choice(ProposalState, row["state"]),
            "fields": tuple(row["fields"]),
            "signals": tuple(row["signals"]),
        }
    )
