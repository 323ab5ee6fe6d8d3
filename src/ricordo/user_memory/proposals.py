"""Consent: proposals, memories that users share, and the profile."""

import logging
from collections.abc import Mapping

from ricordo import limits
from ricordo.errors import InvalidValue, NotOwner
from ricordo.formation import approval
from ricordo.formation.profile import check_harmless, read_fields, set_fields
from ricordo.memories import lookup, sharing
from ricordo.model import checks
from ricordo.model.item import Added
from ricordo.model.profile import Profile, ProfileUpdate, checked_changes
from ricordo.model.proposal import BlockedSender, Link, Offer, Proposal
from ricordo.model.record import Page, decode_cursor, encode_cursor
from ricordo.model.vocabulary import GLOBAL_OWNER, ProposalState, SharingRight, Source
from ricordo.storage.database import ReadTransaction, retried
from ricordo.storage.formation import CURSOR, page_of_proposals
from ricordo.storage.items import items_by_id
from ricordo.storage.links import blocked_by, find_offer, offers_to, unblock
from ricordo.user_memory.base import UserOperations, checked_reason, whole_memory, within_categories

ANY_STATE = "any"
_log = logging.getLogger(__name__)


class ProposalOperations(UserOperations):
    """Proposals, sharing and the profile of one user."""

    @whole_memory
    def proposals(
        self,
        *,
        state: ProposalState | str = ProposalState.OPEN,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[Proposal]:
        """What was said but is not stored yet, and what others offer to share; by number.

        ``state`` is open, approved, rejected, expired or any. What is offered by others has their
        name as its ``owner_id``, and is shown to the user alone: to no agent's key.

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
        """What others offer now: an open offer is one whose memory still exists."""
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
            if one.item_id not in is_open or sharing.can_be_accepted(item, view.now):
                listed.append(one.shown(item, view.now))
        return listed

    @whole_memory
    def approve(self, id: int, *, reason: str | None = None) -> Added:
        """Store what was proposed, or accept what another user offers; the result.

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

    @whole_memory
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
            return sharing.reject(writing, self.scope, item_id, reason)

    @within_categories
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

    @within_categories
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

    @within_categories
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

    @whole_memory
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

    @whole_memory
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

    @whole_memory
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

    @whole_memory
    def user_profile(self) -> Profile:
        """The fields of the user's profile; edits of their ``USER.md`` are taken over first.

        Raises:
            InvalidValue: global memories have no profile.
        """
        self._check_has_profile()
        user_id = self.scope.user_id
        problems = self.parts.profile_files.follow(user_id)
        return Profile(fields=read_fields(self.database, user_id), problems=problems)

    @whole_memory
    def update_user_profile(
        self,
        fields: Mapping[str, str | None],
        *,
        explicit: bool = False,
        reason: str | None = None,
    ) -> ProfileUpdate:
        """Set fields of the user's profile, such as name, city or tone; None removes one.

        With ``explicit``, because the user said so themselves, all of it is stored. Otherwise a
        field that touches something sensitive becomes a proposal (:meth:`approve`), and a wish
        about tone or a goal waits until it is said again. Every field is checked before anything
        is written. ``USER.md`` follows where there is one, or where the user's mirror is on.

        Raises:
            InvalidValue: a field or value is not allowed, or there would be too many.
        """
        self._check_has_profile()
        changes = checked_changes(fields)
        for change in changes:
            check_harmless(change)
        source = Source.USER_EXPLICIT if checks.flag("explicit", explicit) else Source.CONVERSATION
        why = checked_reason(reason)
        files, user_id = self.parts.profile_files, self.scope.user_id
        before = files.follow(user_id, [change.key for change in changes])
        done = set_fields(self.formation, self.scope, changes, source, why)
        after = files.follow(user_id)
        return ProfileUpdate(fields=done, problems=tuple(dict.fromkeys((*before, *after))))

    def _check_has_profile(self) -> None:
        if self.scope.user_id == GLOBAL_OWNER:
            raise InvalidValue("user_id", "global memories have no profile")
