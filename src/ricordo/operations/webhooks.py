"""Webhooks: addresses that changes are delivered to, of a user and of the operator."""

from collections.abc import Iterable
from typing import Annotated

from ricordo import limits
from ricordo.model.fields import AsGiven, Choice, Flag, Integer, Several, Text
from ricordo.model.vocabulary import Event, Permission
from ricordo.model.webhook import Webhook, WebhookDelivery, WebhookSecret
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import PageLimit

mine = Catalogue("Webhooks")
administration = Catalogue("Administration: webhooks", of_store=True)

Id = Annotated[str, AsGiven(about="The webhook.", example="wh_4f1c", metavar="ID")]
_ADDRESS = "Where changes are sent: https://…"
Url = Annotated[
    str,
    Text(
        limits.MAX_URL_CHARS, about=_ADDRESS, example="https://example.org/ricordo", metavar="URL"
    ),
]
NewUrl = Annotated[
    str | None,
    Text(
        limits.MAX_URL_CHARS,
        is_optional=True,
        about=_ADDRESS,
        example="https://example.org/ricordo",
        metavar="URL",
    ),
]
_KINDS = Several(
    Choice(Event),
    any_means=(),
    about="Only these kinds of change; any for all of them.",
    example=["ADD", "UPDATE"],
    metavar="EVENT",
)
Events = Annotated[Iterable[Event | str] | Event | str, _KINDS]
NewEvents = Annotated[Iterable[Event | str] | Event | str | None, _KINDS]
Paused = Annotated[
    bool | None, Flag(about="Whether it delivers nothing for now; what happens meanwhile waits.")
]
Deliveries = Annotated[
    int, Integer(1, limits.MAX_KEPT_DELIVERIES, about="How many entries at most.")
]


@mine("GET /v1/webhooks list_webhooks", within_project=True)
def webhooks() -> tuple[Webhook, ...]:
    """The addresses that this user's changes are delivered to, without their secrets.

    Raises:
        PermissionMissing: an agent asks.
    """


@mine("GET /v1/webhooks/{id} read_webhook", within_project=True)
def webhook(id: Id) -> Webhook:
    """One address that this user's changes are delivered to, and how it is doing.

    Raises:
        WebhookNotFound: this user has none with this id.
        PermissionMissing: an agent asks.
    """


@mine("POST /v1/webhooks create_webhook", within_project=True, creates=True)
def create_webhook(url: Url, *, events: Events = "any") -> WebhookSecret:
    """Have changes delivered to an address from now on, in order, as signed requests.

    The answer has the secret that receivers verify requests with; it is shown only this once. In
    the scope of a project only its changes are delivered.

    Raises:
        InvalidValue: it is no address that can be sent to.
        TargetRefused: the address is inside the operator's network.
        PermissionMissing: an agent asks.
        Conflict: there are too many, or there is one to this address.
    """


@mine("PATCH /v1/webhooks/{id} update_webhook", within_project=True)
def update_webhook(
    id: Id, *, url: NewUrl = None, events: NewEvents = None, paused: Paused = None
) -> Webhook:
    """Change what is given of a webhook, pause it or resume it.

    A paused one goes on where it was when it is resumed. With another address, and when it is
    resumed, what failed is tried again at once.

    Raises:
        WebhookNotFound: this user has none with this id.
        InvalidValue: it is no address that can be sent to.
        TargetRefused: the address is inside the operator's network.
        Conflict: there is one to this address.
        PermissionMissing: an agent asks.
    """


@mine("POST /v1/webhooks/{id}/secret rotate_webhook_secret", within_project=True)
def rotate_webhook_secret(id: Id) -> WebhookSecret:
    """Give a webhook a new secret, which is shown only this once.

    For 24 hours requests are signed with the former one, too, so that receivers can change over.

    Raises:
        WebhookNotFound: this user has none with this id.
        PermissionMissing: an agent asks.
    """


@mine("POST /v1/webhooks/{id}/test test_webhook", within_project=True, is_lengthy=True)
def test_webhook(id: Id) -> WebhookDelivery:
    """Send a signed ping to a webhook now, and say what became of it; also where it is paused.

    Raises:
        WebhookNotFound: this user has none with this id.
        PermissionMissing: an agent asks.
    """


