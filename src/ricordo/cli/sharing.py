"""Consent and what users share: proposals, links, senders, groups; and the profile."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo.cli import tables
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import RemovedMember, Unblocked, Unlinked
from ricordo.cli.render import Shown, TableListing, answer, confirm, working
from ricordo.cli.store import Acting, Actor, AllUsers, Owner, Store, Yes, open_store, open_user
from ricordo.cli.tables import Columns, receipt_text, table
from ricordo.errors import InvalidInput, InvalidValue
from ricordo.model.vocabulary import LinkState
from ricordo.operations import groups as describe_groups
from ricordo.operations import proposals as describe

if TYPE_CHECKING:
    from ricordo.model.group import Group, GroupMember, Membership
    from ricordo.model.item import Added
    from ricordo.model.profile import FieldUpdate, Profile, ProfileUpdate
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

Assignments = Annotated[
    list[str], typer.Argument(metavar="FIELD=VALUE…", help="Fields with what they are to say.")
]
Names = Annotated[list[str], typer.Argument(metavar="FIELD…", help="Fields to remove.")]


def set_fields(
    *,
    fields: Assignments,
    given: Given = options_of(describe.update_user_profile, "fields"),
    acting: Acting,
    owner: Owner,
) -> None:
    """Set fields of a user's profile.

    Without --explicit, what is sensitive waits for consent: ricordo proposals

    Example: ricordo profile set "preferred name=Ana" city=Bekasi --explicit
    """
    with open_user(owner, acting) as memory:
        done = memory.update_user_profile(_parse_fields(fields), **given)
    answer(owner.as_json, done, _update_table)


def unset_fields(
    *,
    fields: Names,
    given: Given = options_of(describe.update_user_profile, "fields", "explicit"),
    acting: Acting,
    owner: Owner,
) -> None:
    """Remove fields from a user's profile; they can be restored like any memory."""
    with open_user(owner, acting) as memory:
        done = memory.update_user_profile(dict.fromkeys(fields), **given)
    answer(owner.as_json, done, _update_table)


def _parse_fields(given: list[str]) -> dict[str, str | None]:
    fields: dict[str, str | None] = {}
    for entry in given:
        name, found, value = entry.partition("=")
        if not found:
            raise InvalidValue("fields", f"{entry!r} is not FIELD=VALUE")
        if name in fields:
            raise InvalidValue("fields", f"{name!r} is given twice")
        fields[name] = value
    return fields


def _profile_table(profile: "Profile") -> Shown:
    note = "\n".join(profile.problems) or None
    if not profile.fields:
        empty = "No fields yet. Set one: ricordo profile set FIELD=VALUE --explicit"
        return empty if note is None else f"{empty}\n{note}"
    rows = [[field.label, field.value, str(field.item_id)] for field in profile.fields]
    return TableListing(["Field", "Value", "Memory"], rows, note)


def _update_table(update: "ProfileUpdate") -> Shown:
    rows = [[field.label, field.outcome.value, _note(field)] for field in update.fields]
    return TableListing(["Field", "Outcome", ""], rows, "\n".join(update.problems) or None)


def _note(field: "FieldUpdate") -> str:
    if field.outcome == "proposed":
        return f"waits for consent: ricordo proposals approve {field.proposal_id}"
    if field.outcome == "waiting":
        return f"stored when said again, or: ricordo proposals approve {field.proposal_id}"
    if field.outcome == "refused":
        return "was turned down before"
    return "" if field.item_id is None else f"memory {field.item_id}"


show = command_of(
    describe.user_profile,
    _profile_table,
    about="Show what the profile of a user says.\n\n"
    "What was edited in USER.md is taken over first.",
)
