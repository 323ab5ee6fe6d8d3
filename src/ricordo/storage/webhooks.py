"""Rows of webhooks, of how far each has come, and of what they sent last."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import Conflict, WebhookNotFound
from ricordo.frozen import dataclass
from ricordo.model.activity import Job, NewJob
from ricordo.model.vocabulary import Event, JobState, WebhookState
from ricordo.model.webhook import EVERYBODY, Webhook, WebhookDelivery
from ricordo.storage.backend import Backend
from ricordo.storage.jobs import put_job
from ricordo.storage.sql import Moment
from ricordo.storage.tables import (
    EVENT_IDS,
    STORE_WEBHOOKS,
    jobs,
    store,
    users,
    webhook_cursors,
    webhook_deliveries,
    webhooks,
)

NOTE_JOB: Final = "webhook-changes"
"""Notes that a user has changes to deliver; of nobody, it looks at all users."""

DELIVER_JOB: Final = "webhook"
"""Delivers what waits for one webhook."""

PAUSED_BY_REQUEST: Final = "paused by request"

_SECRETS: Final = ("sealed_secret", "sealed_old_secret")
_SHOWN: Final = [column for column in webhooks.c if column.name not in _SECRETS]
_ACTIVE: Final = webhooks.c.state == WebhookState.ACTIVE.value
_PENDING: Final = webhook_cursors.c.ahead_to > webhook_cursors.c.revision


def _noting(begins_at: str, whose: str = "") -> sa.TextClause:
    """Notes up to where the changes of users go. That never goes back, and they wait since it was
    first noted."""
    return sa.text(
        "INSERT INTO webhook_cursors (user_id, webhook_id, revision, ahead_to, at)"  # noqa: S608 - ours
        f" SELECT user_id, :webhook_id, {begins_at}, revision, :now FROM users"
        f" WHERE revision > 0{whose}"
        " ON CONFLICT (user_id, webhook_id) DO UPDATE SET ahead_to = CASE"
        " WHEN excluded.ahead_to > webhook_cursors.ahead_to THEN excluded.ahead_to"
        " ELSE webhook_cursors.ahead_to END, at = CASE"
        " WHEN webhook_cursors.ahead_to > webhook_cursors.revision THEN webhook_cursors.at"
        " ELSE excluded.at END"
    ).bindparams(sa.bindparam("now", type_=Moment))


_note: Final = _noting("0", " AND user_id = :user_id")
_note_all: Final = _noting("0")
_begin: Final = _noting("revision")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """The encrypted secrets of a webhook: the present one, and the former ones with their ends."""

    secret: str
    old_secret: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a webhook has come with one user, and the message that was begun."""

    user_id: str
    webhook_id: str
    revision: int
    sending_to: int | None
    message_id: str | None


# -- webhooks -----------------------------------------------------------------------------------


def add_webhook(connection: sa.Connection, owner: str, new: Webhook, sealed_secret: str) -> None:
    """Store a new webhook, which begins where each user is now. Raises Conflict: there are too
    many, or there is one to this address."""
    count = sa.select(sa.func.count()).select_from(webhooks).where(webhooks.c.user_id == owner)
    most = limits.MAX_STORE_WEBHOOKS if owner == EVERYBODY else limits.MAX_WEBHOOKS_PER_USER
    if connection.execute(count).scalar_one() >= most:
        raise Conflict(f"there are {most} webhooks, the most allowed: delete one first")
    check_address_is_free(connection, owner, new.id, new.url, new.project_id)
    row = {column.name: getattr(new, column.name) for column in _SHOWN}
    row |= {"user_id": owner, "events": list(new.events), "sealed_secret": sealed_secret}
    connection.execute(sa.insert(webhooks).values(**row))
    if owner == EVERYBODY:
        connection.execute(_begin, {"webhook_id": new.id, "now": new.created_at})
        count_store_webhooks(connection)


def check_address_is_free(
    connection: sa.Connection, owner: str, webhook_id: str, url: str, project: str | None
) -> None:
    """Refuse a second webhook to an address: everything would arrive twice. Raises Conflict: there
    is one."""
    same = sa.select(webhooks.c.id).where(
        webhooks.c.user_id == owner,
        webhooks.c.url == url,
        webhooks.c.id != webhook_id,
        webhooks.c.project_id.is_not_distinct_from(project),
    )
    found = connection.execute(same.limit(1)).scalar_one_or_none()
    if found is not None:
        raise Conflict(f"webhook {found} delivers to this address already: change that one")


