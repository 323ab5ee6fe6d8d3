"""The store as a whole: opening a user's memory, and administration across users."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from ricordo import limits
from ricordo.access.keys import KeyRing
from ricordo.errors import InvalidValue, RicordoError, StorageError, UserNotFound, in_log
from ricordo.files.home import FilesErasure
from ricordo.index.rebuild import bring_up_to_date, rebuild
from ricordo.memories import lifecycle, lookup, sharing
from ricordo.model import checks
from ricordo.model.activity import Counters, DayActivity, Job, JobStats
from ricordo.model.checks import category_slugs
from ricordo.model.filters import ItemFilter, Order, Sort, SortColumn
from ricordo.model.group import Group, GroupMember, group_name, space_of
from ricordo.model.item import Item
from ricordo.model.record import Page
from ricordo.model.reports import BackupReport, ErasureReceipt, ImportReport, ModelReport
from ricordo.model.scope import ApiKey, CreatedKey, Scope
from ricordo.model.vocabulary import GLOBAL_OWNER, Event, GroupRole, JobState
from ricordo.model.webhook import Webhook, WebhookDelivery, WebhookSecret
from ricordo.operations import groups as describe_groups
from ricordo.operations import store as describe
from ricordo.operations import webhooks as describe_webhooks
from ricordo.operations.operation import Operation
from ricordo.settings import Settings
from ricordo.storage.access import StoredKeys
from ricordo.storage.activity import count_active, counters_of, daily_of
from ricordo.storage.database import rehearsing, retried
from ricordo.storage.groups import list_groups
from ricordo.storage.users import list_users
from ricordo.storage.where import EVERYONE
from ricordo.user_memory import UserMemory
from ricordo.user_memory.base import Parts
from ricordo.user_memory.webhooks import Webhooks

if TYPE_CHECKING:
    from ricordo.jobs.runner import JobRunner
    from ricordo.transfer.exports import Progress

_log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")


def _no_progress(_done: int, _total: int) -> None: ...


def _implements(
    operation: Operation[P, R],
) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """Make a method of a description: the method is called with clean values, by name."""
    return lambda method: operation.method(
        lambda self, given: method(self, **given), lambda _self: None
    )


class Memory:
    """An open store. Safe from many threads, usable after ``fork``, closed by ``with`` or close().

    Made by ``ricordo.open``. What belongs to a user goes through :meth:`user`; the other methods
    are administration and see all users.
    """

    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        clean_up: Any = None,
    ) -> None:
        self.parts = parts
        self.database = parts.database
        self.recall = parts.recall
        self.settings = settings
        self._keys = KeyRing(StoredKeys(parts.database), parts.database.clock)
        self._clean_up = clean_up

    @property
    def runner(self) -> "JobRunner":
        return self.parts.work.runner

    def user(
        self,
        user_id: str,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        role: str | None = None,
        categories: Iterable[str] | str | None = None,
        project: str | None = None,
        group: str | None = None,
    ) -> UserMemory:
        """One user's memory, or of it what is filed under some ``categories``, or what belongs to
        one ``project`` or to none. The user need not exist yet.

        With a ``group`` the space that its members share, in the name of this user: each operation
        checks what their role allows now.

        Raises:
            InvalidValue: a name is empty, too long or has control characters, or begins with ``*``.
            ScopeWidened: another ``actor`` than the user, in a group.
        """
        kept_to = None if categories is None else category_slugs(categories)
        owner, member = checks.user_id(user_id), None
        if group is not None:
            owner, member = space_of(group_name("group", group)), owner
            actor = actor or member
        scope = Scope(
            *(owner, agent, thread, run, actor, role, kept_to),
            project_id=project,
            member_id=member,
        )
        return UserMemory(self.parts, scope)

    def global_memories(self, *, actor: str | None = None) -> UserMemory:
        """The memories that every user sees who has few of their own."""
        return UserMemory(self.parts, Scope(GLOBAL_OWNER, actor_id=actor))

    # -- administration --------------------------------------------------------------------

    @_implements(describe.users)
    def users(self, limit: int, after: str) -> tuple[str, ...]:
        with self.database.read_all() as view:
            return tuple(list_users(view.connection, after, limit, with_groups=False))

    @_implements(describe.list_memories)
    def list(
        self, sort: SortColumn, order: Order, limit: int, cursor: str | None, **filters: Any
    ) -> Page[Item]:
        wanted, ordered = ItemFilter.of(filters), Sort(sort, order is Order.DESCENDING)
        with self.database.read_all() as view:
            return lookup.read_page(view, EVERYONE, wanted, ordered, limit, cursor)

    @_implements(describe.erase_user)
    @retried
    def erase_user(self, user_id: str) -> ErasureReceipt:
        with FilesErasure.begin(self.parts.files, user_id) as files:
            try:
                receipt = lifecycle.erase_user(self.database, user_id)
            except UserNotFound:
                if not files.exist:
                    raise
                receipt = ErasureReceipt(
                    user_id=user_id, erased_at=self.database.clock(), removed={}, scrubbed=False
                )
            self.recall.indexes.forget(user_id)
            self.recall.names.forget(user_id)
            removed = files.remove()
        return replace(receipt, removed={**receipt.removed, "files": removed})

    @_implements(describe.purge)
    def purge(self, before_time: bool) -> int:
        return sum(
            UserMemory(self.parts, Scope(user_id)).purge(before_time=before_time)
            for user_id in self._all_users()
        )

    @_implements(describe.export_lines)
    def export_lines(self) -> Iterator[str]:
        from ricordo.transfer import exports

        return exports.export_lines(self.database, None)

    @_implements(describe.export)
    def export(self, path: Path) -> int:
        from ricordo.transfer import exports

        return exports.export_file(self.database, None, path)

    @_implements(describe.import_file)
    def import_file(
        self,
        path: Path,
        format: str,
        consented: bool,
        dry_run: bool,
        progress: "Progress | None",
    ) -> ImportReport:
        from ricordo.transfer import imports

        opener, report = self.parts.open_file, progress or _no_progress
        asked = None if consented else self.parts.formation
        with rehearsing(dry_run):
            return imports.import_store(self.database, opener, path, format, report, asked)

    @_implements(describe.backup)
    def backup(self, path: Path, force: bool) -> BackupReport:
        from ricordo.transfer import backup

        return backup.make_backup(self.database, path, self.parts.open_file, force=force)

    @_implements(describe.reindex)
    def reindex(self, everything: bool, progress: "Progress | None") -> int:
        if everything:
            rebuild(self.database)
        return bring_up_to_date(self.database, progress or _no_progress)

    # -- activity --------------------------------------------------------------------------

    @_implements(describe.counters)
    def counters(self, days: int | None) -> Counters:
        with self.database.read_all() as view:
            return counters_of(view, None, days, count_active(view))

    @_implements(describe.daily)
    def daily(self, days: int) -> tuple[DayActivity, ...]:
        return daily_of(self.database, None, days)

    @_implements(describe.test_model)
    def test_model(self) -> ModelReport:
        from ricordo.providers.chat import test_model

        model = self.parts.formation.model
        if model is None:
            raise InvalidValue("setting model_provider", "no language model is set")
        return test_model(model.plain)

    # -- jobs ------------------------------------------------------------------------------

    @_implements(describe.jobs)
    def jobs(self, state: JobState | None, kind: str | None, limit: int) -> tuple[Job, ...]:
        return tuple(self.runner.queue.listed(state, kind, limit))

    @_implements(describe.job_stats)
    def job_stats(self) -> tuple[JobStats, ...]:
        return tuple(self.runner.queue.stats())

    @_implements(describe.retry_job)
    def retry_job(self, id: int) -> None:
        self.runner.queue.revive(id)

    @_implements(describe.cancel_job)
    def cancel_job(self, id: int) -> None:
        self.runner.queue.cancel(id)

    @_implements(describe.run_jobs)
    def run_jobs(self, limit: int) -> int:
        self.runner.maintain()
        return self.runner.run_due(limit)

    # -- groups ----------------------------------------------------------------------------

    @_implements(describe_groups.create_group)
    @retried
    def create_group(self, group: str, title: str | None, manager: str | None) -> Group:
        return sharing.create(self.database, group, title, manager)

    @_implements(describe_groups.all_groups)
    def groups(self, limit: int, after: str) -> tuple[Group, ...]:
        with self.database.read_all() as view:
            spaces_after = space_of(after) if after else ""
            return tuple(list_groups(view.connection, spaces_after, limit))

    @_implements(describe_groups.delete_group)
    @retried
    def delete_group(self, group: str) -> ErasureReceipt:
        receipt = lifecycle.erase_group(self.database, group)
        self.recall.indexes.forget(space_of(group))
        self.recall.names.forget(space_of(group))
        return receipt

    @_implements(describe_groups.all_members)
    def members(self, group: str) -> tuple[GroupMember, ...]:
        with self.database.read_all() as view:
            return sharing.members(view, group)

    @_implements(describe_groups.set_any_member)
    @retried
    def set_member(self, group: str, member: str, role: GroupRole) -> GroupMember:
        with self.database.write(space_of(group)) as writing, writing.acting_for_all():
            return sharing.put(writing, group, member, role, by=None)

    @_implements(describe_groups.remove_any_member)
    @retried
    def remove_member(self, group: str, member: str) -> None:
        with self.database.write(space_of(group)) as writing, writing.acting_for_all():
            sharing.remove(writing, group, member, by_operator=True)

    # -- webhooks --------------------------------------------------------------------------

    @_implements(describe_webhooks.all_webhooks)
    def webhooks(self, user: str | None, limit: int, after: str) -> tuple[Webhook, ...]:
        owner = None if user is None else checks.user_id(user)
        return Webhooks(self.parts, owner).listed(after=after, limit=limit)

    @_implements(describe_webhooks.any_webhook)
    def webhook(self, id: str) -> Webhook:
        return Webhooks(self.parts, None).get(id)

    @_implements(describe_webhooks.create_store_webhook)
    def create_webhook(self, url: str, events: tuple[Event, ...]) -> WebhookSecret:
        return Webhooks(self.parts, None).create(url, events)

    @_implements(describe_webhooks.update_any_webhook)
    def update_webhook(
        self, id: str, url: str | None, events: tuple[Event, ...] | None, paused: bool | None
    ) -> Webhook:
        return Webhooks(self.parts, None).update(id, url, events, paused)

    @_implements(describe_webhooks.rotate_any_webhook_secret)
    def rotate_webhook_secret(self, id: str) -> WebhookSecret:
        return Webhooks(self.parts, None).rotate(id)

    @_implements(describe_webhooks.test_any_webhook)
    def test_webhook(self, id: str) -> WebhookDelivery:
        return Webhooks(self.parts, None).test(id)

    @_implements(describe_webhooks.any_webhook_deliveries)
    def webhook_deliveries(self, id: str, limit: int) -> tuple[WebhookDelivery, ...]:
        return Webhooks(self.parts, None).deliveries(id, limit)

    @_implements(describe_webhooks.delete_any_webhook)
    def delete_webhook(self, id: str) -> Webhook:
        return Webhooks(self.parts, None).delete(id)

    # -- keys ------------------------------------------------------------------------------

    @_implements(describe.create_key)
    def create_key(self, **given: Any) -> CreatedKey:
        return self._keys.create(**given)

    @_implements(describe.keys)
    def keys(
        self, user: str | None, include_revoked: bool, limit: int, cursor: str | None
    ) -> Page[ApiKey]:
        return self._keys.page(user, include_revoked, limit, cursor)

    @_implements(describe.key)
    def key(self, id: str) -> ApiKey:
        return self._keys.get(id)

    @_implements(describe.revoke_key)
    def revoke_key(self, id: str) -> ApiKey:
        return self._keys.revoke(id)

    @_implements(describe.authenticate)
    def authenticate(self, secret: str | None) -> ApiKey:
        return self._keys.authenticate(secret)

    @_implements(describe.has_keys)
    def has_keys(self) -> bool:
        return self._keys.has_live()

    # -- opening and closing ---------------------------------------------------------------

    def close(self) -> None:
        """Finish the job at hand, write the mirrors and give back every connection.

        Closing twice is harmless.
        """
        if self.parts.made("work"):
            self.parts.work.background.stop()
        if self.parts.made("work") or self._is_mirrored():
            self.parts.work.follower.close()
        self._write_counts()
        self.recall.embedders.close()
        if self.parts.made("formation"):
            self.parts.formation.close()
        self.database.backend.close()
        if self._clean_up is not None:
            self._clean_up()

    def _is_mirrored(self) -> bool:
        """False where there is no mirror to write, for which much would have to be loaded."""
        try:
            return self.parts.files is not None and any(self.parts.files.mirrored())
        except (RicordoError, OSError):
            return True  # whoever follows them says what is wrong

    def _write_counts(self) -> None:
        try:
            self.recall.accesses.flush()
        except StorageError as error:  # closing goes on; counts are not worth an error
            _log.warning("what was recalled last is not counted: %s", in_log(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _all_users(self) -> Iterator[str]:
        """Everybody who has anything stored, groups included."""
        last = ""
        while True:
            with self.database.read_all() as view:
                page = list_users(view.connection, last, limits.MAX_PAGE_ITEMS)
            if not page:
                return
            yield from page
            last = page[-1]
