"""Finding the memory that a write is about, and whose it is."""

from datetime import datetime

from ricordo.errors import Changed, MemoryNotFound, NotOwner
from ricordo.memories.expiring import settle_if_expired
from ricordo.model.item import Item
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import GLOBAL_OWNER
from ricordo.storage.items import find_item, item_of
from ricordo.storage.tables import items
from ricordo.storage.transaction import Writing
from ricordo.storage.where import audience_of, not_expired


def own_item(writing: Writing, scope: Scope, item_id: int) -> Item:
    """A memory of the writing user, in any status.

    One that has expired counts as deleted from that moment on.

    Raises:
        MemoryNotFound: there is none, it is another user's, or it is out of the scope's reach.
        NotOwner: it is another user's but linked to this one, or global.
    """
    found = item_of(writing.connection, writing.user_id, item_id)
    if found is not None:
        check_in_reach(scope, found)
        return settle_if_expired(writing, found)
    shared = shared_item(writing, scope, item_id)
    if shared is None:
        raise MemoryNotFound(item_id)
    if shared.user_id == GLOBAL_OWNER:
        raise NotOwner(f"memory {item_id} is a global one: users cannot change it")
    raise NotOwner(f"memory {item_id} is shared with you: you can unlink it, not change it")


def check_unchanged(
    writing: Writing, scope: Scope, item_id: int, expected_updated_at: datetime | None
) -> None:
    """Refuse to go on with a memory that is no longer as its caller saw it; None: in any state.

    Raises:
        Changed: it was changed at another time than the caller knows of.
        MemoryNotFound, NotOwner.
    """
    if expected_updated_at is None:
        return
    if own_item(writing, scope, item_id).updated_at != expected_updated_at:
        raise Changed(item_id)


def check_in_reach(scope: Scope, item: Item) -> None:
    """Refuse a memory that is there, but not for this scope.

    Raises:
        MemoryNotFound: its theme is none of the scope's categories.
    """
    if not scope.reaches(item.theme):
        raise MemoryNotFound(item.id)


def shared_item(writing: Writing, scope: Scope, item_id: int) -> Item | None:
    """A memory that the writing user may see, whosever it is."""
    audience = audience_of(
        writing.connection,
        writing.user_id,
        writing.policy.global_until,
        writing.now,
        scope.categories,
    )
    visible = audience.condition() & not_expired(writing.now) & (items.c.id == item_id)
    return find_item(writing.connection, visible)
