"""Who is in a group, and as what."""

from ricordo import limits
from ricordo.errors import Conflict, GroupNotFound
from ricordo.model.group import Acting, Group, GroupMember, space_of
from ricordo.model.vocabulary import GroupRole
from ricordo.storage import groups as rows
from ricordo.storage.database import Database, ReadTransaction, WriteTransaction

# Whatever changes members locks the space of the group, as each write of a member does: so that a
# write is over before its member is removed, or refused, and of two managers one stays.


def create(database: Database, group: str, title: str | None, manager: str | None) -> Group:
    """Make a group, with a first manager if one is named.

    Raises:
        Conflict: there is one of that name, or there are too many.
    """
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
    """The members of a group, by name.

    Raises:
        GroupNotFound: there is no such group.
    """
    _check_is_there(view, group)
    return tuple(rows.members_of(view.connection, space_of(group)))


def put(
    writing: WriteTransaction, group: str, member: str, role: GroupRole, *, by: str | None
) -> GroupMember:
    """Add a member or change their role; ``by`` a manager, or None for the operator.

    Raises:
        GroupNotFound: there is no such group.
        Conflict: too many members or groups, or nobody would be left who manages it.
    """
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
    """Remove a member.

    Raises:
        GroupNotFound: there is no such group, or no such member.
        Conflict: nobody would be left who manages it.
    """
    _check_is_there(writing, group)
    present = rows.find_member(writing.connection, space_of(group), member)
    if present is None:
        raise GroupNotFound(group, member)
    if not by_operator:
        _check_not_last(writing, present)
    rows.drop_member(writing.connection, space_of(group), member)


def leave(database: Database, group: str, member: str) -> None:
    """A member leaves a group.

    Raises:
        GroupNotFound: they are no member.
        Conflict: nobody would be left who manages it.
    """
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
