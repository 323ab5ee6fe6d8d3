"""Webhooks: addresses that changes are delivered to."""

from datetime import datetime
from typing import Any, Final

from ricordo.frozen import dataclass
from ricordo.model.activity import STORE_JOB_USER
from ricordo.model.item import Changes
from ricordo.model.record import Record, plain
from ricordo.model.vocabulary import Event, WebhookState

EVERYBODY: Final = STORE_JOB_USER
"""Whom a webhook of the operator belongs to: nobody, so that it is about all users."""

CHANGES_TYPE: Final = "memory.changes"
PING_TYPE: Final = "webhook.ping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook(Record):
    """An address that changes are delivered to, in order.

    ``user_id`` is whose changes; None for those of all users, which only an operator has.
    ``events`` are the kinds of change that are delivered; without any, all of them. ``reason`` says
    why it is paused. After a failure, ``failures`` counts the attempts in vain since
    ``failing_since``, and the next one is at ``next_attempt_at``. Until ``old_secret_until`` the
    secret before the last rotation signs, too.
    """

    id: str
    user_id: str | None
    url: str
    events: tuple[Event, ...]
    project_id: str | None
    state: WebhookState
    reason: str | None
    failures: int
    failing_since: datetime | None
    next_attempt_at: datetime | None
    last_error: str | None
    last_delivered_at: datetime | None
    old_secret_until: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def owner(self) -> str:
        return EVERYBODY if self.user_id is None else self.user_id


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSecret(Record):
    """A webhook with the secret that signs what it sends: it is shown only this once."""

    webhook: Webhook
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery(Record):
    """One request to the address of a webhook.

    ``message_id`` is its ``webhook-id``, the same for every attempt. It was about the ``changes``
    of ``user_id`` from ``first_revision`` to ``last_revision``; a ping is about none. ``status`` is
    that of the answer, if there was one.
    """

    id: int
    webhook_id: str
    message_id: str
    type: str
    user_id: str | None
    first_revision: int | None
    last_revision: int | None
    changes: int
    at: datetime
    attempt: int
    delivered: bool
    status: int | None
    milliseconds: int
    error: str | None


def changes_message(webhook_id: str, user_id: str, changes: Changes) -> dict[str, Any]:
    """The body of a request about changes of a user: what the feed would answer, and whose."""
    about = {"webhook_id": webhook_id, "user_id": user_id, **changes.to_dict()}
    return _message(CHANGES_TYPE, changes.changes[-1].at, about)


def ping_message(webhook: Webhook, now: datetime) -> dict[str, Any]:
    return _message(PING_TYPE, now, {"webhook_id": webhook.id, "user_id": webhook.user_id})


def _message(kind: str, at: datetime, data: dict[str, Any]) -> dict[str, Any]:
    """In the form that the Standard Webhooks specification recommends."""
    return {"type": kind, "timestamp": plain(at), "data": data}
