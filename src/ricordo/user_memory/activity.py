"""What background work did for a user, and how often."""

from ricordo import limits
from ricordo.formation.counters import counters_of, daily_of
from ricordo.model import checks
from ricordo.model.activity import ActivityEvent, Counters, DayActivity
from ricordo.model.record import Page
from ricordo.storage.history import page_of_events
from ricordo.user_memory.bound import Bound


class Activity(Bound):
    """Operations that tell what happened."""

    def events(
        self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[ActivityEvent]:
        """The steps of background work for this user, the latest first.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read(self.scope.user_id) as view:
            return page_of_events(view.connection, self.scope.user_id, size, cursor)

    def counters(self, *, days: int | None = None) -> Counters:
        """How many memories this user has and how often things happened.

        ``days`` counts only the last ones, today included.
        """
        wanted = checks.optional_integer("days", days, 1, limits.MAX_RECENCY_DAYS)
        return counters_of(self.database, self.scope.user_id, wanted)

    def daily(self, *, days: int = limits.DEFAULT_DAILY_DAYS) -> tuple[DayActivity, ...]:
        """What happened on each of the last days (UTC): every one of them, today last.

        It counts this user's own memories. Recalls are written with some delay: those of the last
        minute may still be missing.

        Raises:
            InvalidValue: so many days are not allowed.
        """
        wanted = checks.integer("days", days, 1, limits.MAX_DAILY_DAYS)
        return daily_of(self.database, self.scope.user_id, wanted)
