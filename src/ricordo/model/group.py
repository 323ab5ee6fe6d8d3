"""Groups of users who share a space, and whose space it is."""

import re
from datetime import datetime
from typing import Final

from ricordo import limits
from ricordo.errors import InvalidValue, PermissionMissing
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.record import Record
from ricordo.model.vocabulary import GLOBAL_OWNER, GroupRole

_NAME: Final = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")


def group_name(field: str, value: object) -> str:
    """The name of a group: small letters and digits, with single signs between them. Raises
    InvalidValue: it is none."""
    name = checks.within(field, checks.reference(field, value), limits.MAX_GROUP_NAME_CHARS)
    if not _NAME.fullmatch(name):
        allowed = "small letters a to z and digits, with . _ or - between them"
        raise InvalidValue(field, f"{checks.shown(name)} is not the name of a group: {allowed}")
    return name


def space_of(group: str) -> str:
    """The owner of a group's memories."""
    return f"{GLOBAL_OWNER}{group}"


def group_of(owner_id: str) -> str | None:
    """The group whose space an owner is; None for a user and for the global memories."""
    return owner_id[len(GLOBAL_OWNER) :] or None if owner_id.startswith(GLOBAL_OWNER) else None


def is_person(owner_id: str) -> bool:
    """Whether an owner is a user: neither the global memories nor the space of a group.

    What is about a person (a profile, files, what is observed and formed) is theirs alone, and
    what nobody asked for (forgetting, merging) is not done to what many share.
    """
    return not owner_id.startswith(GLOBAL_OWNER)


def checked_owner(owner_id: str) -> str:
    """An owner of memories: a user, everybody (``*``), or the space of a group (``*NAME``). Raises
    InvalidValue: nobody can be called that."""
    group = group_of(owner_id) if isinstance(owner_id, str) else None
    if group is not None:
        return space_of(group_name("user_id", group))
    return owner_id if owner_id == GLOBAL_OWNER else checks.user_id(owner_id)


@dataclass(frozen=True, slots=True)
class Acting:
    """A member who acts in the space of a group, and the role that this needs."""

    space: str
    member: str
    needed: GroupRole

    def check(self, role: GroupRole) -> None:
        """Refuse what the role of the member does not allow. Raises PermissionMissing: names both
        roles."""
        if not role.allows(self.needed):
            raise PermissionMissing(
                f"this needs the role {self.needed.value} in group {group_of(self.space)!r};"
                f" {self.member!r} has {role.value}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Record):
    """A group, and how many members it has."""

    name: str
    title: str | None
    members: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember(Record):
    """A member of a group. ``added_by`` is the member who added them, None for the operator."""

    group: str
    user_id: str
    role: GroupRole
    added_by: str | None
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Record):
    """A group that a user is in, and as what."""

    group: str
    title: str | None
    role: GroupRole
    members: int
    since: datetime
