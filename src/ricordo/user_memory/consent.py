"""What waits for the user's consent: what was said, and what others offer to share."""

import logging

from ricordo import limits
from ricordo.formation import approval
from ricordo.memories import sharing
from ricordo.model import checks
from ricordo.model.item import Added
from ricordo.model.proposal import Offer, Proposal
from ricordo.model.record import Page, decode_cursor, encode_cursor
from ricordo.model.vocabulary import ProposalState
from ricordo.storage.database import ReadTransaction, retried
from ricordo.storage.formation import CURSOR, page_of_proposals
from ricordo.storage.items import items_by_id
from ricordo.storage.links import find_offer, offers_to
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
        """What was said but is not stored yet, and what others offer to share; by number.

        ``state`` is open, approved, rejected, expired or any. What is offered by others has their
        name as its ``owner_id``, and is told to nobody but the user: to no agent's key.

        Raises:
            InvalidValue, InvalidCursor.
        """
        wanted = None if state == ANY_STATE else checks.choice("state", state, ProposalState)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read(self.scope.user_id) as view:
            page = page_of_proposals(
                view.connection, self.scope.user_id, wanted, view.now, size, cursor
            )
            said = [one.shown(view.now) for one in page]
            (after,) = (0,) if cursor is None else decode_cursor(CURSOR, cursor, (int,))
            offered = self._offered(view, wanted, int(after), size + 1)
        # Both are in the order of their numbers, which are of one series.
        found = sorted([*said, *offered], key=lambda one: one.id)
        is_more = len(found) > size or page.next_cursor is not None
        listed = tuple(found[:size])
        return Page(listed, encode_cursor(CURSOR, [listed[-1].id]) if is_more else None)

    def _offered(
        self, view: ReadTransaction, wanted: ProposalState | None, after: int, most: int
    ) -> list[Proposal]:
        """What others offer, as it stands now: an open offer is one whose memory is there."""
        if not sharing.decides(self.scope):
            return []
        found: list[Proposal] = []
        while len(found) < most:
            offers = offers_to(
                view.connection, self.scope.user_id, wanted, view.now, after, limits.MAX_PAGE_ITEMS
            )
            found += self._standing(view, offers)
            if len(offers) < limits.MAX_PAGE_ITEMS:
                break
            after = offers[-1].item_id
        return found[:most]

    def _standing(self, view: ReadTransaction, offers: list[Offer]) -> list[Proposal]:
        is_open = {
            one.item_id: one for one in offers if one.state_at(view.now) is ProposalState.OPEN
        }
        owners = {one.owner_id for one in is_open.values()}
        with self.database.reading_also(view, self.scope.user_id, owners):
            named = [(one.owner_id, one.item_id) for one in is_open.values()]
            said = items_by_id(view.connection, named)
        listed = []
        for one in offers:
            item = said.get(one.item_id)
            if one.item_id not in is_open or sharing.stands(item, view.now):
                listed.append(one.shown(item, view.now))
        return listed

    def approve(self, id: int, *, reason: str | None = None) -> Added:
        """Store what was proposed, or begin to see what another user offers; what became of it.

        Raises:
            ProposalNotFound: this user has no such proposal.
            AlreadyDecided: it was approved or rejected before, its time has passed, something
                newer is known, or what was offered is no longer there.
            PermissionMissing: an agent asks for what another user offers.
        """
        if self._is_offer(id):
            return self._accept(checks.memory_id(id), checked_reason(reason))
        added = approval.approve(
            self.formation, self.scope, checks.memory_id(id), checked_reason(reason)
        )
        if self.parts.profile_files.follow(self.scope.user_id):
            # What does not is nothing for a log: it names fields and what they say.
            _log.warning("what was proposed is approved, but the profile's file does not follow")
        return added

    def reject(self, id: int, *, reason: str | None = None) -> Proposal:
        """Turn down what was proposed: it is forgotten, and not proposed again for long; what
        another user offered cannot be offered again.

        Raises:
            ProposalNotFound: this user has no such proposal.
            AlreadyDecided: it was approved or rejected before, or its time has passed.
            PermissionMissing: an agent asks for what another user offers.
        """
        if self._is_offer(id):
            return self._turn_down(checks.memory_id(id), checked_reason(reason))
        return approval.reject(
            self.formation, self.scope, checks.memory_id(id), checked_reason(reason)
        )

    def _is_offer(self, id: int) -> bool:
        proposal_id = checks.memory_id(id)
        with self.database.read(self.scope.user_id) as view:
            return find_offer(view.connection, self.scope.user_id, proposal_id) is not None

    @retried
    def _accept(self, item_id: int, reason: str | None) -> Added:
        with self.database.write(self.scope.user_id) as writing:
            item = sharing.accept(writing, self.scope, item_id, reason)
            return Added(item.id, item.status)

    @retried
    def _turn_down(self, item_id: int, reason: str | None) -> Proposal:
        with self.database.write(self.scope.user_id) as writing:
            return sharing.turn_down(writing, self.scope, item_id, reason)