def begin_at(connection: sa.Connection, webhook: Webhook, revision: int) -> None:
    """Where a user's own webhook begins."""
    connection.execute(
        sa.insert(webhook_cursors).values(
            user_id=webhook.owner,
            webhook_id=webhook.id,
            revision=revision,
            ahead_to=revision,
            at=webhook.created_at,
        )
    )


def find_webhook(
    connection: sa.Connection, owner: str | None, webhook_id: str, project: str | None = None
) -> Webhook:
    """A webhook of an owner, or of anybody. Raises WebhookNotFound: there is none; or it is not of
    that ``project``."""
    row = connection.execute(_one(sa.select(*_SHOWN), owner, webhook_id)).mappings().one_or_none()
    if row is None or (project is not None and row["project_id"] != project):
        raise WebhookNotFound(webhook_id)
    return _webhook(row)


def list_webhooks(
    connection: sa.Connection,
    owner: str | None,
    *,
    project: str | None = None,
    after: str = "",
    limit: int = limits.MAX_PAGE_ITEMS,
) -> tuple[Webhook, ...]:
    """Webhooks of an owner, or of all, in the order of their ids."""
    wanted = sa.select(*_SHOWN).where(webhooks.c.id > after).order_by(webhooks.c.id).limit(limit)
    if owner is not None:
        wanted = wanted.where(webhooks.c.user_id == owner)
    if project is not None:
        wanted = wanted.where(webhooks.c.project_id == project)
    return tuple(map(_webhook, connection.execute(wanted).mappings()))


def change_webhook(connection: sa.Connection, webhook: Webhook, **values: Any) -> Webhook:
    """Change values of a webhook; what it is then."""
    mine = (webhooks.c.user_id == webhook.owner, webhooks.c.id == webhook.id)
    connection.execute(sa.update(webhooks).where(*mine).values(**values))
    if webhook.owner == EVERYBODY and "state" in values:
        count_store_webhooks(connection)
    return find_webhook(connection, webhook.owner, webhook.id)


def delete_webhook(connection: sa.Connection, webhook: Webhook) -> None:
    """Remove a webhook; one for all users by a transaction that acts for all."""
    for table in (webhook_cursors, webhook_deliveries):
        connection.execute(sa.delete(table).where(table.c.webhook_id == webhook.id))
    mine = (webhooks.c.user_id == webhook.owner, webhooks.c.id == webhook.id)
    connection.execute(sa.delete(webhooks).where(*mine))
    if webhook.owner == EVERYBODY:
        count_store_webhooks(connection)


def sealed_secrets(connection: sa.Connection, webhook: Webhook) -> Sealed:
    """The encrypted secrets of a webhook. Raises WebhookNotFound: it is gone."""
    columns = [webhooks.c[name] for name in _SECRETS]
    row = connection.execute(_one(sa.select(*columns), webhook.owner, webhook.id)).one_or_none()
    if row is None:
        raise WebhookNotFound(webhook.id)
    return Sealed(secret=row.sealed_secret, old_secret=row.sealed_old_secret)


def count_store_webhooks(connection: sa.Connection) -> None:
    """Note how many webhooks for all users are active: every write looks at it."""
    counted = sa.select(sa.func.count()).select_from(webhooks)
    number = connection.execute(counted.where(webhooks.c.user_id == EVERYBODY, _ACTIVE)).scalar()
    noted = sa.update(store).where(store.c.name == STORE_WEBHOOKS).values(number=number)
    if not connection.execute(noted).rowcount and number:
        connection.execute(sa.insert(store).values(name=STORE_WEBHOOKS, number=number))


class WebhookCounts(NamedTuple):
    """How many deliver, are failing, and are paused other than by request."""

    active: int
    failing: int
    paused: int


