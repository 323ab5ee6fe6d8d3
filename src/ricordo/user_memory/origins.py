"""Where memories come from: the turns behind them, and the memories behind turns."""

from ricordo import limits
from ricordo.conversation.origins import read_formed, read_source
from ricordo.errors import ThreadNotFound
from ricordo.memories import lookup
from ricordo.model import checks
from ricordo.model.record import Page
from ricordo.model.thread import FormedTurn, Turn
from ricordo.storage.threads import find_thread
from ricordo.user_memory.bound import Bound


class Origins(Bound):
    """Operations on what memories were formed from."""

    def source_turn(self, id: int) -> Turn | None:
        """What was said that a memory was formed from.

        None where it was not formed from a conversation, where the turn is gone or cannot be told
        from others for certain, and for what another user shares: where that comes from is theirs.

        Raises:
            MemoryNotFound: there is no such memory, it has expired, or it is another user's.
        """
        item_id = checks.memory_id(id)
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), item_id)
            return read_source(view, item) if item.user_id == self.scope.user_id else None

    def formed_turns(
        self,
        thread_id: str,
        *,
        from_position: int | None = None,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[FormedTurn]:
        """What was said in a conversation, in order, each turn with the memories that came from it.

        The memories are those of ``source_turn``, also archived and superseded ones, the oldest
        first. With ``from_position`` the first page begins at that turn.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidCursor: the cursor was not given out by this call.
        """
        wanted = checks.reference("thread_id", thread_id)
        first = checks.optional_integer("from_position", from_position, 1, limits.MAX_ID)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        user_id = self.scope.user_id
        with self.database.read(user_id) as view:
            if find_thread(view.connection, user_id, wanted) is None:
                raise ThreadNotFound(wanted)
            return read_formed(view, user_id, wanted, first or 1, size, cursor)
