"""Shares memories with other users, who accept or reject the offers, and with groups.

An offer stores no text: the viewer reads the memory itself. A rejected or unlinked memory cannot be
offered again. History records CONSENT for offers, rejections and withdrawals, and LINK when the
viewer begins to see the memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ricordo import limits
from ricordo.errors import (
    AlreadyDecided,
    Conflict,
    GroupNotFound,
    IllegalTransition,
    InvalidValue,
    MemoryNotFound,
    NotOwner,
    OfferRefused,
    PermissionMissing,
    ProposalNotFound,
)
from ricordo.memories.lifecycle import is_expired, own_item, shared_item
from ricordo.model.group import Acting, Group, GroupMember, space_of
from ricordo.model.item import Item
from ricordo.model.proposal import BlockedSender, Link, Offer, Proposal
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import (
    Event,
    GroupRole,
    LinkState,
    ProposalState,
    SharingRight,
    Status,
)
from ricordo.storage import groups as rows
from ricordo.storage.database import (
    OWNER_ACTED,
    VIEWER_ACTED,
    Database,
    ReadTransaction,
    WriteTransaction,
)
from ricordo.storage.items import item_of
from ricordo.storage.links import (
    add_link,
    block,
    blocked_by,
    count_waiting,
    drop_offer,
    find_block,
    find_offer,
    linked_since,
    links_between,
    open_offers_from,
    open_offers_of,
    owner_of_linked,
    put_offer,
    remove_link,
)

CONSENT: Final = "consent"
"""Key in the meta of history: the answer to an offer."""

_OFFERED: Final = "offered"
_WITHDRAWN: Final = "withdrawn"


def check_may_offer(scope: Scope) -> None:
    """Refuse to share for an agent without the permission. Raises PermissionMissing: the scope is
    of some categories, or its key is an agent's, and the key does not have the permission."""
    if scope.sharing_right is SharingRight.NONE:
        raise PermissionMissing(
            "an agent shares memories with other users only with a key that has the permission"
            " share, and within its categories"
        )


def link(
    writing: WriteTransaction, scope: Scope, item_id: int, viewer: str, *, approved: bool = False
) -> Link:
    """Offer a memory to another user; idempotent.

    ``approved`` by the operator: visible at once.

    Raises:
        InvalidValue: the viewer is the owner, or there are too many viewers.
        IllegalTransition: the memory is not active.
        OfferRefused: the viewer does not want it, or has too much that waits.
        MemoryNotFound, NotOwner, PermissionMissing.
    """
    check_may_offer(scope)
    item = own_item(writing, scope, item_id)
    if viewer == item.user_id:
        raise InvalidValue("with_user", "a memory is already visible to its owner")
    if item.status is not Status.ACTIVE:
        raise IllegalTransition(
            f"memory {item.id} is {item.status}: only an active memory can be shared"
        )
    accepted = linked_since(writing.connection, item.user_id, [item.id])
    since = accepted.get((item.id, viewer))
    if since is not None:
        return _accepted(item.id, viewer, since)
    writing.concern(viewer)
    waiting = open_offers_of(writing.connection, item.user_id, [item.id], writing.now)
    present = next((offer for offer in waiting if offer.user_id == viewer), None)
    if present is not None and not approved:
        return _offered(present)
    if len(accepted) + len(waiting) >= limits.MAX_LINKS_PER_MEMORY:
        maximum = limits.MAX_LINKS_PER_MEMORY
        raise InvalidValue("with_user", f"memory {item.id} has {maximum} links, the most allowed")
    _check_wanted(writing, item, viewer, is_waiting=not approved)
    offer = Offer(
        user_id=viewer,
        item_id=item.id,
        owner_id=item.user_id,
        state=ProposalState.OPEN,
        created_at=writing.now,
        expires_at=writing.now + writing.policy.offer_life,
        decided_at=None,
        decided_by=None,
    )
    if not approved:
        put_offer(writing, offer)
        _record_step(writing, item.id, _OFFERED, scope.actor, viewer)
        return _offered(offer)
    put_offer(writing, _decided(writing, offer, ProposalState.APPROVED, OWNER_ACTED))
    add_link(writing.connection, viewer, item.user_id, item.id, writing.now)
    writing.record(Event.LINK, item.id, actor=scope.actor, other_user=viewer)
    writing.record(Event.LINK, item.id, actor=OWNER_ACTED, other_user=item.user_id, user_id=viewer)
    return _accepted(item.id, viewer, writing.now)