def count_webhooks(connection: sa.Connection) -> WebhookCounts:
    """How all webhooks are doing."""
    is_failing = sa.and_(_ACTIVE, webhooks.c.failures > 0)
    is_paused = sa.and_(sa.not_(_ACTIVE), webhooks.c.reason != PAUSED_BY_REQUEST)
    columns = [
        sa.func.coalesce(sa.func.sum(sa.case((which, 1), else_=0)), 0)
        for which in (sa.and_(_ACTIVE, webhooks.c.failures == 0), is_failing, is_paused)
    ]
    return WebhookCounts(*connection.execute(sa.select(*columns)).one())


def pause_all(connection: sa.Connection, reason: str, now: datetime) -> None:
    values = {"state": WebhookState.PAUSED.value, "reason": reason, "updated_at": now}
    connection.execute(sa.update(webhooks).where(_ACTIVE).values(**values))
    count_store_webhooks(connection)


def _one(wanted: sa.Select[Any], owner: str | None, webhook_id: str) -> sa.Select[Any]:
    wanted = wanted.where(webhooks.c.id == webhook_id)
    return wanted if owner is None else wanted.where(webhooks.c.user_id == owner)


def _webhook(row: Mapping[Any, Any]) -> Webhook:
    return Webhook(
        **{
            **row,
            "user_id": None if row["user_id"] == EVERYBODY else row["user_id"],
            "events": tuple(map(Event, row["events"])),
            "state": WebhookState(row["state"]),
        }
    )


def is_followed() -> sa.ColumnElement[bool]:
    """Whether a webhook is about a row of ``users``, as a column of its query."""
    active: Any = sa.literal_column(f"'{WebhookState.ACTIVE.value}'")
    own = sa.exists().where(webhooks.c.user_id == users.c.user_id, webhooks.c.state == active)
    name: Any = sa.literal_column(f"'{STORE_WEBHOOKS}'")
    everybodys = sa.exists().where(store.c.name == name, store.c.number > sa.literal_column("0"))
    return sa.or_(own, everybodys).label("is_followed")


# -- what waits ---------------------------------------------------------------------------------


def note_changes(backend: Backend, connection: sa.Connection, user_id: str, now: datetime) -> int:
    """Note for each active webhook up to where a user's changes go, and queue its delivery; how
    many webhooks there are. For all users where ``user_id`` is nobody's."""
    owners = {user_id, EVERYBODY}
    wanted = sa.select(*_SHOWN).where(webhooks.c.user_id.in_(sorted(owners)), _ACTIVE)
    found = [_webhook(row) for row in connection.execute(wanted.order_by(webhooks.c.id)).mappings()]
    for webhook in found:
        given = {"webhook_id": webhook.id, "now": now}
        if user_id == EVERYBODY:
            connection.execute(_note_all, given)
        else:
            connection.execute(_note, {**given, "user_id": user_id})
        if is_pending(connection, webhook.id):
            put_job(backend, connection, delivery_of(webhook, now), now)
    return len(found)


def delivery_of(webhook: Webhook, now: datetime) -> NewJob:
    """The job that delivers to a webhook: now, or when its next attempt is due."""
    at = now if webhook.next_attempt_at is None else max(now, webhook.next_attempt_at)
    return NewJob(kind=DELIVER_JOB, user_id=webhook.owner, run_at=at, unique_key=webhook.id)


def noting(user_id: str, now: datetime) -> NewJob:
    """The job that notes where a webhook begins or is resumed. What was being written at that
    moment did not know of it: it is found a little later."""
    settled = now + timedelta(seconds=limits.WEBHOOK_SETTLE_SECONDS)
    return NewJob(kind=NOTE_JOB, user_id=user_id, run_at=settled)


def is_pending(connection: sa.Connection, webhook_id: str) -> bool:
    waiting = sa.exists().where(webhook_cursors.c.webhook_id == webhook_id, _PENDING)
    return bool(connection.execute(sa.select(waiting)).scalar_one())


def another_delivers(connection: sa.Connection, job: Job, now: datetime) -> bool:
    """Whether another worker is at the same webhook."""
    same = sa.exists().where(
        jobs.c.kind == job.kind,
        jobs.c.user_id == job.user_id,
        jobs.c.unique_key == job.unique_key,
        jobs.c.state == JobState.RUNNING.value,
        jobs.c.lease_until > now,
        jobs.c.id != job.id,
    )
    return bool(connection.execute(sa.select(same)).scalar_one())


