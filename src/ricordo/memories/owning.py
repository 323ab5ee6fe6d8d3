"""Finding the memory that a write is about, and whose it is."""

from ricordo.errors import MemoryNotFound, NotOwner
from ricordo.memories.expiring import settle_if_expired
from ricordo.model.item import Item
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage.audiences import audience_of
from ricordo.storage.items import find_item, item_of
from ricordo.storage.tables import items
from ricordo.storage.where import not_expired
from ricordo.storage.writing import Writing


def own_item(writing: Writing, item_id: int) -> Item:
    """A memory of the writing user, in any status.

    One that has expired counts as deleted from that moment on.

    Raises:
        MemoryNotFound: there is none, or it is another user's.
        NotOwner: it is another user's but linked to this one, or global.
    """
    found = item_of(writing.connection, writing.user_id, item_id)
    if found is not None:
        return settle_if_expired(writing, found)
    shared = _shared_item(writing, item_id)
    if shared is None:
        raise MemoryNotFound(item_id)
    if shared.user_id == GLOBAL_OWNER:
        raise NotOwner(f"memory {item_id} is a global one: users cannot change it")
    raise NotOwner(f"memory {item_id} is shared with you: you can unlink it, not change it")


def _shared_item(writing: Writing, item_id: int) -> Item | None:
    audience = audience_of(
        writing.connection, writing.user_id, writing.policy.global_until, writing.now
    )
    visible = audience.condition() & not_expired(writing.now) & (items.c.id == item_id)
    return find_item(writing.connection, visible)
