"""Long conversations: what a prompt shows of one, and what tells the rest in short."""

from datetime import date, datetime

from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.thread import CompactionReport, DayLog, Window
from ricordo.user_memory.bound import Bound

_DAY_CHARS = 10


class LongConversations(Bound):
    """Operations on conversations that are too long to be shown as a whole."""

    def window(self, thread: str) -> Window:
        """The latest turns of a conversation, and a bridge that tells what came before them.

        At most ``window_turns`` turns, whatever is still waiting to be put into a summary. A
        conversation in which nothing was said yet has an empty window. One that was resumed by this
        process goes on showing what else was said today, until the next summary. Secrets in it
        are masked, because it is made for models; ``turns`` has what was said.

        Raises:
            ScopeWidened: this memory is bound to another thread.
        """
        found = self.parts.conversation.window(self.scope.user_id, self._thread(thread))
        return found.without_secrets()

    def compact(self, thread: str) -> CompactionReport:
        """Tell all but the latest turns of a conversation in short, now.

        A job does that whenever a conversation has ``window_turns`` open turns. The turns stay
        recorded and can be searched. Where the language model gives no usable answer, or none is
        set, the summary is put together from what was said.

        Raises:
            ThreadNotFound: this user has no such conversation.
            ScopeWidened: this memory is bound to another thread.
        """
        return self.parts.conversation.compact(self.scope.user_id, self._thread(thread))

    def resume(self, thread: str) -> Window:
        """Take up a conversation again, after a break or a restart.

        The window has the latest ``window_kept_turns`` turns, a bridge that tells all before them,
        and what else the user talked about today.

        Raises:
            ScopeWidened: this memory is bound to another thread.
        """
        found = self.parts.conversation.resume(self.scope.user_id, self._thread(thread))
        return found.without_secrets()

    def day_log(self, day: str | date | None = None) -> DayLog:
        """What this user's conversations of a day were about, in order; today if none is given.

        It has what was put into summaries: see :meth:`compact`. Days are those of the setting
        ``timezone``.

        Raises:
            InvalidValue: not a date such as 2026-01-31.
        """
        wanted = None if day is None else _day(day)
        return self.parts.conversation.day_log(self.scope.user_id, wanted)

    def _thread(self, thread: str) -> str:
        thread_id = checks.reference("thread", thread)
        self.scope.narrow(thread_id=thread_id)
        return thread_id


def _day(given: object) -> str:
    if isinstance(given, datetime):
        raise InvalidValue("day", "expected a date, got a time")
    if isinstance(given, date):
        return given.isoformat()
    try:
        if isinstance(given, str) and len(given) == _DAY_CHARS:
            return date.fromisoformat(given).isoformat()
    except ValueError:
        pass
    raise InvalidValue("day", f"expected a date such as 2026-01-31, got {given!r:.40}")
