"""Groups of users who share memories: ``groups list``, ``members``, ``set``, ``remove``, ``create``
and ``delete``."""

from typing import TYPE_CHECKING, Final

from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import RemovedMember
from ricordo.cli.options import AllUsers, Owner, Store, Yes
from ricordo.cli.render import Shown, answer, confirm, working
from ricordo.cli.session import open_store, open_user
from ricordo.cli.tables import Columns, receipt_text, table
from ricordo.errors import InvalidInput
from ricordo.operations import groups as describe

if TYPE_CHECKING:
    from ricordo.model.group import Group, GroupMember, Membership

_MEMBERS: Final[Columns] = {
    "User": "user_id",
    "Role": "role",
    "Added by": lambda one: one.added_by or "the operator",
    "Since (UTC)": "since",
}
_MINE: Final[Columns] = {
    "Group": "group",
    "Title": "title",
    "Role": "role",
    "Members": "members",
    "Since (UTC)": "since",
}
_ALL: Final[Columns] = {
    "Group": "name",
    "Title": "title",
    "Members": "members",
    "Made (UTC)": "created_at",
}
_NONE: Final = "No groups. Make one: ricordo groups create NAME --manager USER"


def list_groups(
    *,
    given: Given = options_of(describe.all_groups),
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """List the groups that a user is in, or with --all-users all groups."""
    found: tuple[Group, ...] | tuple[Membership, ...]
    if all_users:
        with open_store(owner) as store:
            found = store.groups(**given)
    else:
        if given:
            raise InvalidInput(f"--{next(iter(given))} is for all groups: --all-users")
        with open_user(owner) as memory:
            found = memory.groups()
    answer(owner.as_json, found, table(_ALL if all_users else _MINE, _NONE))


def remove(
    *,
    given: Given = options_of(describe.remove_member, group="GROUP", member="USER"),
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """Remove a member from a group, or leave it. With --all-users the operator does it."""
    opened = open_store(owner) if all_users else open_user(owner)
    with opened as memory:
        memory.remove_member(**given)
    done = RemovedMember(group=given["group"], removed=given["member"])
    answer(owner.as_json, done, lambda _: f"{done['removed']} is no longer in {done['group']}.")


def delete(
    *,
    given: Given = options_of(describe.delete_group, group="GROUP"),
    yes: Yes = False,
    store: Store,
) -> None:
    """Remove a group and everything that it shares, for good, and show the receipt."""
    if not yes:
        confirm(f"removes all that group {given['group']!r} shares for good", given["group"])
    with open_store(store) as memory, working("Erasing", wanted=not store.as_json):
        receipt = memory.delete_group(**given)
    answer(store.as_json, receipt, lambda done: receipt_text(done, f"group {given['group']!r}"))


def _put(member: "GroupMember") -> Shown:
    return f"{member.user_id} is in {member.group}: {member.role.value}."


def _made(group: "Group") -> Shown:
    managed = "" if group.members else f" Add a member: ricordo groups set {group.name} USER manage"
    return f"Group {group.name} is made.{managed}{' --all-users' if managed else ''}"


members = command_of(
    describe.members, table(_MEMBERS, "No members."), for_all_users=True, group="GROUP"
)
set_member = command_of(
    describe.set_member,
    _put,
    about="Add a member to a group, or change what one may do: read, write or manage.\n\n"
    "A member who manages the group does it; with --all-users the operator.",
    example="ricordo groups set payments ben write",
    for_all_users=True,
    group="GROUP",
    member="USER",
    role="ROLE",
)
create = command_of(
    describe.create_group,
    _made,
    example="ricordo groups create payments --manager ana",
    group="GROUP",
)
