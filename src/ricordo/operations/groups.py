"""Groups of users who share a space: their members, and administration."""

from typing import Annotated

from ricordo import limits
from ricordo.model.fields import Choice, GroupName, OptionalUserName, Text, UserName
from ricordo.model.group import Group, GroupMember, Membership
from ricordo.model.reports import ErasureReceipt
from ricordo.model.vocabulary import GroupRole, Permission
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import PageLimit

mine = Catalogue("Groups")
administration = Catalogue("Administration: groups", of_store=True)

Name = Annotated[str, GroupName(about="The group.", example="payments")]
Member = Annotated[str, UserName(about="The member.", example="ben", completes="user")]
Role = Annotated[
    GroupRole | str,
    Choice(
        GroupRole,
        about="What they may do: read, write as well, or manage the members as well.",
        example="write",
        metavar="ROLE",
    ),
]


@mine("GET /v1/groups list_my_groups", within_project=True, in_group=GroupRole.READ)
def groups() -> tuple[Membership, ...]:
    """The groups that this user is in, and as what, by name."""


@mine(
    "GET /v1/groups/{group}/members list_group_members",
    within_project=True,
    in_group=GroupRole.READ,
)
def members(group: Name) -> tuple[GroupMember, ...]:
    """List the members of a group of this user, with their roles.

    Raises:
        GroupNotFound: there is no such group, or this user is not in it.
    """


@mine(
    "PUT /v1/groups/{group}/members/{member:path} set_group_member",
    within_project=True,
    in_group=GroupRole.MANAGE,
)
def set_member(group: Name, member: Member, role: Role) -> GroupMember:
    """Add a member to a group, or change what one may do. For members who manage it.

    Raises:
        GroupNotFound: there is no such group, or this user is not in it.
        PermissionMissing: this user does not manage it, or an agent asks.
        Conflict: too many members or groups, or nobody would be left who manages it.
    """


@mine(
    "DELETE /v1/groups/{group}/members/{member:path} remove_group_member",
    within_project=True,
    in_group=GroupRole.READ,
)
def remove_member(group: Name, member: Member) -> None:
    """Remove a member from a group, from whose next read on its memories are gone. For members
    who manage it; any member can leave.

    Raises:
        GroupNotFound: there is no such group or member, or this user is not in it.
        PermissionMissing: this user does not manage it, or an agent asks.
        Conflict: nobody would be left who manages it.
    """


@administration("POST /v1/admin/groups create_group", permission=Permission.MANAGE, creates=True)
def create_group(
    group: Annotated[
        str,
        GroupName(
            about="Its name: small letters and digits, with . _ or - between them.",
            example="payments",
        ),
    ],
    *,
    title: Annotated[
        str | None,
        Text(
            limits.MAX_GROUP_TITLE_CHARS,
            is_optional=True,
            about="What it is called.",
            example="The payments team",
        ),
    ] = None,
    manager: Annotated[
        str | None,
        OptionalUserName(about="The first member, who manages it.", example="ana"),
    ] = None,
) -> Group:
    """Make a group of users who share memories.

    Raises:
        InvalidValue: no group can have that name.
        Conflict: there is one already, or there are too many.
    """


@administration("GET /v1/admin/groups list_groups", name="groups", permission=Permission.READ_ALL)
def all_groups(
    *,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    after: Annotated[
        str,
        GroupName(may_be_empty=True, about="Where to go on: the last group of the page before."),
    ] = "",
) -> tuple[Group, ...]:
    """All groups, by name; ``after`` is the last one of the page before."""


@administration("DELETE /v1/admin/groups/{group} delete_group", permission=Permission.MANAGE)
def delete_group(group: Name) -> ErasureReceipt:
    """Remove a group, its memberships and every trace of what its members share.

    Raises:
        GroupNotFound: there is no such group.
    """


@administration(
    "GET /v1/admin/groups/{group}/members list_members_of_group",
    name="members",
    permission=Permission.READ_ALL,
)
def all_members(group: Name) -> tuple[GroupMember, ...]:
    """Who is in a group, and as what, by name.

    Raises:
        GroupNotFound: there is no such group.
    """


@administration(
    "PUT /v1/admin/groups/{group}/members/{member:path} set_member_of_group",
    name="set_member",
    permission=Permission.MANAGE,
)
def set_any_member(group: Name, member: Member, role: Role) -> GroupMember:
    """Add a member to a group, or change what one may do.

    Raises:
        GroupNotFound: there is no such group.
        Conflict: too many members or groups.
    """


@administration(
    "DELETE /v1/admin/groups/{group}/members/{member:path} remove_member_of_group",
    name="remove_member",
    permission=Permission.MANAGE,
)
def remove_any_member(group: Name, member: Member) -> None:
    """Remove a member from a group, also the last one who manages it.

    Raises:
        GroupNotFound: there is no such group or member.
    """
