"""Webhooks: ``webhooks list``, ``show``, ``create``, ``update``, ``rotate``, ``test``,
``deliveries`` and ``delete``; with ``--all-users`` those of the operator and of anybody."""

from typing import TYPE_CHECKING, Final

from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.render import Shown, answer
from ricordo.cli.store import AllUsers, Owner, open_store, open_user
from ricordo.cli.tables import Columns, anything, moment_text, table
from ricordo.errors import InvalidInput
from ricordo.operations import webhooks as describe

if TYPE_CHECKING:
    from ricordo.model.webhook import Webhook, WebhookDelivery, WebhookSecret


def _state_text(one: "Webhook") -> str:
    if one.reason is not None:
        return f"{one.state}: {one.reason}"
    if one.failures and one.next_attempt_at is not None:
        again = moment_text(one.next_attempt_at)
        return f"failing ({one.failures}), again {again}: {one.last_error}"
    return one.state


def _revisions(one: "WebhookDelivery") -> str:
    return "" if one.first_revision is None else f"{one.first_revision} to {one.last_revision}"


_COLUMNS: Final[Columns] = {
    "Id": "id",
    "Whose": lambda one: "all users" if one.user_id is None else one.user_id,
    "URL": "url",
    "Events": lambda one: ", ".join(one.events) or "all",
    "Delivered (UTC)": "last_delivered_at",
    "Status": _state_text,
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
    given: Given = options_of(describe.all_webhooks, "user"),
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
    answer(owner.as_json, found, table(_COLUMNS, _NONE))


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


show = command_of(
    describe.webhook,
    anything,
    about="Show one webhook, and how it is doing.",
    for_all_users=True,
)
create = command_of(
    describe.create_webhook,
    _secret_text,
    about="Deliver changes to an address from now on, and show the secret this once.\n\n"
    "They are those of one user; with --all-users those of everybody.",
    example="ricordo webhooks create https://example.org/ricordo --event ADD --event UPDATE",
    for_all_users=True,
    events="--event",
)
update = command_of(
    describe.update_webhook,
    lambda one: f"{one.id} to {one.url}: {_state_text(one)}.",
    about="Change the address or the kinds of change of a webhook, pause it or resume it.",
    example="ricordo webhooks update wh_4f1c --no-paused",
    for_all_users=True,
    events="--event",
)
rotate = command_of(
    describe.rotate_webhook_secret,
    _secret_text,
    about="Give a webhook a new secret, and show it this once.\n\n"
    "For 24 hours requests are signed with the former one, too.",
    for_all_users=True,
)
test = command_of(
    describe.test_webhook,
    _tested,
    about="Send a signed ping to a webhook, and show the result.",
    doing="Sending",
    for_all_users=True,
)
deliveries = command_of(
    describe.webhook_deliveries,
    table(_DELIVERIES, "Nothing was sent yet."),
    about="List the last requests of a webhook, the latest first.",
    for_all_users=True,
)
delete = command_of(
    describe.delete_webhook,
    lambda one: f"Webhook {one.id} to {one.url} is deleted.",
    about="Delete a webhook. What waited for it is not delivered.",
    for_all_users=True,
)
