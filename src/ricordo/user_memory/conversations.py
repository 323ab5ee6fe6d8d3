"""Reading conversations."""

from ricordo import limits
from ricordo.errors import ThreadNotFound
from ricordo.model import checks
from ricordo.model.page import Page
from ricordo.model.thread import Thread, Turn
from ricordo.storage import threads as thread_rows
from ricordo.user_memory.bound import Bound


class Conversations(Bound):
    """Operations on what was said."""

    def threads(
        self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[Thread]:
        """This user's conversations, the latest first.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read() as view:
            return thread_rows.page_of_threads(view.connection, self.scope.user_id, size, cursor)

    def turns(
        self,
        thread_id: str,
        *,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[Turn]:
        """What was said in a conversation, in order.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidCursor: the cursor was not given out by this call.
        """
        wanted = checks.reference("thread_id", thread_id)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        user_id = self.scope.user_id
        with self.database.read() as view:
            if thread_rows.find_thread(view.connection, user_id, wanted) is None:
                raise ThreadNotFound(wanted)
            return thread_rows.page_of_turns(view.connection, user_id, wanted, size, cursor)
