"""Rows of groups and of their members."""

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import GroupNotFound
from ricordo.model.group import Acting, Group, GroupMember, Membership, group_of
from ricordo.model.vocabulary import GroupRole
from ricordo.storage.sql import PreparedStatement, Words, stored_choice
from ricordo.storage.tables import group_members, groups, history, items, proposals

FORMER_MEMBER: Final = "former member"
"""The actor, in the history of a group, in place of a member who was erased."""

_role: Final = PreparedStatement(
    sa.select(group_members.c.role).where(
        group_members.c.user_id == sa.bindparam("user_id", type_=Words),
        group_members.c.space_id == sa.bindparam("space_id", type_=Words),
    )
)


def role_of(connection: sa.Connection, space: str, user_id: str) -> GroupRole | None:
    """The role of a member; None for whoever is none."""
    rows = _role.run(connection, {"user_id": user_id, "space_id": space})
    return stored_choice(GroupRole, rows[0][0]) if rows else None


def check_acting(connection: sa.Connection, acting: Acting) -> None:
    """Refuse a member what their role does not allow now. Raises GroupNotFound: they are no member,
    or there is no such group; PermissionMissing: their role does not allow it."""
    role = role_of(connection, acting.space, acting.member)
    if role is None:
        raise GroupNotFound(str(group_of(acting.space)))
    acting.check(role)


def has_group(connection: sa.Connection, space: str) -> bool:
    known = sa.exists().where(groups.c.user_id == space)
    return bool(connection.execute(sa.select(known)).scalar_one())


def is_member(connection: sa.Connection, user_id: str) -> bool:
    """Whether a user is in any group."""
    known = sa.exists().where(group_members.c.user_id == user_id)
    return bool(connection.execute(sa.select(known)).scalar_one())


def count_groups(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(groups)).scalar_one()


def add_group(connection: sa.Connection, space: str, title: str | None, now: datetime) -> None:
    connection.execute(sa.insert(groups).values(user_id=space, title=title, created_at=now))


def list_groups(connection: sa.Connection, after: str, limit: int) -> list[Group]:
    """Groups in the order of their names; ``after`` is a space, or empty."""
    wanted = _groups().where(groups.c.user_id > after).order_by(groups.c.user_id).limit(limit)
    return [_group(row) for row in connection.execute(wanted).mappings()]


def _members_of(space: Any) -> sa.ScalarSelect[int]:
    others = group_members.alias("others")
    counted = sa.select(sa.func.count()).select_from(others).where(others.c.space_id == space)
    return counted.scalar_subquery()


def _groups() -> sa.Select[Any]:
    return sa.select(groups, _members_of(groups.c.user_id).label("members"))


def _group(row: sa.RowMapping) -> Group:
    return Group(
        name=str(group_of(row["user_id"])),
        title=row["title"],
        members=row["members"],
        created_at=row["created_at"],
    )


def count_members(connection: sa.Connection, space: str, role: GroupRole | None = None) -> int:
    """How many members a group has, or how many in one role."""
    wanted = sa.select(sa.func.count()).where(group_members.c.space_id == space)
    if role is not None:
        wanted = wanted.where(group_members.c.role == role.value)
    return connection.execute(wanted).scalar_one()


def count_memberships(connection: sa.Connection, user_id: str) -> int:
    wanted = sa.select(sa.func.count()).where(group_members.c.user_id == user_id)
    return connection.execute(wanted).scalar_one()


def members_of(connection: sa.Connection, space: str) -> list[GroupMember]:
    """The members of a group, by name."""
    wanted = (
        sa.select(group_members)
        .where(group_members.c.space_id == space)
        .order_by(group_members.c.user_id)
    )
    return [_member(row) for row in connection.execute(wanted).mappings()]


def find_member(connection: sa.Connection, space: str, user_id: str) -> GroupMember | None:
    wanted = sa.select(group_members).where(*_place(space, user_id))
    row = connection.execute(wanted).mappings().first()
    return None if row is None else _member(row)


def _member(row: sa.RowMapping) -> GroupMember:
    return GroupMember(
        group=str(group_of(row["space_id"])),
        user_id=row["user_id"],
        role=stored_choice(GroupRole, row["role"]),
        added_by=row["added_by"],
        since=row["created_at"],
    )


def memberships_of(connection: sa.Connection, user_id: str) -> list[Membership]:
    """The groups that a user is in, by name."""
    wanted = (
        sa.select(group_members, groups.c.title, _members_of(groups.c.user_id).label("members"))
        .join(groups, groups.c.user_id == group_members.c.space_id)
        .where(group_members.c.user_id == user_id)
        .order_by(group_members.c.space_id)
    )
    return [
        Membership(
            group=str(group_of(row["space_id"])),
            title=row["title"],
            role=stored_choice(GroupRole, row["role"]),
            members=row["members"],
            since=row["created_at"],
        )
        for row in connection.execute(wanted).mappings()
    ]


def put_member(
    connection: sa.Connection,
    space: str,
    user_id: str,
    role: GroupRole,
    added_by: str | None,
    now: datetime,
) -> None:
    """Add a member, or change the role of one."""
    changed = sa.update(group_members).where(*_place(space, user_id)).values(role=role.value)
    if not connection.execute(changed).rowcount:
        row = {
            "user_id": user_id,
            "space_id": space,
            "role": role.value,
            "added_by": added_by,
            "created_at": now,
        }
        connection.execute(sa.insert(group_members).values(**row))


def drop_member(connection: sa.Connection, space: str, user_id: str) -> bool:
    """Remove a member; whether they were one."""
    gone = sa.delete(group_members).where(*_place(space, user_id))
    return connection.execute(gone).rowcount == 1


def forget_name(connection: sa.Connection, user_id: str) -> int:
    """Take a user's name out of the history of groups, and of what they said there."""
    spaces = sa.select(groups.c.user_id)
    changed = 0
    for column, instead in (
        (history.c.actor, FORMER_MEMBER),
        (items.c.actor_id, None),
        (proposals.c.decided_by, FORMER_MEMBER),
    ):
        named = sa.update(column.table).where(column.table.c.user_id.in_(spaces), column == user_id)
        changed += connection.execute(named.values({column: instead})).rowcount
    added = sa.update(group_members).where(group_members.c.added_by == user_id)
    return changed + connection.execute(added.values(added_by=None)).rowcount


def _place(space: str, user_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (group_members.c.space_id == space, group_members.c.user_id == user_id)
