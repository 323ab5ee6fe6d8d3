"""Rows of shared memories: links, offers and blocked senders."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.model.proposal import BlockedSender, Offer
from ricordo.model.vocabulary import ProposalState
from ricordo.storage.database import WriteTransaction
from ricordo.storage.sql import Condition, PreparedStatement, Words, stored_choice
from ricordo.storage.tables import blocked_senders, link_offers, links

_viewers: Final = PreparedStatement(
    sa.select(links.c.user_id)
    .where(
        links.c.owner_id == sa.bindparam("owner_id", type_=Words),
        links.c.item_id == sa.bindparam("item_id", type_=sa.BigInteger),
    )
    .order_by(links.c.user_id)
)


def viewers_of(connection: sa.Connection, owner_id: str, item_id: int) -> list[str]:
    """The users a memory is linked to, in order."""
    given = {"owner_id": owner_id, "item_id": item_id}
    return [row[0] for row in _viewers.run(connection, given)]


def owner_of_linked(connection: sa.Connection, viewer: str, item_id: int) -> str | None:
    where = sa.and_(links.c.user_id == viewer, links.c.item_id == item_id)
    return connection.execute(sa.select(links.c.owner_id).where(where)).scalar_one_or_none()


def add_link(
    connection: sa.Connection, viewer: str, owner_id: str, item_id: int, now: datetime
) -> None:
    row = {"user_id": viewer, "item_id": item_id, "owner_id": owner_id, "created_at": now}
    connection.execute(sa.insert(links).values(**row))


def remove_link(connection: sa.Connection, viewer: str, item_id: int) -> bool:
    where = sa.and_(links.c.user_id == viewer, links.c.item_id == item_id)
    return connection.execute(sa.delete(links).where(where)).rowcount == 1


def remove_links(connection: sa.Connection, owner_id: str, item_ids: list[int]) -> None:
    """Remove all links and offers of memories that are purged."""
    for table in (links, link_offers):
        where = sa.and_(table.c.owner_id == owner_id, table.c.item_id.in_(item_ids))
        connection.execute(sa.delete(table).where(where))


def links_granted(connection: sa.Connection, owner_id: str) -> list[tuple[str, int]]:
    wanted = (
        sa.select(links.c.user_id, links.c.item_id)
        .where(links.c.owner_id == owner_id)
        .order_by(links.c.item_id, links.c.user_id)
    )
    return [(row.user_id, row.item_id) for row in connection.execute(wanted)]


def links_between(connection: sa.Connection, viewer: str, owner_id: str) -> list[int]:
    wanted = sa.select(links.c.item_id).where(
        links.c.user_id == viewer, links.c.owner_id == owner_id
    )
    return list(connection.execute(wanted.order_by(links.c.item_id)).scalars())


def linked_since(
    connection: sa.Connection, owner_id: str, item_ids: Sequence[int]
) -> dict[tuple[int, str], datetime]:
    """The users that memories are linked to, and since when."""
    wanted = sa.select(links.c.item_id, links.c.user_id, links.c.created_at).where(
        links.c.owner_id == owner_id, links.c.item_id.in_(item_ids)
    )
    return {(row.item_id, row.user_id): row.created_at for row in connection.execute(wanted)}


def put_offer(writing: WriteTransaction, offer: Offer) -> None:
    """Insert an offer, or replace an earlier one of the same memory to the same user."""
    drop_offer(writing.connection, offer.user_id, offer.item_id)
    row = {column.name: getattr(offer, column.name) for column in link_offers.c}
    row["state"] = offer.state.value
    writing.connection.execute(sa.insert(link_offers).values(**row))
    writing.keeps_user = True  # whom something is offered to may have nothing else here


def drop_offer(connection: sa.Connection, viewer: str, item_id: int) -> None:
    connection.execute(sa.delete(link_offers).where(_is(viewer, item_id)))


def find_offer(connection: sa.Connection, viewer: str, item_id: int) -> Offer | None:
    wanted = sa.select(link_offers).where(_is(viewer, item_id))
    return next(iter(_offers(connection, wanted)), None)


def offers_to(
    connection: sa.Connection,
    viewer: str,
    state: ProposalState | None,
    now: datetime,
    after: int,
    limit: int,
) -> list[Offer]:
    """Offers to a user by id; open ones past their time count as expired."""
    wanted = sa.select(link_offers).where(
        link_offers.c.user_id == viewer, link_offers.c.item_id > after
    )
    if state is not None:
        wanted = wanted.where(_in_state(state, now))
    return _offers(connection, wanted.order_by(link_offers.c.item_id).limit(limit))


def open_offers_of(
    connection: sa.Connection, owner_id: str, item_ids: Sequence[int], now: datetime
) -> list[Offer]:
    wanted = sa.select(link_offers).where(
        link_offers.c.owner_id == owner_id,
        link_offers.c.item_id.in_(item_ids),
        _in_state(ProposalState.OPEN, now),
    )
    return _offers(connection, wanted.order_by(link_offers.c.user_id))


def open_offers_from(
    connection: sa.Connection, viewer: str, owner_id: str, now: datetime
) -> list[Offer]:
    wanted = sa.select(link_offers).where(
        link_offers.c.user_id == viewer,
        link_offers.c.owner_id == owner_id,
        _in_state(ProposalState.OPEN, now),
    )
    return _offers(connection, wanted.order_by(link_offers.c.item_id))


def count_waiting(
    connection: sa.Connection, viewer: str, owner_id: str, now: datetime
) -> tuple[int, int]:
    """How many offers wait for a user: in all, and from one sender."""
    of_sender = sa.func.sum(sa.case((link_offers.c.owner_id == owner_id, 1), else_=0))
    wanted = sa.select(sa.func.count(), sa.func.coalesce(of_sender, 0)).where(
        link_offers.c.user_id == viewer, _in_state(ProposalState.OPEN, now)
    )
    of_all, of_one = connection.execute(wanted).one()
    return int(of_all), int(of_one)


def block(writing: WriteTransaction, sender: str) -> None:
    row = {"user_id": writing.user_id, "sender_id": sender, "created_at": writing.now}
    writing.connection.execute(sa.insert(blocked_senders).values(**row))
    writing.keeps_user = True


def unblock(writing: WriteTransaction, sender: str) -> None:
    own = blocked_senders.c.user_id == writing.user_id
    where = own & (blocked_senders.c.sender_id == sender)
    writing.connection.execute(sa.delete(blocked_senders).where(where))


def blocked_by(connection: sa.Connection, viewer: str) -> tuple[BlockedSender, ...]:
    wanted = (
        sa.select(blocked_senders.c.sender_id, blocked_senders.c.created_at)
        .where(blocked_senders.c.user_id == viewer)
        .order_by(blocked_senders.c.sender_id)
    )
    rows = connection.execute(wanted)
    return tuple(BlockedSender(user_id=row.sender_id, since=row.created_at) for row in rows)


def find_block(connection: sa.Connection, viewer: str, sender: str) -> BlockedSender | None:
    wanted = sa.select(blocked_senders.c.created_at).where(
        blocked_senders.c.user_id == viewer, blocked_senders.c.sender_id == sender
    )
    since = connection.execute(wanted).scalar_one_or_none()
    return None if since is None else BlockedSender(user_id=sender, since=since)


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


def _offers(connection: sa.Connection, wanted: sa.Select[Any]) -> list[Offer]:
    return [
        Offer(**{**row, "state": stored_choice(ProposalState, row["state"])})
        for row in connection.execute(wanted).mappings()
    ]
