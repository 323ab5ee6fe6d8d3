"""Delivers changes to webhooks: in order, at least once, again after failures.

Two jobs: a write queues the first in its transaction, which notes for each webhook that there is
something to deliver; the second delivers for one webhook. A message is noted before it is sent, and
what it has is read when it is sent: also when it is sent again, it says nothing of what was erased.
"""

import logging
import random
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from ricordo import limits
from ricordo.access.webhook_signatures import former_secrets, signed_headers
from ricordo.errors import EmbeddingError, WebhookNotFound
from ricordo.frozen import dataclass, replace
from ricordo.jobs.runner import JobContext
from ricordo.model.activity import Postpone
from ricordo.model.item import Change, Changes
from ricordo.model.vocabulary import WebhookState
from ricordo.model.webhook import (
    CHANGES_TYPE,
    EVERYBODY,
    PING_TYPE,
    Webhook,
    WebhookDelivery,
    changes_message,
    ping_message,
)
from ricordo.providers.encryption import SecretBox
from ricordo.providers.endpoint import json_body
from ricordo.providers.webhook_sender import Answer, Post, WebhookSender
from ricordo.storage import webhooks as rows
from ricordo.storage.database import Database, retried
from ricordo.storage.history import changes_since
from ricordo.storage.webhooks import Cursor

_GONE: Final = 410
_log = logging.getLogger(__name__)
_HOURS: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """Some changes of one user, for one webhook."""

    cursor: Cursor
    changes: Changes
    last: int
    """The revision after which the next message begins."""


def message_id() -> str:
    return f"msg_{secrets.token_hex(16)}"