def _check_wanted(writing: WriteTransaction, item: Item, viewer: str, *, is_waiting: bool) -> None:
    if find_block(writing.connection, viewer, item.user_id) is not None:
        raise OfferRefused(f"user {viewer!r} has blocked you")
    former = find_offer(writing.connection, viewer, item.id)
    if former is not None and former.state is ProposalState.REJECTED:
        raise OfferRefused(
            f"user {viewer!r} does not want memory {item.id}: it cannot be offered to them again"
        )
    if not is_waiting:
        return
    of_all, of_one = count_waiting(writing.connection, viewer, item.user_id, writing.now)
    if of_one >= limits.MAX_OFFERS_PER_SENDER:
        raise OfferRefused(
            f"{of_one} memories that you offered to user {viewer!r} wait for them, the most allowed"
        )
    if of_all >= limits.MAX_OFFERS_PER_VIEWER:
        raise OfferRefused(f"{of_all} memories wait for user {viewer!r}, the most allowed")


def unlink(writing: WriteTransaction, scope: Scope, item_id: int, viewer: str | None) -> None:
    """Remove one user's access to a memory.

    The owner names the viewer; that also withdraws an offer. A viewer can unlink for themselves,
    and is not offered it again.

    Raises:
        InvalidValue: the owner did not say for whom.
        MemoryNotFound: there is no such memory, link or offer.
        NotOwner: a viewer tried to unlink somebody else.
    """
    owner = owner_of_linked(writing.connection, writing.user_id, item_id)
    if owner is not None:
        if scope.is_confined and shared_item(writing, scope, item_id) is None:
            raise MemoryNotFound(item_id)
        if viewer not in (None, writing.user_id):
            raise NotOwner(f"memory {item_id} is not yours: you can unlink it for yourself only")
        _end_link(writing, item_id, owner, scope.actor)
        return
    item = own_item(writing, scope, item_id)
    if viewer is None:
        raise InvalidValue("with_user", "say which user to unlink the memory from")
    waiting = open_offers_of(writing.connection, item.user_id, [item.id], writing.now)
    if remove_link(writing.connection, viewer, item.id):
        drop_offer(writing.connection, viewer, item.id)
        writing.record(Event.UNLINK, item.id, actor=scope.actor, other_user=viewer)
        writing.record(
            Event.UNLINK, item.id, actor=OWNER_ACTED, other_user=item.user_id, user_id=viewer
        )
    elif any(offer.user_id == viewer for offer in waiting):
        drop_offer(writing.connection, viewer, item.id)
        _record_step(writing, item.id, _WITHDRAWN, scope.actor, viewer)
    else:
        raise MemoryNotFound(f"{item.id} linked to {viewer!r}")


def links(reading: ReadTransaction, items: Sequence[Item]) -> tuple[Link, ...]:
    """Those of some memories of one owner, memory by memory."""
    if not items:
        return ()
    owner, ids = items[0].user_id, [item.id for item in items]
    accepted = linked_since(reading.connection, owner, ids)
    shared = [_accepted(*one, since) for one, since in accepted.items()]
    offered = map(_offered, open_offers_of(reading.connection, owner, ids, reading.now))
    return tuple(sorted([*shared, *offered], key=lambda one: (ids.index(one.id), one.user_id)))


def _accepted(item_id: int, viewer: str, since: datetime) -> Link:
    return Link(
        id=item_id,
        user_id=viewer,
        state=LinkState.ACCEPTED,
        since=since,
        expires_at=None,
    )


def _offered(offer: Offer) -> Link:
    return Link(
        id=offer.item_id,
        user_id=offer.user_id,
        state=LinkState.OFFERED,
        since=offer.created_at,
        expires_at=offer.expires_at,
    )


def decides(scope: Scope) -> bool:
    """Whether a scope may answer offers for its user; an agent's key may not."""
    return scope.sharing_right in (SharingRight.DECIDE, SharingRight.VOUCHED)


def check_decides(scope: Scope) -> None:
    """Refuse to answer offers for a user. Raises PermissionMissing: the scope does not speak for
    its user."""
    if not decides(scope):
        raise PermissionMissing("what others share is for the user to decide, not for an agent")


def can_be_accepted(item: Item | None, now: datetime) -> bool:
    """Whether an offered memory can still be accepted."""
    return item is not None and item.status is Status.ACTIVE and not is_expired(item, now)


