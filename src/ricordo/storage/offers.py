"""Rows of memories that users offer each other, and of senders who are blocked."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ricordo.model.sharing import BlockedSender, Offer
from ricordo.model.vocabulary import ProposalState
from ricordo.storage.columns import stored_choice
from ricordo.storage.sharing_tables import blocked_senders, link_offers
from ricordo.storage.where import Condition
from ricordo.storage.writing import Writing


def put_offer(writing: Writing, offer: Offer) -> None:
    """Keep an offer, in place of an earlier one of the same memory to the same user."""
    drop_offer(writing.connection, offer.user_id, offer.item_id)
    row = {column.name: getattr(offer, column.name) for column in link_offers.c}
    row["state"] = offer.state.value
    writing.connection.execute(sa.insert(link_offers).values(**row))
    writing.keeps_user = True  # whom something is offered to may have nothing else here


def drop_offer(connection: sa.Connection, viewer: str, item_id: int) -> None:
    """Forget that a memory was offered, and what became of it."""
    connection.execute(sa.delete(link_offers).where(_is(viewer, item_id)))


def find_offer(connection: sa.Connection, viewer: str, item_id: int) -> Offer | None:
    """What was offered to a user under this number, or None."""
    wanted = sa.select(link_offers).where(_is(viewer, item_id))
    row = connection.execute(wanted).mappings().one_or_none()
    return None if row is None else _offer(row)


def offers_to(
    connection: sa.Connection,
    viewer: str,
    state: ProposalState | None,
    now: datetime,
    after: int,
    limit: int,
) -> list[Offer]:
    """What was offered to a user, by number; open ones whose time has passed count as expired."""
    wanted = sa.select(link_offers).where(
        link_offers.c.user_id == viewer, link_offers.c.item_id > after
    )
    if state is not None:
        wanted = wanted.where(_in_state(state, now))
    rows = connection.execute(wanted.order_by(link_offers.c.item_id).limit(limit)).mappings()
    return [_offer(row) for row in rows]


def open_offers_of(
    connection: sa.Connection, owner_id: str, item_id: int, now: datetime
) -> list[Offer]:
    """Who was offered a memory and has not decided yet, in order."""
    wanted = sa.select(link_offers).where(
        link_offers.c.owner_id == owner_id,
        link_offers.c.item_id == item_id,
        _in_state(ProposalState.OPEN, now),
    )
    rows = connection.execute(wanted.order_by(link_offers.c.user_id)).mappings()
    return [_offer(row) for row in rows]


def open_offers_from(
    connection: sa.Connection, viewer: str, owner_id: str, now: datetime
) -> list[Offer]:
    """What one user has offered another who has not decided yet, by number."""
    wanted = sa.select(link_offers).where(
        link_offers.c.user_id == viewer,
        link_offers.c.owner_id == owner_id,
        _in_state(ProposalState.OPEN, now),
    )
    rows = connection.execute(wanted.order_by(link_offers.c.item_id)).mappings()
    return [_offer(row) for row in rows]


def count_waiting(
    connection: sa.Connection, viewer: str, owner_id: str, now: datetime
) -> tuple[int, int]:
    """How much waits for a user: of everybody, and of one sender."""
    of_sender = sa.func.sum(sa.case((link_offers.c.owner_id == owner_id, 1), else_=0))
    wanted = sa.select(sa.func.count(), sa.func.coalesce(of_sender, 0)).where(
        link_offers.c.user_id == viewer, _in_state(ProposalState.OPEN, now)
    )
    of_all, of_one = connection.execute(wanted).one()
    return int(of_all), int(of_one)


# -- blocked senders -----------------------------------------------------------------------


def block(writing: Writing, sender: str) -> None:
    """Keep that the writing user wants nothing of a sender."""
    row = {"user_id": writing.user_id, "sender_id": sender, "created_at": writing.now}
    writing.connection.execute(sa.insert(blocked_senders).values(**row))
    writing.keeps_user = True


def unblock(writing: Writing, sender: str) -> None:
    """Forget that the writing user wants nothing of a sender."""
    where = _blocks(writing.user_id) & (blocked_senders.c.sender_id == sender)
    writing.connection.execute(sa.delete(blocked_senders).where(where))


def blocked_by(connection: sa.Connection, viewer: str) -> tuple[BlockedSender, ...]:
    """Whom a user blocks, in order."""
    wanted = sa.select(blocked_senders.c.sender_id, blocked_senders.c.created_at)
    rows = connection.execute(wanted.where(_blocks(viewer)).order_by(blocked_senders.c.sender_id))
    return tuple(BlockedSender(user_id=row.sender_id, since=row.created_at) for row in rows)


def find_block(connection: sa.Connection, viewer: str, sender: str) -> BlockedSender | None:
    """That a user blocks a sender, or None."""
    wanted = sa.select(blocked_senders.c.created_at).where(
        _blocks(viewer), blocked_senders.c.sender_id == sender
    )
    since = connection.execute(wanted).scalar_one_or_none()
    return None if since is None else BlockedSender(user_id=sender, since=since)


def _blocks(viewer: str) -> Condition:
    return blocked_senders.c.user_id == viewer


def _is(viewer: str, item_id: int) -> Condition:
    return sa.and_(link_offers.c.user_id == viewer, link_offers.c.item_id == item_id)


def _in_state(state: ProposalState, now: datetime) -> Condition:
    noted = link_offers.c.state == state.value
    if state is ProposalState.OPEN:
        return sa.and_(noted, link_offers.c.expires_at > now)
    if state is ProposalState.EXPIRED:
        is_open = link_offers.c.state == ProposalState.OPEN.value
        return sa.or_(noted, sa.and_(is_open, link_offers.c.expires_at <= now))
    return noted


def _offer(row: Mapping[Any, Any]) -> Offer:
    return Offer(**{**row, "state": stored_choice(ProposalState, row["state"])})
