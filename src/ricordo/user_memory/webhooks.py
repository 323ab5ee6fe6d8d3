"""Webhooks of one user, and of the operator for all users."""

import contextlib
import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from ricordo import limits
from ricordo.errors import EmbeddingError
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.vocabulary import Event, WebhookState
from ricordo.model.webhook import EVERYBODY, Webhook, WebhookDelivery, WebhookSecret
from ricordo.operations import webhooks as describe
from ricordo.storage import webhooks as rows
from ricordo.storage.database import Database, retried
from ricordo.storage.jobs import put_job
from ricordo.user_memory.base import Parts, UserOperations, check_speaks_for_user, implements


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The webhooks of one ``owner``, or of all where there is none; of one ``project``, or of all
    and none."""

    parts: Parts
    owner: str | None
    project: str | None = None

    @property
    def database(self) -> Database:
        return self.parts.database

    def listed(self, *, after: str = "", limit: int = limits.MAX_PAGE_ITEMS) -> tuple[Webhook, ...]:
        with self._view() as connection:
            return rows.list_webhooks(
                connection, self.owner, project=self.project, after=after, limit=limit
            )

    def get(self, id: str) -> Webhook:
        checks.reference("id", id)
        with self._view() as connection:
            return rows.find_webhook(connection, self.owner, id, self.project)

    def deliveries(self, id: str, limit: int) -> tuple[WebhookDelivery, ...]:
        found = self.get(id)
        with self._view() as connection:
            return rows.list_deliveries(connection, found, limit)

    @retried
    def create(self, url: str, events: tuple[Event, ...]) -> WebhookSecret:
        """A new webhook of the owner; of the operator, where there is none."""
        from ricordo.access.webhook_signatures import new_secret

        address, secret = self.parts.webhooks.sender.check(url), new_secret()
        sealed = self.parts.recall.embedders.secrets.seal(secret)
        owner = EVERYBODY if self.owner is None else self.owner
        now = self.database.clock()
        made = Webhook(
            id=f"wh_{secrets.token_hex(12)}",
            user_id=self.owner,
            url=address,
            events=events,
            project_id=self.project,
            state=WebhookState.ACTIVE,
            reason=None,
            failures=0,
            failing_since=None,
            next_attempt_at=None,
            last_error=None,
            last_delivered_at=None,
            old_secret_until=None,
            created_at=now,
            updated_at=now,
        )
        if owner == EVERYBODY:
            with self._change(made) as connection:
                rows.add_webhook(connection, owner, made, sealed)
        else:  # with the user locked: what is written later is delivered
            with self.database.write(owner) as writing:
                writing.keeps_user = True
                rows.add_webhook(writing.connection, owner, made, sealed)
                rows.begin_at(writing.connection, made, writing.revision)
                writing.enqueue(rows.noting(owner, writing.now))
        return WebhookSecret(webhook=made, secret=secret)

    @retried
    def update(
        self, id: str, url: str | None, events: tuple[Event, ...] | None, paused: bool | None
    ) -> Webhook:
        found = self.get(id)
        values: dict[str, Any] = {}
        if url is not None:
            values["url"] = self.parts.webhooks.sender.check(url)
        if events is not None:
            values["events"] = list(events)
        if paused is True and found.state is WebhookState.ACTIVE:
            values |= {"state": WebhookState.PAUSED.value, "reason": rows.PAUSED_BY_REQUEST}
        if paused is False:
            values |= {"state": WebhookState.ACTIVE.value, "reason": None}
        if url is not None or paused is False:
            values |= {
                "failures": 0,
                "failing_since": None,
                "next_attempt_at": None,
                "last_error": None,
            }
        if not values:
            return found
        with self._change(found) as connection:
            if url is not None:
                rows.check_address_is_free(
                    connection, found.owner, id, values["url"], found.project_id
                )
            values["updated_at"] = self.database.clock()
            return rows.change_webhook(connection, found, **values)

    @retried
    def rotate(self, id: str) -> WebhookSecret:
        from ricordo.access.webhook_signatures import former_secrets, kept_secrets, new_secret

        found, secret = self.get(id), new_secret()
        box, now = self.parts.recall.embedders.secrets, self.database.clock()
        until = now + timedelta(hours=limits.WEBHOOK_ROTATION_HOURS)
        with self._change(found) as connection:
            present = rows.sealed_secrets(connection, found)
            former = []
            with contextlib.suppress(EmbeddingError):  # without their key they are lost anyway
                former.append((box.open(present.secret), until))
                if present.old_secret is not None:
                    former += former_secrets(box.open(present.old_secret), now)
            changed = rows.change_webhook(
                connection,
                found,
                sealed_secret=box.seal(secret),
                sealed_old_secret=box.seal(kept_secrets(former)),
                old_secret_until=until,
                updated_at=now,
            )
        return WebhookSecret(webhook=changed, secret=secret)

    @retried
    def delete(self, id: str) -> Webhook:
        found = self.get(id)
        with self.database.transaction() as connection:
            rows.delete_webhook(connection, found)
        return found

    def test(self, id: str) -> WebhookDelivery:
        return self.parts.webhooks.ping(self.get(id))

    @contextlib.contextmanager
    def _view(self) -> Iterator[sa.Connection]:
        opened = self.database.read_all() if self.owner is None else self.database.read(self.owner)
        with opened as view:
            yield view.connection

    @contextlib.contextmanager
    def _change(self, webhook: Webhook) -> Iterator[sa.Connection]:
        """A transaction, after which a job looks whether there is something to deliver."""
        with self.database.transaction() as connection:
            if webhook.owner != EVERYBODY:  # nothing is left of a user who is erased meanwhile
                rows.user_is_there(connection, webhook.owner)
            yield connection
            now = self.database.clock()
            job = rows.noting(webhook.owner, now)
            put_job(self.database.backend, connection, job, now)
        self.database.on_job_queued()


class WebhookOperations(UserOperations):
    """Webhooks of one user. Agents may not register addresses, nor see those that there are."""

    @implements(describe.webhooks)
    def webhooks(self) -> tuple[Webhook, ...]:
        return self._webhooks().listed()

    @implements(describe.webhook)
    def webhook(self, id: str) -> Webhook:
        return self._webhooks().get(id)

    @implements(describe.create_webhook)
    def create_webhook(self, url: str, events: tuple[Event, ...]) -> WebhookSecret:
        return self._webhooks().create(url, events)

    @implements(describe.update_webhook)
    def update_webhook(
        self, id: str, url: str | None, events: tuple[Event, ...] | None, paused: bool | None
    ) -> Webhook:
        return self._webhooks().update(id, url, events, paused)

    @implements(describe.rotate_webhook_secret)
    def rotate_webhook_secret(self, id: str) -> WebhookSecret:
        return self._webhooks().rotate(id)

    @implements(describe.test_webhook)
    def test_webhook(self, id: str) -> WebhookDelivery:
        return self._webhooks().test(id)

    @implements(describe.webhook_deliveries)
    def webhook_deliveries(self, id: str, limit: int) -> tuple[WebhookDelivery, ...]:
        return self._webhooks().deliveries(id, limit)

    @implements(describe.delete_webhook)
    def delete_webhook(self, id: str) -> Webhook:
        return self._webhooks().delete(id)

    def _webhooks(self) -> Webhooks:
        check_speaks_for_user(self.scope)
        return Webhooks(self.parts, self.scope.user_id, self.scope.project_id)
