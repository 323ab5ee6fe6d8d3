"""Keys of the service: ``keys list``, ``show``, ``create``, ``revoke`` and ``check``."""

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo import limits
from ricordo.cli.options import Cursor, Limit, Named, Store, completing, completing_names, words
from ricordo.cli.render import Shown, TableListing, answer
from ricordo.cli.session import open_store
from ricordo.cli.tables import moment_text, more_text
from ricordo.model.vocabulary import Permission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ricordo.model.record import Page
    from ricordo.model.scope import ApiKey, CreatedKey

KEY_VARIABLE: Final = "RICORDO_API_KEY"

KeyName = Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")]
KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as the list shows it.")]
OfUser = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        help="The one user that it is for.",
        autocompletion=completing_names(Named.USER),
    ),
]
OfAgent = Annotated[
    str | None,
    typer.Option("--agent", metavar="ID", help="The agent of that user whose key it is."),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="THEME",
        help="All that the agent can read and write; repeatable.",
        autocompletion=completing_names(Named.THEME),
    ),
]
Permissions = Annotated[
    list[str] | None,
    typer.Option(
        "--permission",
        metavar="WORD",
        help=f"Of a key without user: {words(Permission)}; of an agent: share; repeatable.",
        autocompletion=completing(Permission),
    ),
]
ExpiresDays = Annotated[
    int | None,
    typer.Option(
        "--expires-days",
        metavar="N",
        help=f"Let it expire after so many days (1 to {limits.MAX_KEY_DAYS}).",
    ),
]
AlsoRevoked = Annotated[bool, typer.Option("--all", help="Also those that were revoked.")]


def create(
    *,
    name: KeyName,
    of_user: OfUser = None,
    agent: OfAgent = None,
    categories: Categories = None,
    permissions: Permissions = None,
    expires_days: ExpiresDays = None,
    store: Store,
) -> None:
    """Make a key of the service, and show it this once.

    With --user it acts for that user, with --agent as well it is that agent's. With neither it
    acts for whom each request names.

    Example: ricordo keys create "open webui" --permission read_all
    """
    with open_store(store) as memory:
        made = memory.create_key(
            name,
            user=of_user,
            agent=agent,
            categories=categories,
            permissions=permissions or (),
            expires_days=expires_days,
        )
    answer(store.as_json, made, _created_text)


def list_keys(
    *,
    of_user: OfUser = None,
    include_revoked: AlsoRevoked = False,
    limit: Limit = limits.DEFAULT_PAGE_ITEMS,
    cursor: Cursor = None,
    store: Store,
) -> None:
    """List the keys of the service, the newest first; the keys themselves are not kept."""
    with open_store(store) as memory:
        page = memory.keys(
            user=of_user, include_revoked=include_revoked, limit=limit, cursor=cursor
        )
        is_any = bool(page) or memory.has_keys()
    answer(store.as_json, page, lambda found: _key_table(found, is_any))


def show(*, key_id: KeyId, store: Store) -> None:
    """Show one key, also one that was revoked; the key itself is not kept."""
    with open_store(store) as memory:
        key = memory.key(key_id)
    answer(store.as_json, key, lambda found: _rows_of([found]))


def revoke(*, key_id: KeyId, store: Store) -> None:
    """End a key: from now on it is refused."""
    with open_store(store) as memory:
        key = memory.revoke_key(key_id)
    answer(store.as_json, key, lambda _: f"Key {key.id} ({key.name}) is revoked.")


def check(*, store: Store) -> None:
    """See whether a key is good, and whose it is.

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


def _key_table(page: "Page[ApiKey]", is_any: bool) -> Shown:
    if not page.items:
        return "No keys here." if is_any else "No keys yet. Make one: ricordo keys create NAME"
    return _rows_of(page.items, more_text(page.next_cursor))


def _rows_of(keys: "Iterable[ApiKey]", more: str | None = None) -> TableListing:
    now = datetime.now(UTC)
    rows = [
        [
            key.id,
            key.name,
            _acts_for(key),
            moment_text(key.created_at),
            "" if key.last_used_at is None else moment_text(key.last_used_at),
            _state_text(key, now),
        ]
        for key in keys
    ]
    headings = ["Id", "Name", "Acts", "Made (UTC)", "Used (UTC)", "Standing"]
    return TableListing(headings, rows, more, {"revoked": "red"})


def _state_text(key: "ApiKey", now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "good"
    ends = moment_text(key.expires_at)
    return f"good until {ends}" if key.expires_at > now else f"expired {ends}"
