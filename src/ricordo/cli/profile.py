"""The profile of a user: ``profile``, ``profile set`` and ``profile unset``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.render import Shown, TableListing, answer
from ricordo.cli.store import Acting, Owner, open_user
from ricordo.errors import InvalidValue
from ricordo.operations import proposals as describe

if TYPE_CHECKING:
    from ricordo.model.profile import FieldUpdate, Profile, ProfileUpdate

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
