"""Sharing memories with other users."""

from ricordo.errors import NotOwner
from ricordo.memories import reading, sharing
from ricordo.model import checks
from ricordo.model.item import Item
from ricordo.storage.database import retried
from ricordo.storage.links import viewers_of
from ricordo.user_memory.bound import Bound


class Sharing(Bound):
    """Operations that share."""

    @retried
    def link(self, id: int, with_user: str) -> Item:
        """Let another user see a memory.

        Raises:
            InvalidValue: with oneself, or too many links.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, viewer = checks.memory_id(id), checks.user_id(with_user)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return sharing.link(writing, self.scope, item_id, viewer)

    @retried
    def unlink(self, id: int, with_user: str | None = None) -> None:
        """Take a shared memory out of one user's sight; a viewer does it for themselves.

        Raises:
            MemoryNotFound: no such memory or link.
            NotOwner, InvalidValue.
        """
        item_id = checks.memory_id(id)
        viewer = None if with_user is None else checks.user_id(with_user)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            sharing.unlink(writing, self.scope, item_id, viewer)

    def links(self, id: int) -> tuple[str, ...]:
        """The users whom a memory of this user is shared with.

        Raises:
            MemoryNotFound, NotOwner.
        """
        item_id = checks.memory_id(id)
        with self.database.read(self.scope.user_id) as view:
            item = reading.read_item(view, self._audience(view), item_id)
            if item.user_id != self.scope.user_id:
                raise NotOwner(
                    f"memory {item.id} is shared with you; only its owner sees with whom"
                )
            return tuple(viewers_of(view.connection, item.user_id, item.id))
