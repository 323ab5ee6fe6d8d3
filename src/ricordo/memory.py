"""The store as a whole: opening a user's memory, and administration across users."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ricordo import limits
from ricordo.access.keys import KeyRing
from ricordo.errors import InvalidValue, StorageError, UserNotFound, in_log
from ricordo.files.home import FilesErasure
from ricordo.files.mirror import MirrorFollower
from ricordo.formation.activity import counters_of, daily_of
from ricordo.index.rebuild import bring_up_to_date, rebuild
from ricordo.jobs.runner import Background, JobRunner
from ricordo.memories import erasure, lookup
from ricordo.model import checks
from ricordo.model.activity import Counters, DayActivity
from ricordo.model.checks import category_slugs
from ricordo.model.filters import ItemFilter, Sort
from ricordo.model.item import Item
from ricordo.model.job import Job, JobStats
from ricordo.model.record import Page
from ricordo.model.reports import BackupReport, ErasureReceipt, ImportReport
from ricordo.model.scope import ApiKey, CreatedKey, Scope
from ricordo.model.vocabulary import GLOBAL_OWNER, JobState, Permission
from ricordo.providers.chat import ModelReport, test_model
from ricordo.settings import Settings
from ricordo.storage.database import retried
from ricordo.storage.keys import StoredKeys
from ricordo.storage.users import list_users
from ricordo.storage.where import EVERYONE
from ricordo.transfer import backup, exports, imports
from ricordo.transfer.exports import Progress, no_progress
from ricordo.user_memory import UserMemory
from ricordo.user_memory.base import Parts

_log = logging.getLogger(__name__)


class Memory:
    """An open store. Safe from many threads, usable after ``fork``, closed by ``with`` or close().

    Made by ``ricordo.open``. What belongs to a user goes through :meth:`user`; the other methods
    are administration and see all users.
    """

    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        runner: JobRunner,
        background: Background,
        follower: MirrorFollower,
        clean_up: Any = None,
    ) -> None:
        self.parts = parts
        self.database = parts.database
        self.recall = parts.recall
        self.formation = parts.formation
        self.settings = settings
        self.runner = runner
        self._keys = KeyRing(StoredKeys(parts.database), parts.database.clock)
        self._background = background
        self._follower = follower
        self._clean_up = clean_up

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
    ) -> UserMemory:
        """One user's memory, or of it what is filed under some ``categories``. The user need not
        exist yet.

        Raises:
            InvalidValue: a name is empty, too long or has control characters, or is ``*``.
        """
        kept_to = None if categories is None else category_slugs(categories)
        scope = Scope(checks.user_id(user_id), agent, thread, run, actor, role, kept_to)
        return UserMemory(self.parts, scope)

    def global_memories(self, *, actor: str | None = None) -> UserMemory:
        """The memories that every user sees who has few of their own."""
        return UserMemory(self.parts, Scope(GLOBAL_OWNER, actor_id=actor))

    # -- administration --------------------------------------------------------------------

    def users(self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, after: str = "") -> tuple[str, ...]:
        """Who has anything stored, in order; ``after`` is the last one of the page before."""
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        last = after if after == "" else checks.reference("after", after)
        with self.database.read_all() as view:
            return tuple(list_users(view.connection, last, size))

    def list(
        self,
        /,
        *,
        sort: str = "created_at",
        order: str = "desc",
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
        **filters: Any,
    ) -> Page[Item]:
        """A page of all users' memories. Takes what ``UserMemory.list`` takes.

        Raises:
            UnknownField, InvalidValue, InvalidCursor.
        """
        wanted = ItemFilter.parse(filters)
        ordered = Sort.parse(sort, order)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read_all() as view:
            return lookup.read_page(view, EVERYONE, wanted, ordered, size, cursor)

    @retried
    def erase_user(self, user_id: str) -> ErasureReceipt:
        """Remove every trace of a user; afterwards nothing in the store or its files holds their
        text.

        Raises:
            UserNotFound: nothing is stored for this user.
            FilesUnavailable: another process is at their files, and nothing was erased; or the
                user is erased, and a file could not be removed, which the message names.
        """
        erased = _any_owner(user_id)
        with FilesErasure.begin(self.parts.files, erased) as files:
            try:
                receipt = erasure.erase_user(self.database, erased)
            except UserNotFound:
                if not files.exist:
                    raise
                receipt = ErasureReceipt(
                    user_id=erased, erased_at=self.database.clock(), removed={}, scrubbed=False
                )
            self.recall.indexes.forget(erased)
            removed = files.remove()
        return replace(receipt, removed={**receipt.removed, "files": removed})

    def purge(self, *, before_time: bool = False) -> int:
        """Remove every user's forgotten memories whose time has come; how many there were."""
        return sum(
            UserMemory(self.parts, Scope(user_id)).purge(before_time=before_time)
            for user_id in self._all_users()
        )

    def export_lines(self) -> Iterator[str]:
        """Every user's data as JSON Lines, from one consistent state."""
        return exports.export_lines(self.database, None)

    def export(self, path: str | Path) -> int:
        """Write every user's data to a JSON Lines file; the number of lines."""
        return exports.export_file(self.database, None, checks.path("path", path))

    def import_file(self, path: str | Path, *, progress: Progress = no_progress) -> ImportReport:
        """Bring in a ricordo export of any number of users, each under their own name.

        Raises:
            ImportFailed: the file cannot be read; the message says where. Nothing was written.
        """
        given = checks.path("path", path)
        return imports.import_store(self.database, self.parts.open_file, given, progress)

    def backup(self, path: str | Path, *, force: bool = False) -> BackupReport:
        """Write all that the store holds at this moment to one file, while others go on using it.

        ``ricordo.restore_backup`` brings it back, on either database. The file appears whole or
        not at all; one that is there is replaced only with ``force``.

        Raises:
            InvalidValue: there is a file of that name.
            FilesUnavailable: it cannot be written.
            AccessDenied: on PostgreSQL, for a role that row-level security binds.
            StorageError: the database could not answer.
        """
        wanted = checks.path("path", path)
        replaces = checks.flag("force", force)
        return backup.make_backup(self.database, wanted, self.parts.open_file, force=replaces)

    def reindex(self, *, everything: bool = False, progress: Progress = no_progress) -> int:
        """Rebuild search terms that are missing or of another analyser; how many.

        ``everything`` also makes the indexes themselves again, as after damage to one.
        """
        if checks.flag("everything", everything):
            rebuild(self.database)
        return bring_up_to_date(self.database, progress)

    # -- activity --------------------------------------------------------------------------

    def counters(self, *, days: int | None = None) -> Counters:
        """How many memories there are and how often things happened, for all users together.

        ``days`` counts only the last ones, today included.
        """
        return counters_of(
            self.database, None, checks.optional_integer("days", days, 1, limits.MAX_RECENCY_DAYS)
        )

    def daily(self, *, days: int = limits.DEFAULT_DAILY_DAYS) -> tuple[DayActivity, ...]:
        """What happened on each of the last days (UTC), for all users together: every one of
        them, today last.

        Raises:
            InvalidValue: so many days are not allowed.
        """
        wanted = checks.integer("days", days, 1, limits.MAX_DAILY_DAYS)
        return daily_of(self.database, None, wanted)

    def test_model(self) -> ModelReport:
        """Ask the language model something small; what it can do, or what is wrong in one line.

        Raises:
            InvalidValue: no language model is set.
        """
        if self.formation.model is None:
            raise InvalidValue("setting model_provider", "no language model is set")
        return test_model(self.formation.model.plain)

    # -- jobs ------------------------------------------------------------------------------

    def jobs(
        self,
        *,
        state: JobState | str | None = None,
        kind: str | None = None,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
    ) -> tuple[Job, ...]:
        """Background jobs in the order in which they run or ran."""
        wanted = None if state is None else checks.choice("state", state, JobState)
        of_kind = checks.optional_reference("kind", kind)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        return tuple(self.runner.queue.listed(wanted, of_kind, size))

    def job_stats(self) -> tuple[JobStats, ...]:
        """How many jobs of each kind wait, run, are done, dead or cancelled."""
        return tuple(self.runner.queue.stats())

    def retry_job(self, id: int) -> None:
        """Give a dead job a fresh set of attempts.

        Raises:
            JobNotFound, Conflict.
        """
        self.runner.queue.revive(checks.integer("id", id, 1, limits.MAX_ID))

    def cancel_job(self, id: int) -> None:
        """Take a job out of the queue that waits, or is dead.

        What causes a job queues it again when the time comes, or the user's next round does: a
        cancelled round of upkeep is made up for by the next. What nothing would queue again cannot
        be cancelled (``reindex``, ``scrub``).

        Raises:
            JobNotFound, Conflict.
        """
        self.runner.queue.cancel(checks.integer("id", id, 1, limits.MAX_ID))

    def run_jobs(self, *, limit: int = limits.MAX_JOBS_PER_RUN) -> int:
        """Run what is due now, in this thread; how many jobs there were."""
        most = checks.integer("limit", limit, 1, limits.MAX_JOBS_PER_RUN)
        self.runner.maintain()
        return self.runner.run_due(most)

    # -- keys ------------------------------------------------------------------------------

    def create_key(
        self,
        name: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        categories: Iterable[str] | str | None = None,
        permissions: Iterable[Permission | str] | Permission | str = (),
        expires_days: int | None = None,
    ) -> CreatedKey:
        """A new key of the service, with the secret that callers send: it is shown only this once.

        With a ``user`` it acts for that one. With an ``agent`` as well it is that agent's, and can
        be kept to ``categories``, within what the policy file allows the agent. With neither it is
        the key of a service, which acts for whom each request names, and can have ``permissions``:
        ``read_all`` to read across users, ``manage`` for keys, jobs and erasing users.

        Raises:
            InvalidValue: a value is not allowed, or does not go with the others.
            Conflict: there are too many keys.
        """
        return self._keys.create(
            name,
            user=user,
            agent=agent,
            categories=categories,
            permissions=permissions,
            expires_days=expires_days,
        )

    def keys(
        self,
        *,
        user: str | None = None,
        include_revoked: bool = False,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[ApiKey]:
        """The keys of the service, the newest first, without their secrets; those of one ``user``,
        or all.

        Raises:
            InvalidValue, InvalidCursor.
        """
        return self._keys.page(user, include_revoked, limit, cursor)

    def key(self, id: str) -> ApiKey:
        """One key of the service, without its secret; also one that was revoked or has expired.

        Raises:
            KeyNotFound: there is no such key.
        """
        return self._keys.get(id)

    def revoke_key(self, id: str) -> ApiKey:
        """End a key: it is refused from now on. One that was revoked before stays as it is.

        Raises:
            KeyNotFound: there is no such key.
        """
        return self._keys.revoke(id)

    def authenticate(self, secret: str | None) -> ApiKey:
        """The key that somebody shows. That it was used is noted, to some minutes.

        Raises:
            NotAuthenticated: it is missing, malformed, unknown, revoked or expired; which of these,
                the error does not say which.
        """
        return self._keys.authenticate(secret)

    def has_keys(self) -> bool:
        """Whether there is a key that is neither revoked nor expired."""
        return self._keys.has_live()

    # -- opening and closing ---------------------------------------------------------------

    def close(self) -> None:
        """Finish the job at hand, write the mirrors and give back every connection.

        Closing twice is harmless.
        """
        self._background.stop()
        self._follower.close()
        self._write_counts()
        self.recall.embedders.close()
        self.formation.close()
        self.database.backend.close()
        if self._clean_up is not None:
            self._clean_up()

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
        last = ""
        while page := self.users(limit=limits.MAX_PAGE_ITEMS, after=last):
            yield from page
            last = page[-1]


def _any_owner(user_id: str) -> str:
    """A user, or the owner of the global memories: administration may erase either."""
    return user_id if user_id == GLOBAL_OWNER else checks.user_id(user_id)