@mine("GET /v1/webhooks/{id}/deliveries list_webhook_deliveries", within_project=True)
def webhook_deliveries(
    id: Id, *, limit: Deliveries = limits.DEFAULT_PAGE_ITEMS
) -> tuple[WebhookDelivery, ...]:
    """The last requests of a webhook, the latest first, without what they said.

    Raises:
        WebhookNotFound: this user has none with this id.
        PermissionMissing: an agent asks.
    """


@mine("DELETE /v1/webhooks/{id} delete_webhook", within_project=True)
def delete_webhook(id: Id) -> Webhook:
    """End a webhook, and show it. What waited for it is not delivered.

    Raises:
        WebhookNotFound: this user has none with this id.
        PermissionMissing: an agent asks.
    """


@administration(
    "GET /v1/admin/webhooks list_all_webhooks", name="webhooks", permission=Permission.READ_ALL
)
def all_webhooks(
    *,
    user: Annotated[
        str | None, AsGiven(about="Only those of this user.", metavar="NAME", completes="user")
    ] = None,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    after: Annotated[
        str, AsGiven(about="Where to go on: the id of the last one of the page before.")
    ] = "",
) -> tuple[Webhook, ...]:
    """All webhooks, those of users included, in the order of their ids."""


@administration(
    "GET /v1/admin/webhooks/{id} read_any_webhook", name="webhook", permission=Permission.READ_ALL
)
def any_webhook(id: Id) -> Webhook:
    """One webhook, of the operator or of a user.

    Raises:
        WebhookNotFound: there is none with this id.
    """


@administration(
    "POST /v1/admin/webhooks create_store_webhook",
    name="create_webhook",
    permission=Permission.MANAGE,
    creates=True,
)
def create_store_webhook(url: Url, *, events: Events = "any") -> WebhookSecret:
    """Have the changes of all users delivered to an address from now on, those of groups and of
    global memories included. Each request is about one user.

    Raises:
        InvalidValue: it is no address that can be sent to.
        TargetRefused: the address is inside the operator's network.
        Conflict: there are too many, or there is one to this address.
    """


@administration(
    "PATCH /v1/admin/webhooks/{id} update_any_webhook",
    name="update_webhook",
    permission=Permission.MANAGE,
)
def update_any_webhook(
    id: Id, *, url: NewUrl = None, events: NewEvents = None, paused: Paused = None
) -> Webhook:
    """Change what is given of a webhook of the operator or of a user, pause it or resume it.

    Raises:
        WebhookNotFound: there is none with this id.
        InvalidValue: it is no address that can be sent to.
        TargetRefused: the address is inside the operator's network.
        Conflict: there is one to this address.
    """


@administration(
    "POST /v1/admin/webhooks/{id}/secret rotate_any_webhook_secret",
    name="rotate_webhook_secret",
    permission=Permission.MANAGE,
)
def rotate_any_webhook_secret(id: Id) -> WebhookSecret:
    """Give a webhook a new secret, which is shown only this once.

    Raises:
        WebhookNotFound: there is none with this id.
    """


@administration(
    "POST /v1/admin/webhooks/{id}/test test_any_webhook",
    name="test_webhook",
    permission=Permission.MANAGE,
    is_lengthy=True,
)
def test_any_webhook(id: Id) -> WebhookDelivery:
    """Send a signed ping to a webhook now, and say what became of it; also where it is paused.

    Raises:
        WebhookNotFound: there is none with this id.
    """


@administration(
    "GET /v1/admin/webhooks/{id}/deliveries list_any_webhook_deliveries",
    name="webhook_deliveries",
    permission=Permission.READ_ALL,
)
def any_webhook_deliveries(
    id: Id, *, limit: Deliveries = limits.DEFAULT_PAGE_ITEMS
) -> tuple[WebhookDelivery, ...]:
    """The last requests of a webhook, the latest first, without what they said.

    Raises:
        WebhookNotFound: there is none with this id.
    """


@administration(
    "DELETE /v1/admin/webhooks/{id} delete_any_webhook",
    name="delete_webhook",
    permission=Permission.MANAGE,
)
def delete_any_webhook(id: Id) -> Webhook:
    """End a webhook of the operator or of a user, and show it.

    Raises:
        WebhookNotFound: there is none with this id.
    """