def accept(writing: WriteTransaction, scope: Scope, item_id: int, reason: str | None) -> Item:
    """Accept an offered memory.

    Raises:
        AlreadyDecided: it was decided before, its time has passed, or the memory is gone.
        ProposalNotFound, PermissionMissing.
    """
    offer = _open_offer(writing, scope, item_id)
    writing.concern(offer.owner_id)
    item = item_of(writing.connection, offer.owner_id, item_id)
    if item is None or not can_be_accepted(item, writing.now):
        raise AlreadyDecided(
            f"proposal {item_id} is withdrawn: its owner no longer has this memory"
        )
    put_offer(writing, _decided(writing, offer, ProposalState.APPROVED, scope.actor))
    add_link(writing.connection, writing.user_id, offer.owner_id, item_id, writing.now)
    writing.record(
        Event.LINK,
        item_id,
        actor=VIEWER_ACTED,
        other_user=writing.user_id,
        user_id=offer.owner_id,
    )
    meta = {CONSENT: ProposalState.APPROVED.value}
    writing.record(
        Event.LINK, item_id, actor=scope.actor, reason=reason, other_user=offer.owner_id, meta=meta
    )
    return item.as_seen_by(writing.user_id)


def reject(writing: WriteTransaction, scope: Scope, item_id: int, reason: str | None) -> Proposal:
    """Reject an offered memory for good.

    Raises:
        AlreadyDecided: it was decided before, or its time has passed.
        ProposalNotFound, PermissionMissing.
    """
    offer = _open_offer(writing, scope, item_id)
    return _refuse(writing, offer, scope.actor, reason).shown(None, writing.now)


def block_sender(writing: WriteTransaction, scope: Scope, sender: str) -> BlockedSender:
    """Block a sender: removes their offers and links, and refuses new ones.

    Raises:
        InvalidValue: oneself, or too many.
        PermissionMissing.
    """
    check_decides(scope)
    if sender == writing.user_id:
        raise InvalidValue("sender", "you cannot block yourself")
    present = find_block(writing.connection, writing.user_id, sender)
    if present is not None:
        return present
    if len(blocked_by(writing.connection, writing.user_id)) >= limits.MAX_BLOCKED_SENDERS:
        maximum = limits.MAX_BLOCKED_SENDERS
        raise InvalidValue("sender", f"{maximum} are blocked, the most allowed")
    for item_id in links_between(writing.connection, writing.user_id, sender):
        _end_link(writing, item_id, sender, scope.actor)
    for offer in open_offers_from(writing.connection, writing.user_id, sender, writing.now):
        _refuse(writing, offer, scope.actor)
    block(writing, sender)
    return BlockedSender(user_id=sender, since=writing.now)


def _open_offer(writing: WriteTransaction, scope: Scope, item_id: int) -> Offer:
    check_decides(scope)
    offer = find_offer(writing.connection, writing.user_id, item_id)
    if offer is None:
        raise ProposalNotFound(item_id)
    state = offer.state_at(writing.now)
    if state is not ProposalState.OPEN:
        raise AlreadyDecided(f"proposal {item_id} is {state}; only open ones can be decided")
    return offer


def _end_link(writing: WriteTransaction, item_id: int, owner: str, actor: str) -> None:
    remove_link(writing.connection, writing.user_id, item_id)
    given = find_offer(writing.connection, writing.user_id, item_id)
    if given is None:  # from before there were offers
        given = Offer(
            user_id=writing.user_id,
            item_id=item_id,
            owner_id=owner,
            state=ProposalState.APPROVED,
            created_at=writing.now,
            expires_at=writing.now,
            decided_at=None,
            decided_by=None,
        )
    put_offer(writing, _decided(writing, given, ProposalState.REJECTED, actor))
    writing.record(
        Event.UNLINK, item_id, actor=VIEWER_ACTED, other_user=writing.user_id, user_id=owner
    )
    writing.record(Event.UNLINK, item_id, actor=actor, other_user=owner)


def _refuse(
    writing: WriteTransaction, offer: Offer, actor: str, reason: str | None = None
) -> Offer:
    refused = _decided(writing, offer, ProposalState.REJECTED, actor)
    put_offer(writing, refused)
    _record_step(
        writing, offer.item_id, ProposalState.REJECTED.value, actor, offer.owner_id, reason
    )
    meta = {CONSENT: ProposalState.REJECTED.value}
    writing.record(
        Event.CONSENT,
        offer.item_id,
        actor=VIEWER_ACTED,
        other_user=offer.user_id,
        meta=meta,
        user_id=offer.owner_id,
    )
    return refused


def _decided(writing: WriteTransaction, offer: Offer, state: ProposalState, actor: str) -> Offer:
    return replace(offer, state=state, decided_at=writing.now, decided_by=actor)


def _record_step(
    writing: WriteTransaction,
    item_id: int,
    step: str,
    actor: str,
    other: str,
    reason: str | None = None,
) -> None:
    """Record what the writing user did about an offer."""
    meta = {CONSENT: step}
    writing.record(Event.CONSENT, item_id, actor=actor, reason=reason, other_user=other, meta=meta)


