"""Sharing memories with other users, and what others share with this one."""

from ricordo.errors import NotOwner
from ricordo.memories import lookup, sharing
from ricordo.model import checks
from ricordo.model.proposal import BlockedSender, Link
from ricordo.model.vocabulary import SharingRight
from ricordo.storage.database import retried
from ricordo.storage.links import blocked_by, unblock
from ricordo.user_memory.bound import Bound


class Sharing(Bound):
    """Operations that share."""

    @retried
    def link(self, id: int, with_user: str) -> Link:
        """Offer a memory to another user, who sees it once they have accepted it.

        They find the offer among their proposals. It is accepted at once where the operator has
        approved that these two share, unless the other user blocks this one or turned it down.

        Raises:
            InvalidValue: with oneself, or too many links.
            OfferRefused: they turned it down or block this user, or too much waits for them.
            PermissionMissing: an agent asks, whose key does not have the permission to share.
            MemoryNotFound, NotOwner, IllegalTransition.
        """
        item_id, viewer = checks.memory_id(id), checks.user_id(with_user)
        sharing.check_may_offer(self.scope)
        approved = self._is_approved(viewer)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            return sharing.link(writing, self.scope, item_id, viewer, approved=approved)

    @retried
    def unlink(self, id: int, with_user: str | None = None) -> None:
        """Take a shared memory out of one user's sight, or withdraw the offer of it. A viewer does
        it for themselves, and then it cannot be offered to them again.

        Raises:
            MemoryNotFound: no such memory, link or offer.
            NotOwner, InvalidValue.
        """
        item_id = checks.memory_id(id)
        viewer = None if with_user is None else checks.user_id(with_user)
        with self.database.write(self.scope.user_id, touching=[item_id]) as writing:
            sharing.unlink(writing, self.scope, item_id, viewer)

    def links(self, id: int) -> tuple[Link, ...]:
        """The users whom a memory of this user is shared with or only offered to, by name.

        Raises:
            MemoryNotFound, NotOwner.
        """
        item_id = checks.memory_id(id)
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), item_id)
            if item.user_id != self.scope.user_id:
                raise NotOwner(
                    f"memory {item.id} is shared with you; only its owner sees with whom"
                )
            return sharing.links(view, item)

    @retried
    def block_sender(self, sender: str) -> BlockedSender:
        """Want nothing of another user: what they have offered and shared ends, and they can offer
        nothing new. Doing it again changes nothing.

        Raises:
            InvalidValue: oneself, or too many.
            PermissionMissing: an agent asks.
        """
        blocked = checks.user_id(sender)
        with self.database.write(self.scope.user_id) as writing:
            return sharing.block_sender(writing, self.scope, blocked)

    @retried
    def unblock_sender(self, sender: str) -> None:
        """Let another user offer memories again. What ended when they were blocked stays ended.

        Raises:
            InvalidValue: nobody can have that name.
            PermissionMissing: an agent asks.
        """
        unblocked = checks.user_id(sender)
        sharing.check_decides(self.scope)
        with self.database.write(self.scope.user_id) as writing:
            unblock(writing, unblocked)

    def blocked_senders(self) -> tuple[BlockedSender, ...]:
        """The users who can offer this one nothing, by name.

        Raises:
            PermissionMissing: an agent asks.
        """
        sharing.check_decides(self.scope)
        with self.database.read(self.scope.user_id) as view:
            return blocked_by(view.connection, self.scope.user_id)

    def _is_approved(self, viewer: str) -> bool:
        """Whether the operator has agreed beforehand to what this scope shares with somebody."""
        if self.scope.sharing_right is SharingRight.VOUCHED:
            return True
        return self.parts.access.current().approves_sharing(self.scope.user_id, viewer)
