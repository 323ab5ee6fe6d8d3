"""What waits for the user's consent."""

import logging

from ricordo import limits
from ricordo.formation.consent import approving
from ricordo.model import checks
from ricordo.model.item import Added
from ricordo.model.page import Page
from ricordo.model.proposal import Proposal
from ricordo.model.vocabulary import ProposalState
from ricordo.storage.proposals import page_of_proposals
from ricordo.user_memory.bound import Bound, checked_reason

ANY_STATE = "any"
_log = logging.getLogger(__name__)


class Consent(Bound):
    """Operations on proposals."""

    def proposals(
        self,
        *,
        state: ProposalState | str = ProposalState.OPEN,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[Proposal]:
        """What was said but is not stored yet, the oldest first.

        ``state`` is open, approved, rejected, expired or any.

        Raises:
            InvalidValue, InvalidCursor.
        """
        wanted = None if state == ANY_STATE else checks.choice("state", state, ProposalState)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read(self.scope.user_id) as view:
            page = page_of_proposals(
                view.connection, self.scope.user_id, wanted, view.now, size, cursor
            )
            return Page(tuple(one.shown(view.now) for one in page), page.next_cursor)

    def approve(self, id: int, *, reason: str | None = None) -> Added:
        """Store what was proposed; what became of it.

        Raises:
            ProposalNotFound: this user has no such proposal.
            AlreadyDecided: it was approved or rejected before, its time has passed, or something
                newer is known.
        """
        added = approving.approve(
            self.formation, self.scope, checks.memory_id(id), checked_reason(reason)
        )
        if self.parts.profile_files.follow(self.scope.user_id):
            # What does not is nothing for a log: it names fields and what they say.
            _log.warning("what was proposed is approved, but the profile's file does not follow")
        return added

    def reject(self, id: int, *, reason: str | None = None) -> Proposal:
        """Turn down what was proposed: it is forgotten, and not proposed again for long.

        Raises:
            ProposalNotFound: this user has no such proposal.
            AlreadyDecided: it was approved or rejected before, or its time has passed.
        """
        return approving.reject(
            self.formation, self.scope, checks.memory_id(id), checked_reason(reason)
        )
