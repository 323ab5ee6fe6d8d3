"""Sharing a memory with other users, one link each."""

from ricordo import limits
from ricordo.errors import IllegalTransition, InvalidValue, MemoryNotFound, NotOwner
from ricordo.memories.owning import own_item, shared_item
from ricordo.model.item import Item
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.links import add_link, owner_of_linked, remove_link, viewers_of
from ricordo.storage.writing import OWNER_ACTED, VIEWER_ACTED, Writing


def link(writing: Writing, scope: Scope, item_id: int, viewer: str) -> Item:
    """Let another user see a memory; doing it again changes nothing.

    Raises:
        InvalidValue: the viewer is the owner, or there are too many viewers.
        IllegalTransition: the memory was deleted.
        MemoryNotFound, NotOwner.
    """
    item = own_item(writing, scope, item_id)
    if viewer == item.user_id:
        raise InvalidValue("with_user", "a memory is already visible to its owner")
    if item.status is Status.DELETED:
        raise IllegalTransition(f"memory {item.id} was deleted: restore it first")
    present = viewers_of(writing.connection, item.user_id, item.id)
    if viewer in present:
        return item
    if len(present) >= limits.MAX_LINKS_PER_MEMORY:
        maximum = limits.MAX_LINKS_PER_MEMORY
        raise InvalidValue("with_user", f"memory {item.id} has {maximum} links, the most allowed")
    add_link(writing.connection, viewer, item.user_id, item.id, writing.now)
    writing.record(Event.LINK, item.id, actor=scope.actor, other_user=viewer)
    writing.record(Event.LINK, item.id, actor=OWNER_ACTED, other_user=item.user_id, user_id=viewer)
    return item


def unlink(writing: Writing, scope: Scope, item_id: int, viewer: str | None) -> None:
    """Take a memory out of one user's sight, without touching the others.

    The owner names the viewer; a viewer can do it for themselves.

    Raises:
        InvalidValue: the owner did not say for whom.
        MemoryNotFound: there is no such memory or link.
        NotOwner: a viewer tried to unlink somebody else.
    """
    owner = owner_of_linked(writing.connection, writing.user_id, item_id)
    if owner is not None:
        if scope.is_confined and shared_item(writing, scope, item_id) is None:
            raise MemoryNotFound(item_id)
        if viewer not in (None, writing.user_id):
            raise NotOwner(f"memory {item_id} is not yours: you can unlink it for yourself only")
        _remove(writing, item_id, owner, writing.user_id, scope.actor)
        return
    item = own_item(writing, scope, item_id)
    if viewer is None:
        raise InvalidValue("with_user", "say which user to unlink the memory from")
    _remove(writing, item.id, item.user_id, viewer, scope.actor)


def _remove(writing: Writing, item_id: int, owner: str, viewer: str, actor: str) -> None:
    if not remove_link(writing.connection, viewer, item_id):
        raise MemoryNotFound(f"{item_id} linked to {viewer!r}")
    by_owner = writing.user_id == owner
    writing.record(
        Event.UNLINK,
        item_id,
        actor=actor if by_owner else VIEWER_ACTED,
        other_user=viewer,
        user_id=owner,
    )
    writing.record(
        Event.UNLINK,
        item_id,
        actor=OWNER_ACTED if by_owner else actor,
        other_user=owner,
        user_id=viewer,
    )
