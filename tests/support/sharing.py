"""Sharing as two users do it: one offers, the other accepts."""

from ricordo import Event, Scope, UserMemory
from ricordo.storage.database import OWNER_ACTED
from ricordo.storage.links import add_link


def share(owner: UserMemory, item_id: int, viewer: str) -> None:
    """Let another user see a memory, who agrees to it at once."""
    owner.link(item_id, viewer)
    UserMemory(owner.parts, Scope(viewer)).approve(item_id)


def link_of_old(owner: UserMemory, item_id: int, viewer: str) -> None:
    """A link as stores have it from before there were offers; also to what is not active."""
    with owner.database.write(owner.scope.user_id) as writing:
        writing.concern(viewer)
        add_link(writing.connection, viewer, owner.scope.user_id, item_id, writing.now)
        writing.record(Event.LINK, item_id, actor=owner.scope.actor, other_user=viewer)
        theirs = {"other_user": owner.scope.user_id, "user_id": viewer}
        writing.record(Event.LINK, item_id, actor=OWNER_ACTED, **theirs)
