"""What the service lets in and tells: keys, programs that users let in with OAuth, webhooks."""

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ricordo import limits
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.render import Shown, answer
from ricordo.cli.store import AllUsers, Owner, Store, open_store, open_user
from ricordo.cli.tables import Columns, anything, moment_text, table
from ricordo.errors import InvalidInput
from ricordo.operations import maintenance
from ricordo.operations import store as describe
from ricordo.operations import webhooks as describe_webhooks

if TYPE_CHECKING:
    from ricordo.model.scope import ApiKey, CreatedKey
    from ricordo.model.webhook import Webhook, WebhookDelivery, WebhookSecret

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

show_key = command_of(
    describe.key,
    lambda found: table(_COLUMNS, colours=_COLOURS)([found]),
    about="Show one key, also one that was revoked; the key itself is not kept.",
)
create_key = command_of(
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


def _webhook_state(one: "Webhook") -> str:
    if one.reason is not None:
        return f"{one.state}: {one.reason}"
    if one.failures and one.next_attempt_at is not None:
        again = moment_text(one.next_attempt_at)
        return f"failing ({one.failures}), again {again}: {one.last_error}"
    return one.state


def _revisions(one: "WebhookDelivery") -> str:
    return "" if one.first_revision is None else f"{one.first_revision} to {one.last_revision}"


_WEBHOOKS: Final[Columns] = {
    "Id": "id",
    "Whose": lambda one: "all users" if one.user_id is None else one.user_id,
    "URL": "url",
    "Events": lambda one: ", ".join(one.events) or "all",
    "Delivered (UTC)": "last_delivered_at",
    "Status": _webhook_state,
}
_DELIVERIES: Final[Columns] = {
    "At (UTC)": "at",
    "Type": "type",
    "Whose": lambda one: one.user_id or "",
    "Revisions": _revisions,
    "Changes": "changes",
    "Attempt": "attempt",
    "Ms": "milliseconds",
    "Result": lambda one: str(one.status) if one.delivered else one.error,
}
_NONE: Final = "No webhooks. Make one: ricordo webhooks create https://…"


def list_webhooks(
    *,
    given: Given = options_of(describe_webhooks.all_webhooks, "user"),
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """List the addresses that a user's changes are delivered to, or with --all-users all."""
    if all_users:
        with open_store(owner) as store:
            found = store.webhooks(**given)
    else:
        if given:
            raise InvalidInput(f"--{next(iter(given))} is for all webhooks: --all-users")
        with open_user(owner) as memory:
            found = memory.webhooks()
    answer(owner.as_json, found, table(_WEBHOOKS, _NONE))


def _secret_text(made: "WebhookSecret") -> Shown:
    return (
        f"{made.secret}\n"
        f"Webhook {made.webhook.id} to {made.webhook.url}.\n"
        "The secret is not shown again: copy it now."
    )


def _tested(one: "WebhookDelivery") -> Shown:
    if one.delivered:
        return f"Delivered in {one.milliseconds} ms: answered {one.status}."
    return f"Not delivered: {one.error}."


show_webhook = command_of(
    describe_webhooks.webhook,
    anything,
    about="Show one webhook, and how it is doing.",
    for_all_users=True,
)
create_webhook = command_of(
    describe_webhooks.create_webhook,
    _secret_text,
    about="Deliver changes to an address from now on, and show the secret this once.\n\n"
    "They are those of one user; with --all-users those of everybody.",
    example="ricordo webhooks create https://example.org/ricordo --event ADD --event UPDATE",
    for_all_users=True,
    events="--event",
)
update = command_of(
    describe_webhooks.update_webhook,
    lambda one: f"{one.id} to {one.url}: {_webhook_state(one)}.",
    about="Change the address or the kinds of change of a webhook, pause it or resume it.",
    example="ricordo webhooks update wh_4f1c --no-paused",
    for_all_users=True,
    events="--event",
)
rotate = command_of(
    describe_webhooks.rotate_webhook_secret,
    _secret_text,
    about="Give a webhook a new secret, and show it this once.\n\n"
    "For 24 hours requests are signed with the former one, too.",
    for_all_users=True,
)
test = command_of(
    describe_webhooks.test_webhook,
    _tested,
    about="Send a signed ping to a webhook, and show the result.",
    doing="Sending",
    for_all_users=True,
)
deliveries = command_of(
    describe_webhooks.webhook_deliveries,
    table(_DELIVERIES, "Nothing was sent yet."),
    about="List the last requests of a webhook, the latest first.",
    for_all_users=True,
)
delete = command_of(
    describe_webhooks.delete_webhook,
    lambda one: f"Webhook {one.id} to {one.url} is deleted.",
    about="Delete a webhook. What waited for it is not delivered.",
    for_all_users=True,
)
