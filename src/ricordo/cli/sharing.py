"""What users share: links, offers and their senders, groups, and what waits for consent."""

from typing import TYPE_CHECKING, Final

from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import RemovedMember, Unblocked, Unlinked
from ricordo.cli.render import Shown, answer, confirm, working
from ricordo.cli.store import Acting, Actor, AllUsers, Owner, Store, Yes, open_store, open_user
from ricordo.cli.tables import Columns, receipt_text, table
from ricordo.errors import InvalidInput
from ricordo.model.vocabulary import LinkState
from ricordo.operations import groups as describe_groups
from ricordo.operations import proposals as describe

if TYPE_CHECKING:
    from ricordo.model.group import Group, GroupMember, Membership
    from ricordo.model.item import Added
    from ricordo.model.proposal import Link


def unlink(
    *,
    given: Given = options_of(describe.unlink, with_user="USER"),
    actor: Actor = None,
    owner: Owner,
) -> None:
    """Take a shared memory out of a user's sight, or withdraw the offer of it.

    Without USER, out of your own sight.
    """
    with open_user(owner, Acting(actor=actor)) as memory:
        memory.unlink(**given)
    done = Unlinked(id=given["id"], unlinked=given.get("with_user", owner.user))
    answer(owner.as_json, done, lambda _: f"{done['unlinked']} no longer sees {done['id']}.")


def links(*, given: Given = options_of(describe.links), owner: Owner) -> None:
    """List the users whom a memory is shared with or offered to."""
    with open_user(owner) as memory:
        found = memory.links(**given)
    empty = f"Shared with nobody. Offer it: ricordo link {given['id']} USER"
    answer(owner.as_json, found, tables.link_table(empty))


def unblock(
    *, given: Given = options_of(describe.unblock_sender, sender="USER"), owner: Owner
) -> None:
    """Let another user offer memories again."""
    with open_user(owner) as memory:
        memory.unblock_sender(**given)
    done = Unblocked(unblocked=given["sender"])
    answer(owner.as_json, done, lambda _: f"{given['sender']} can offer you memories again.")


def _approved(added: "Added") -> str:
    if added.duplicate:
        return f"Approved; memory {added.id} says so already."
    return f"Approved; {'updated' if added.updated else 'stored as'} memory {added.id}."


def _linked(made: "Link") -> str:
    if made.state is LinkState.ACCEPTED:
        return f"Memory {made.id} is shared with {made.user_id}."
    return f"Memory {made.id} is offered to {made.user_id}, who sees it once they accept it."


list_proposals = command_of(describe.proposals, tables.proposal_table)
approve = command_of(describe.approve, _approved, names_actor=True)
reject = command_of(
    describe.reject,
    lambda one: f"Proposal {one.id} is turned down and forgotten.",
    names_actor=True,
)
link = command_of(describe.link, _linked, names_actor=True, with_user="USER")
links_of = command_of(
    describe.links_of,
    tables.link_table("Shared with nobody.", with_id=True),
    about="List the users whom several memories are shared with or offered to.",
    ids="ID",
)
blocked = command_of(describe.blocked_senders, tables.blocked_table)
block = command_of(
    describe.block_sender,
    lambda one: f"{one.user_id} can offer you nothing any more.",
    sender="USER",
)

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
    given: Given = options_of(describe_groups.all_groups),
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
    given: Given = options_of(describe_groups.remove_member, group="GROUP", member="USER"),
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
    given: Given = options_of(describe_groups.delete_group, group="GROUP"),
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
    describe_groups.members, table(_MEMBERS, "No members."), for_all_users=True, group="GROUP"
)
set_member = command_of(
    describe_groups.set_member,
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
    describe_groups.create_group,
    _made,
    example="ricordo groups create payments --manager ana",
    group="GROUP",
)