def next_cursor(connection: sa.Connection, webhook_id: str) -> Cursor | None:
    """The user whose changes have waited longest for a webhook; a begun message comes first."""
    columns = [webhook_cursors.c[name] for name in Cursor.__dataclass_fields__]
    wanted = (
        sa.select(*columns)
        .where(webhook_cursors.c.webhook_id == webhook_id, _PENDING)
        .order_by(
            sa.case((webhook_cursors.c.message_id.is_(None), 1), else_=0),
            webhook_cursors.c.at,
            webhook_cursors.c.user_id,
        )
        .limit(1)
    )
    row = connection.execute(wanted).mappings().first()
    return None if row is None else Cursor(**row)


def begin_message(
    connection: sa.Connection, cursor: Cursor, message_id: str, sending_to: int
) -> bool:
    """Note what a message is about before it is sent; False where its user was erased."""
    values = {"message_id": message_id, "sending_to": sending_to}
    begun = sa.update(webhook_cursors).where(*_at(cursor)).values(**values)
    return connection.execute(begun).rowcount == 1


def advance(connection: sa.Connection, cursor: Cursor, revision: int, now: datetime) -> bool:
    """Go on after a revision; False where the user was erased, or another worker was faster."""
    values = {"revision": revision, "message_id": None, "sending_to": None, "at": now}
    moved = sa.update(webhook_cursors).where(*_at(cursor)).values(**values)
    return connection.execute(moved).rowcount == 1


def drop_cursor(connection: sa.Connection, cursor: Cursor) -> None:
    connection.execute(sa.delete(webhook_cursors).where(*_at(cursor)))


def _at(cursor: Cursor) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        webhook_cursors.c.user_id == cursor.user_id,
        webhook_cursors.c.webhook_id == cursor.webhook_id,
        webhook_cursors.c.revision == cursor.revision,
    )


# -- deliveries ---------------------------------------------------------------------------------


def add_delivery(
    backend: Backend, connection: sa.Connection, owner: str, one: WebhookDelivery
) -> WebhookDelivery:
    """Keep a delivery, and not more than the latest; with its number."""
    (number,) = backend.take_ids(connection, EVENT_IDS, 1)
    row = {column.name: getattr(one, column.name) for column in webhook_deliveries.c}
    row |= {"id": number, "user_id": owner}
    connection.execute(sa.insert(webhook_deliveries).values(**row))
    mine = webhook_deliveries.c.webhook_id == one.webhook_id
    oldest = (
        sa.select(webhook_deliveries.c.id)
        .where(mine)
        .order_by(webhook_deliveries.c.id.desc())
        .offset(limits.MAX_KEPT_DELIVERIES)
        .limit(1)
    )
    last: int | None = connection.execute(oldest).scalar_one_or_none()
    if last is not None:
        connection.execute(
            sa.delete(webhook_deliveries).where(mine, webhook_deliveries.c.id <= last)
        )
    return _delivery(row)


def list_deliveries(
    connection: sa.Connection, webhook: Webhook, limit: int
) -> tuple[WebhookDelivery, ...]:
    """The latest deliveries of a webhook, the latest first."""
    wanted = (
        sa.select(webhook_deliveries)
        .where(webhook_deliveries.c.webhook_id == webhook.id)
        .order_by(webhook_deliveries.c.id.desc())
        .limit(limit)
    )
    if webhook.owner != EVERYBODY:
        wanted = wanted.where(webhook_deliveries.c.user_id == webhook.owner)
    return tuple(map(_delivery, connection.execute(wanted).mappings()))


def user_is_there(connection: sa.Connection, user_id: str) -> bool:
    """Whether a user exists; if so, nobody can erase them before the transaction ends."""
    wanted = sa.select(users.c.user_id).where(users.c.user_id == user_id)
    found = connection.execute(wanted.with_for_update(read=True, key_share=True))
    return found.first() is not None


def _delivery(row: Mapping[Any, Any]) -> WebhookDelivery:
    user_id = None if row["user_id"] == EVERYBODY else row["user_id"]
    return WebhookDelivery(**{**row, "user_id": user_id, "delivered": bool(row["delivered"])})
