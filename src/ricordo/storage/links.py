"""Which memories are shared with whom, and which are only offered: what was offered stays unseen
until it is a link."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from ricordo.storage.columns import Words
from ricordo.storage.prepared import Prepared
from ricordo.storage.sharing_tables import link_offers
from ricordo.storage.tables import links

_viewers: Final = Prepared(
    sa.select(links.c.user_id)
    .where(
        links.c.owner_id == sa.bindparam("owner_id", type_=Words),
        links.c.item_id == sa.bindparam("item_id", type_=sa.BigInteger),
    )
    .order_by(links.c.user_id)
)


def viewers_of(connection: sa.Connection, owner_id: str, item_id: int) -> list[str]:
    """The users whom a memory is linked to, in order."""
    given = {"owner_id": owner_id, "item_id": item_id}
    return [row[0] for row in _viewers.run(connection, given)]


def others_concerned(connection: sa.Connection, user_id: str, item_ids: Sequence[int]) -> set[str]:
    """The users, besides this one, whose history a change of these memories goes into."""
    viewers = sa.select(links.c.user_id).where(
        links.c.owner_id == user_id, links.c.item_id.in_(item_ids)
    )
    owners = sa.select(links.c.owner_id).where(
        links.c.user_id == user_id, links.c.item_id.in_(item_ids)
    )
    return set(connection.execute(sa.union(viewers, owners)).scalars())


def owner_of_linked(connection: sa.Connection, viewer: str, item_id: int) -> str | None:
    """The owner of a memory that is linked to this viewer, or None."""
    where = sa.and_(links.c.user_id == viewer, links.c.item_id == item_id)
    return connection.execute(sa.select(links.c.owner_id).where(where)).scalar_one_or_none()


def add_link(
    connection: sa.Connection, viewer: str, owner_id: str, item_id: int, now: datetime
) -> None:
    """Let a user see a memory."""
    row = {"user_id": viewer, "item_id": item_id, "owner_id": owner_id, "created_at": now}
    connection.execute(sa.insert(links).values(**row))


def remove_link(connection: sa.Connection, viewer: str, item_id: int) -> bool:
    """Take a memory out of a user's sight; False when it was not linked."""
    where = sa.and_(links.c.user_id == viewer, links.c.item_id == item_id)
    return connection.execute(sa.delete(links).where(where)).rowcount == 1


def remove_links(connection: sa.Connection, owner_id: str, item_ids: list[int]) -> None:
    """Take memories that go for good out of everyone's sight but the owner's, also as offers."""
    for table in (links, link_offers):
        where = sa.and_(table.c.owner_id == owner_id, table.c.item_id.in_(item_ids))
        connection.execute(sa.delete(table).where(where))


def links_granted(connection: sa.Connection, owner_id: str) -> list[tuple[str, int]]:
    """Every (viewer, memory) of an owner, in order."""
    wanted = (
        sa.select(links.c.user_id, links.c.item_id)
        .where(links.c.owner_id == owner_id)
        .order_by(links.c.item_id, links.c.user_id)
    )
    return [(row.user_id, row.item_id) for row in connection.execute(wanted)]


def links_between(connection: sa.Connection, viewer: str, owner_id: str) -> list[int]:
    """The memories of one user that another one sees, in order."""
    wanted = sa.select(links.c.item_id).where(
        links.c.user_id == viewer, links.c.owner_id == owner_id
    )
    return list(connection.execute(wanted.order_by(links.c.item_id)).scalars())


def linked_since(connection: sa.Connection, owner_id: str, item_id: int) -> dict[str, datetime]:
    """The users whom a memory is linked to, and since when."""
    wanted = sa.select(links.c.user_id, links.c.created_at).where(
        links.c.owner_id == owner_id, links.c.item_id == item_id
    )
    return {row.user_id: row.created_at for row in connection.execute(wanted)}
