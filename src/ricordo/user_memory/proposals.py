"""Consent: proposals, memories that users share, their groups, and the profile."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ricordo import limits
from ricordo.errors import InvalidValue, NotOwner, ProposalNotFound
from ricordo.memories import lookup, sharing
from ricordo.model.group import Acting, GroupMember, Membership, is_person, space_of
from ricordo.model.item import Added
from ricordo.model.profile import Profile, ProfileUpdate, checked_changes
from ricordo.model.proposal import BlockedSender, Link, Offer, Proposal
from ricordo.model.record import Page, decode_cursor, encode_cursor
from ricordo.model.vocabulary import GroupRole, ProposalState, SharingRight, Source
from ricordo.operations import groups as describe_groups
from ricordo.operations import proposals as describe
from ricordo.storage.database import ReadTransaction, retried
from ricordo.storage.formation import CURSOR, find_proposal, page_of_proposals
from ricordo.storage.groups import check_acting, memberships_of
from ricordo.storage.items import items_by_id
from ricordo.storage.links import blocked_by, find_offer, offers_to, unblock
from ricordo.user_memory.base import UserOperations, check_speaks_for_user, implements

_log = logging.getLogger(__name__)


class ProposalOperations(UserOperations):
    """Proposals, sharing and the profile of one user."""

    @implements(describe.proposals)
    def proposals(
        self, state: ProposalState | None, limit: int, cursor: str | None
    ) -> Page[Proposal]:
        with self.database.read(self.scope.user_id) as view:
            page = page_of_proposals(
                *(view.connection, self.scope.user_id, state, view.now, limit, cursor),
                project=self.scope.project_id,
            )
            said = [one.shown(view.now) for one in page]
            (after,) = (0,) if cursor is None else decode_cursor(CURSOR, cursor, (int,))
            offered = self._offered(view, state, int(after), limit + 1)
        # Both are in the order of their numbers, which are of one series.
        found = sorted([*said, *offered], key=lambda one: one.id)
        is_more = len(found) > limit or page.next_cursor is not None
        listed = tuple(found[:limit])
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

    @implements(describe.approve)
    def approve(self, id: int, reason: str | None) -> Added:
        check_speaks_for_user(self.scope)
        if self._is_offer(id):
            return self._accept(id, reason)
        self._check_reaches_proposal(id)
        from ricordo.formation import approval  # takes long to load, as that below

        added = approval.approve(self.parts.formation, self.scope, id, reason)
        if self.parts.profile_files.follow(self.scope.user_id):
            # What does not is nothing for a log: it names fields and what they say.
            _log.warning("what was proposed is approved, but the profile's file does not follow")
        return added

    @implements(describe.reject)
    def reject(self, id: int, reason: str | None) -> Proposal:
        check_speaks_for_user(self.scope)
        if self._is_offer(id):
            return self._turn_down(id, reason)
        self._check_reaches_proposal(id)
        from ricordo.formation import approval

        return approval.reject(self.parts.formation, self.scope, id, reason)

    def _check_reaches_proposal(self, proposal_id: int) -> None:
        with self.database.read(self.scope.user_id) as view:
            found = find_proposal(view.connection, self.scope.user_id, proposal_id)
        if found is not None and not self.scope.sees_project(found.project_id):
            raise ProposalNotFound(proposal_id)

    def _is_offer(self, proposal_id: int) -> bool:
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

    @implements(describe.link)
    @retried
    def link(self, id: int, with_user: str) -> Link:
        sharing.check_may_offer(self.scope)
        approved = self._is_approved(with_user)
        with self.database.write(self.scope.user_id, touching=[id]) as writing:
            return sharing.link(writing, self.scope, id, with_user, approved=approved)

    @implements(describe.unlink)
    @retried
    def unlink(self, id: int, with_user: str | None) -> None:
        with self.database.write(self.scope.user_id, touching=[id]) as writing:
            sharing.unlink(writing, self.scope, id, with_user)

    @implements(describe.links)
    def links(self, id: int) -> tuple[Link, ...]:
        with self.database.read(self.scope.user_id) as view:
            item = lookup.read_item(view, self._audience(view), id)
            if item.user_id != self.scope.user_id:
                raise NotOwner(
                    f"memory {item.id} is shared with you; only its owner sees with whom"
                )
            return sharing.links(view, [item])

    @implements(describe.links_of)
    def links_of(self, ids: Sequence[int]) -> tuple[Link, ...]:
        with self.database.read(self.scope.user_id) as view:
            found = lookup.read_items(view, self._audience(view), ids)
            return sharing.links(view, [one for one in found if one.user_id == self.scope.user_id])

    @implements(describe.block_sender)
    @retried
    def block_sender(self, sender: str) -> BlockedSender:
        with self.database.write(self.scope.user_id) as writing:
            return sharing.block_sender(writing, self.scope, sender)

    @implements(describe.unblock_sender)
    @retried
    def unblock_sender(self, sender: str) -> None:
        sharing.check_decides(self.scope)
        with self.database.write(self.scope.user_id) as writing:
            unblock(writing, sender)

    @implements(describe.blocked_senders)
    def blocked_senders(self) -> tuple[BlockedSender, ...]:
        sharing.check_decides(self.scope)
        with self.database.read(self.scope.user_id) as view:
            return blocked_by(view.connection, self.scope.user_id)

    def _is_approved(self, viewer: str) -> bool:
        """Whether the operator has agreed beforehand to what this scope shares with somebody."""
        if self.scope.sharing_right is SharingRight.VOUCHED:
            return True
        return self.parts.access.current().approves_sharing(self.scope.user_id, viewer)

    @implements(describe.user_profile)
    def user_profile(self) -> Profile:
        from ricordo.formation.profile import read_fields

        self._check_has_profile()
        user_id = self.scope.user_id
        problems = self.parts.profile_files.follow(user_id)
        return Profile(fields=read_fields(self.database, user_id), problems=problems)

    @implements(describe.update_user_profile)
    def update_user_profile(
        self, fields: Mapping[str, str | None], explicit: bool, reason: str | None
    ) -> ProfileUpdate:
        from ricordo.formation.profile import check_harmless, set_fields

        self._check_has_profile()
        if explicit:
            check_speaks_for_user(self.scope)
        changes = checked_changes(fields)
        for change in changes:
            check_harmless(change)
        source = Source.USER_EXPLICIT if explicit else Source.CONVERSATION
        files, user_id = self.parts.profile_files, self.scope.user_id
        before = files.follow(user_id, [change.key for change in changes])
        # Who somebody is does not differ from project to project.
        scope = replace(self.scope, project_id=None)
        done = set_fields(self.parts.formation, scope, changes, source, reason)
        after = files.follow(user_id)
        return ProfileUpdate(fields=done, problems=tuple(dict.fromkeys((*before, *after))))

    def _check_has_profile(self) -> None:
        if not is_person(self.scope.user_id):
            raise InvalidValue("user_id", "global memories have no profile")


class GroupOperations(UserOperations):
    """Groups that a user is in, each as a member."""

    @implements(describe_groups.groups)
    def groups(self) -> tuple[Membership, ...]:
        with self.database.read(self.scope.person) as view:
            return tuple(memberships_of(view.connection, self.scope.person))

    @implements(describe_groups.members)
    def members(self, group: str) -> tuple[GroupMember, ...]:
        with self.database.read(self.scope.person) as view:
            check_acting(view.connection, self._as(group, GroupRole.READ))
            return sharing.members(view, group)

    @implements(describe_groups.set_member)
    @retried
    def set_member(self, group: str, member: str, role: GroupRole) -> GroupMember:
        check_speaks_for_user(self.scope)
        acting = self._as(group, GroupRole.MANAGE)
        with self.database.as_member(acting), self.database.write(acting.space) as writing:
            return sharing.put(writing, group, member, role, by=acting.member)

    @implements(describe_groups.remove_member)
    @retried
    def remove_member(self, group: str, member: str) -> None:
        check_speaks_for_user(self.scope)
        if member == self.scope.person:
            sharing.leave(self.database, group, member)
            return
        acting = self._as(group, GroupRole.MANAGE)
        with self.database.as_member(acting), self.database.write(acting.space) as writing:
            sharing.remove(writing, group, member, by_operator=False)

    def _as(self, group: str, needed: GroupRole) -> Acting:
        return Acting(space_of(group), self.scope.person, needed)
