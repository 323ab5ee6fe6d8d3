"""Removing every row of a user, and every mention of them in the rows of others."""

import sqlalchemy as sa

from ricordo.storage.backend import Backend
from ricordo.storage.search_index import INDEXED
from ricordo.storage.sharing_tables import blocked_senders, link_offers
from ricordo.storage.tables import OWNED_TABLES, history, links


def delete_user_rows(backend: Backend, connection: sa.Connection, user_id: str) -> dict[str, int]:
    """Delete all that belongs to a user; the number of rows removed per table."""
    removed = {}
    for kind in INDEXED:
        backend.search.drop_owner(connection, kind, user_id)
    backend.search.compact(connection)
    given = {
        table.name: connection.execute(sa.delete(table).where(named == user_id)).rowcount
        for table, named in (
            (links, links.c.owner_id),
            (link_offers, link_offers.c.owner_id),
            (blocked_senders, blocked_senders.c.sender_id),
        )
    }
    for table in OWNED_TABLES:
        gone = connection.execute(sa.delete(table).where(table.c.user_id == user_id)).rowcount
        removed[table.name] = gone
    for name, gone in given.items():
        removed[name] += gone
    mentions = sa.update(history).where(history.c.other_user == user_id).values(other_user=None)
    removed["mentions"] = connection.execute(mentions).rowcount
    return removed