# Whatever changes members locks the space of the group, as each write of a member does: so that a
# write is over before its member is removed, or refused, and of two managers one stays.


def create(database: Database, group: str, title: str | None, manager: str | None) -> Group:
    """Make a group, with a first manager if one is named. Raises Conflict: there is one of that
    name, or there are too many."""
    space = space_of(group)
    with database.write(space) as writing, writing.acting_for_all():
        connection = writing.connection
        if rows.has_group(connection, space):
            raise Conflict(f"there is a group {group!r} already")
        if rows.count_groups(connection) >= limits.MAX_GROUPS:
            raise Conflict(f"there are {limits.MAX_GROUPS} groups, the most allowed")
        writing.keeps_user = True
        rows.add_group(connection, space, title, writing.now)
        if manager is not None:
            put(writing, group, manager, GroupRole.MANAGE, by=None)
        return Group(
            name=group, title=title, members=int(manager is not None), created_at=writing.now
        )


def members(view: ReadTransaction, group: str) -> tuple[GroupMember, ...]:
    """The members of a group, by name. Raises GroupNotFound: there is no such group."""
    _check_is_there(view, group)
    return tuple(rows.members_of(view.connection, space_of(group)))


def put(
    writing: WriteTransaction, group: str, member: str, role: GroupRole, *, by: str | None
) -> GroupMember:
    """Add a member or change their role; ``by`` a manager, or None for the operator. Raises
    GroupNotFound: there is no such group; Conflict: too many members or groups, or nobody would be
    left who manages it."""
    _check_is_there(writing, group)
    space, connection = space_of(group), writing.connection
    present = rows.find_member(connection, space, member)
    if present is None:
        _check_has_room(writing, group, member)
    elif by is not None and role is not GroupRole.MANAGE:
        _check_not_last(writing, present)
    rows.put_member(connection, space, member, role, by, writing.now)
    if present is not None:
        by = present.added_by
    since = writing.now if present is None else present.since
    return GroupMember(group=group, user_id=member, role=role, added_by=by, since=since)


def remove(writing: WriteTransaction, group: str, member: str, *, by_operator: bool) -> None:
    """Remove a member. Raises GroupNotFound: there is no such group, or no such member; Conflict:
    nobody would be left who manages it."""
    _check_is_there(writing, group)
    present = rows.find_member(writing.connection, space_of(group), member)
    if present is None:
        raise GroupNotFound(group, member)
    if not by_operator:
        _check_not_last(writing, present)
    rows.drop_member(writing.connection, space_of(group), member)


def leave(database: Database, group: str, member: str) -> None:
    """A member leaves a group. Raises GroupNotFound: they are no member; Conflict: nobody would be
    left who manages it."""
    space = space_of(group)
    with database.read(member) as view:
        role = rows.role_of(view.connection, space, member)
    if role is None:
        raise GroupNotFound(group)
    if role.allows(GroupRole.WRITE):
        with (
            database.as_member(Acting(space, member, GroupRole.WRITE)),
            database.write(space) as writing,
        ):
            remove(writing, group, member, by_operator=False)
        return
    with database.transaction_for([member]) as connection:  # who only reads cannot lock the space
        if not rows.drop_member(connection, space, member):
            raise GroupNotFound(group)


def _check_is_there(reading: ReadTransaction | WriteTransaction, group: str) -> None:
    if not rows.has_group(reading.connection, space_of(group)):
        raise GroupNotFound(group)


def _check_has_room(writing: WriteTransaction, group: str, member: str) -> None:
    if rows.count_members(writing.connection, space_of(group)) >= limits.MAX_MEMBERS_PER_GROUP:
        most = limits.MAX_MEMBERS_PER_GROUP
        raise Conflict(f"group {group!r} has {most} members, the most allowed")
    with writing.acting_for_all():  # which groups else they are in is not the manager's to see
        memberships = rows.count_memberships(writing.connection, member)
    if memberships >= limits.MAX_GROUPS_PER_USER:
        most = limits.MAX_GROUPS_PER_USER
        raise Conflict(f"user {member!r} is in {most} groups, the most allowed")


def _check_not_last(writing: WriteTransaction, present: GroupMember) -> None:
    if present.role is not GroupRole.MANAGE:
        return
    if rows.count_members(writing.connection, space_of(present.group), GroupRole.MANAGE) == 1:
        raise Conflict(
            f"{present.user_id!r} is the only one who manages group {present.group!r}:"
            " let somebody else manage it first"
        )
