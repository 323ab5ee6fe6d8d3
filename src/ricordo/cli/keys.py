"""Keys of the service (``keys list``, ``show``, ``create``, ``revoke`` and ``check``) and programs
that users let in with OAuth (``programs list`` and ``revoke``)."""

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ricordo import limits
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.render import Shown, answer
from ricordo.cli.store import Store, open_store
from ricordo.cli.tables import Columns, moment_text, table
from ricordo.operations import maintenance
from ricordo.operations import store as describe

if TYPE_CHECKING:
    from ricordo.model.scope import ApiKey, CreatedKey

KEY_VARIABLE: Final = "RICORDO_API_KEY"

_OF_USER: Final = "--user -u"
_COLOURS: Final = {"revoked": "red"}


def list_keys(
    *,
    given: Given = options_of(describe.keys, user=_OF_USER, include_revoked="--all"),
    store: Store,
) -> None:
    """List the keys of the service, the newest first; the keys themselves are not kept."""
    with open_store(store) as memory:
        page = memory.keys(**given)
        is_any = bool(page) or memory.has_keys()
    empty = "No keys here." if is_any else "No keys yet. Make one: ricordo keys create NAME"
    answer(store.as_json, page, table(_COLUMNS, empty, colours=_COLOURS))


def check(*, store: Store) -> None:
    """Check whether a key is valid, and whose it is.

    The key is read from the variable RICORDO_API_KEY, or else from standard input: on the command
    line others could see it.
    """
    secret = os.environ.get(KEY_VARIABLE) or sys.stdin.read(limits.MAX_API_KEY_CHARS)
    with open_store(store) as memory:
        key = memory.authenticate(secret.strip())
    answer(store.as_json, key, lambda found: f"Good: {found.name}, {_acts_for(found)}.")


def _created_text(made: "CreatedKey") -> Shown:
    key = made.key
    until = "" if key.expires_at is None else f", until {moment_text(key.expires_at)} UTC"
    return (
        f"{made.secret}\n"
        f"Key {key.id} ({key.name}), {_acts_for(key)}{until}.\n"
        "It is not kept and not shown again: copy it now."
    )


def _acts_for(key: "ApiKey") -> str:
    if key.user_id is None:
        allowed = ", ".join(key.permissions)
        return f"for any user that a request names{f'; may also: {allowed}' if allowed else ''}"
    if key.agent_id is None:
        return f"for user {key.user_id!r}"
    kept_to = "" if key.categories is None else f", only {', '.join(key.categories)}"
    return f"for agent {key.agent_id!r} of user {key.user_id!r}{kept_to}"


def _state_text(key: "ApiKey") -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "good"
    ends = moment_text(key.expires_at)
    return f"good until {ends}" if key.expires_at > datetime.now(UTC) else f"expired {ends}"


_COLUMNS: Final[Columns] = {
    "Id": "id",
    "Name": "name",
    "Acts": _acts_for,
    "Made (UTC)": "created_at",
    "Used (UTC)": "last_used_at",
    "Status": _state_text,
}

show = command_of(
    describe.key,
    lambda found: table(_COLUMNS, colours=_COLOURS)([found]),
    about="Show one key, also one that was revoked; the key itself is not kept.",
)
create = command_of(
    describe.create_key,
    _created_text,
    about="Create a key of the service, and show it this once.\n\n"
    "With --user it acts for that user, with --agent as well it is that agent's. With neither it"
    " acts for whom each request names.",
    example='ricordo keys create "open webui" --permission read_all',
    user=_OF_USER,
    categories="--category",
    permissions="--permission",
)
revoke = command_of(describe.revoke_key, lambda key: f"Key {key.id} ({key.name}) is revoked.")

_PROGRAMS: Final[Columns] = {
    "Id": "id",
    "Program": "client_name",
    "May": lambda grant: ", ".join(grant.scopes),
    "Allowed (UTC)": "created_at",
    "Used (UTC)": "last_used_at",
    "Until (UTC)": "expires_at",
}
programs = command_of(
    maintenance.grants,
    table(_PROGRAMS, "No program is connected."),
    about="List the programs that a user let in by signing in with OAuth, the newest first.",
)
revoke_program = command_of(
    maintenance.revoke_grant,
    lambda grant: f"{grant.client_name} ({grant.id}) is refused from now on.",
    about="Disconnect a program: it is refused from now on.",
)