class WebhookDeliveries:
    """Delivers to webhooks."""

    def __init__(
        self,
        database: Database,
        box: SecretBox,
        sender: WebhookSender,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.database = database
        self.sender = sender
        self._box = box
        self._jitter = jitter

    def note(self, run: JobContext) -> None:
        """Note what a user has for webhooks, and queue that it is delivered."""
        if self._note(run.job.user_id):
            self.database.on_job_queued()

    @retried
    def _note(self, user_id: str) -> int:
        now = self.database.clock()
        with self.database.transaction() as connection:
            if user_id != EVERYBODY and not rows.user_is_there(connection, user_id):
                return 0
            return rows.note_changes(self.database.backend, connection, user_id, now)

    def deliver(self, run: JobContext) -> None:
        """Deliver all that waits for a webhook. Raises Postpone: another worker is at it, its next
        attempt comes later, or the time is up."""
        with self.database.read_all() as view:
            if rows.another_delivers(view.connection, run.job, view.now):
                later = view.now + timedelta(seconds=limits.WEBHOOK_YIELD_SECONDS)
                raise Postpone(later, "another worker delivers to this webhook")
        done = 0
        webhook = self._due(run)
        while webhook is not None:
            with self.sender.to(webhook.url) as post:
                present = webhook
                while present.url == webhook.url:
                    message = self._next(present, run)
                    if message is None:
                        return
                    done += self._send(present, message, post)
                    run.report(f"{done} changes delivered")
                    found = self._due(run)
                    if found is None:
                        return
                    present = found
            webhook = present

    def _due(self, run: JobContext) -> Webhook | None:
        """The webhook, as it is now; None where it delivers no more. Raises Postpone: its next
        attempt comes later."""
        with self.database.read_all() as view:
            try:
                found = rows.find_webhook(view.connection, run.job.user_id, run.job.unique_key)
            except WebhookNotFound:
                return None
        if found.state is not WebhookState.ACTIVE:
            return None
        if found.next_attempt_at is not None and found.next_attempt_at > view.now:
            raise Postpone(found.next_attempt_at, found.last_error or "the last attempt failed")
        return found

    # -- what is sent --------------------------------------------------------------------------

    def _next(self, webhook: Webhook, run: JobContext) -> _Message | None:
        """The next message, noted as begun; None where nothing waits."""
        while True:
            with self.database.read_all() as view:
                cursor = rows.next_cursor(view.connection, webhook.id)
            if cursor is None:
                return None
            message = self._message(webhook, cursor)
            if not message.changes.changes:
                self._skip(message)
                run.report("looking for what is wanted")
            elif cursor.message_id is not None:
                return message
            elif (begun := self._begin(message)) is not None:
                return begun

    def _message(self, webhook: Webhook, cursor: Cursor) -> _Message:
        with self.database.read(cursor.user_id) as view:
            found = changes_since(
                *(view.connection, cursor.user_id, cursor.revision),
                limits.MAX_WEBHOOK_CHANGES,
                webhook.project_id,
                events=webhook.events,
                up_to=cursor.sending_to,
            )
        if cursor.sending_to is not None:  # more may have come since it was begun
            is_more = found.revision > cursor.sending_to
            changes = replace(found, more=found.more or is_more)
            return _Message(cursor=cursor, changes=changes, last=cursor.sending_to)
        fitting = _fitting(found.changes)
        is_more = found.more or len(fitting) < len(found.changes)
        last = fitting[-1].revision if is_more and fitting else found.revision
        return _Message(
            cursor=cursor, changes=replace(found, changes=fitting, more=is_more), last=last
        )

    @retried
    def _begin(self, message: _Message) -> _Message | None:
        named = message_id()
        with self.database.transaction() as connection:
            begun = rows.begin_message(connection, message.cursor, named, message.last)
        if not begun:
            return None
        cursor = replace(message.cursor, message_id=named, sending_to=message.last)
        return replace(message, cursor=cursor)

    @retried
    def _skip(self, message: _Message) -> None:
        """Go on after changes of other kinds, or of a user who was erased."""
        with self.database.transaction() as connection:
            if message.last > message.cursor.revision:
                rows.advance(connection, message.cursor, message.last, self.database.clock())
            else:  # the feed begins again
                rows.drop_cursor(connection, message.cursor)

    def _send(self, webhook: Webhook, message: _Message, post: Post) -> int:
        """Send a message; how many changes were delivered. Raises Postpone: it failed, and is sent
        again."""
        body = changes_message(webhook.id, message.cursor.user_id, message.changes)
        answer = self._post(webhook, str(message.cursor.message_id), body, post)
        after = self._record(webhook, message, answer)
        if after is not None and after.next_attempt_at is not None:
            raise Postpone(after.next_attempt_at, after.last_error or "it failed")
        return len(message.changes) if answer.is_good else 0

    def _post(self, webhook: Webhook, named: str, body: object, post: Post) -> Answer:
        try:
            signing = self.signing_secrets(webhook)
        except EmbeddingError as problem:  # the key that it was encrypted with is gone
            return Answer(status=None, error=str(problem), pause_seconds=None, milliseconds=0)
        content = json_body(body)
        return post(signed_headers(signing, named, self.database.clock(), content), content)

    def signing_secrets(self, webhook: Webhook) -> list[str]:
        """The secrets that are valid now, the newest first. Raises EmbedderRefused: they cannot be
        decrypted."""
        with self.database.read(webhook.owner) as view:
            sealed = rows.sealed_secrets(view.connection, webhook)
        former: list[tuple[str, datetime]] = []
        if sealed.old_secret is not None:
            former = former_secrets(self._box.open(sealed.old_secret), self.database.clock())
        return [self._box.open(sealed.secret), *(secret for secret, _ in former)]

    # -- what became of it ---------------------------------------------------------------------

    @retried
    def _record(self, webhook: Webhook, message: _Message, answer: Answer) -> Webhook | None:
        """Note what became of a message; the webhook then, None where it is gone."""
        cursor, now = message.cursor, self.database.clock()
        with self.database.transaction() as connection:
            if not rows.user_is_there(connection, cursor.user_id):
                return None
            if answer.is_good and not rows.advance(connection, cursor, message.last, now):
                return None
            try:
                present = rows.find_webhook(connection, webhook.owner, webhook.id)
            except WebhookNotFound:
                return None
            sent = message.changes.changes
            delivery = delivery_record(
                webhook,
                str(cursor.message_id),
                CHANGES_TYPE,
                now,
                answer,
                about=(sent[0].revision, sent[-1].revision, len(sent)),
                attempt=present.failures + 1,
            )
            rows.add_delivery(self.database.backend, connection, cursor.user_id, delivery)
            values = _on_success(now) if answer.is_good else self._on_failure(present, answer, now)
            changed = rows.change_webhook(connection, present, **values)
        if changed.state is WebhookState.PAUSED and present.state is WebhookState.ACTIVE:
            _log.warning("webhook %s is paused: %s", changed.id, changed.reason)
        return changed

    def _on_failure(self, webhook: Webhook, answer: Answer, now: datetime) -> dict[str, object]:
        failures = webhook.failures + 1
        since = webhook.failing_since or now
        noted: dict[str, object] = {
            "failures": failures,
            "failing_since": since,
            "last_error": answer.error,
            "next_attempt_at": None,
        }
        given_up = None
        if answer.status == _GONE:
            given_up = "the receiver answered 410: it is gone for good"
        elif now - since >= limits.WEBHOOK_FAILING_HOURS * _HOURS:
            given_up = (
                f"nothing could be delivered for {limits.WEBHOOK_FAILING_HOURS} hours:"
                f" {answer.error}"
            )
        if given_up is not None:
            paused = {"state": WebhookState.PAUSED.value, "reason": given_up, "updated_at": now}
            return noted | paused
        pause = backoff_seconds(failures, answer.pause_seconds, self._jitter)
        return noted | {"next_attempt_at": now + timedelta(seconds=pause)}

    # -- pings ---------------------------------------------------------------------------------

    def ping(self, webhook: Webhook) -> WebhookDelivery:
        """Send something harmless now, also where it is paused, and say what became of it."""
        named, now = message_id(), self.database.clock()
        with self.sender.to(webhook.url) as post:
            answer = self._post(webhook, named, ping_message(webhook, now), post)
        return self._record_ping(webhook, delivery_record(webhook, named, PING_TYPE, now, answer))

    @retried
    def _record_ping(self, webhook: Webhook, delivery: WebhookDelivery) -> WebhookDelivery:
        with self.database.transaction() as connection:
            is_there = webhook.owner == EVERYBODY or rows.user_is_there(connection, webhook.owner)
            if not is_there:
                raise WebhookNotFound(webhook.id)
            rows.find_webhook(connection, webhook.owner, webhook.id)
            backend = self.database.backend
            return rows.add_delivery(backend, connection, webhook.owner, delivery)


def backoff_seconds(failures: int, asked: float | None, jitter: Callable[[], float]) -> float:
    """How long to wait after so many failures: longer each time, never the same for all webhooks,
    and at least as long as the receiver ``asked`` for."""
    doubled = limits.WEBHOOK_BACKOFF_BASE_SECONDS * 2.0 ** min(failures - 1, 30)
    pause = min(doubled, limits.WEBHOOK_BACKOFF_CAP_SECONDS) * (0.8 + 0.4 * jitter())
    return max(pause, min(asked or 0.0, limits.MAX_WEBHOOK_PAUSE_SECONDS))


def delivery_record(
    webhook: Webhook,
    named: str,
    kind: str,
    now: datetime,
    answer: Answer,
    *,
    about: tuple[int | None, int | None, int] = (None, None, 0),
    attempt: int = 1,
) -> WebhookDelivery:
    """What is kept of a request, still without a number."""
    first, last, count = about
    return WebhookDelivery(
        id=0,
        webhook_id=webhook.id,
        message_id=named,
        type=kind,
        user_id=None,
        first_revision=first,
        last_revision=last,
        changes=count,
        at=now,
        attempt=attempt,
        delivered=answer.is_good,
        status=answer.status,
        milliseconds=answer.milliseconds,
        error=answer.error,
    )


def _on_success(now: datetime) -> dict[str, object]:
    return {
        "failures": 0,
        "failing_since": None,
        "next_attempt_at": None,
        "last_error": None,
        "last_delivered_at": now,
    }


def _fitting(changes: Sequence[Change]) -> tuple[Change, ...]:
    """As many changes as fit into one request, and at least one."""
    size = 0
    for place, change in enumerate(changes):
        size += len(json_body(change.to_dict()))
        if place and size > limits.MAX_WEBHOOK_BYTES:
            return tuple(changes[:place])
    return tuple(changes)
