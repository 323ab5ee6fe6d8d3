"""The store as a whole: users, activity, jobs, keys, import, export and backup."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Unpack

from ricordo import limits
from ricordo.model.activity import Counters, DayActivity, Job, JobStats
from ricordo.model.fields import (
    AfterUser,
    AnyOwner,
    AsGiven,
    Choice,
    Flag,
    Integer,
    Reference,
    Texts,
)
from ricordo.model.filters import Filters, Order, SortColumn
from ricordo.model.item import Item
from ricordo.model.record import Page
from ricordo.model.reports import BackupReport, ErasureReceipt, ImportReport, ModelReport
from ricordo.model.scope import ApiKey, CreatedKey
from ricordo.model.vocabulary import JobState, Permission
from ricordo.operations.operation import Catalogue
from ricordo.operations.parameters import (
    BeforeTime,
    Consented,
    DailyDays,
    Days,
    ImportFormat,
    InOrder,
    OnlyCount,
    PageCursor,
    PageLimit,
    PathOf,
    Progress,
    SortBy,
)

store = Catalogue("Administration", of_store=True)
job = Catalogue("Administration: jobs", of_store=True)
key_ring = Catalogue("Administration: keys", of_store=True)
memory = Catalogue("Administration: memories", of_store=True)

JobId = Annotated[int, Integer(1, limits.MAX_ID, about="The job.", example=12, metavar="ID")]
KeyId = Annotated[str, AsGiven(about="The key.", metavar="ID")]


@store("GET /v1/admin/users list_users", permission=Permission.READ_ALL)
def users(
    *,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    after: Annotated[
        str,
        AfterUser(
            about="Where to go on: the last user of the page before.",
            metavar="NAME",
            completes="user",
        ),
    ] = "",
) -> tuple[str, ...]:
    """List the users who have anything stored, in order; ``after`` is the last one of the page
    before. Groups are listed apart."""


@store("DELETE /v1/admin/users/{user_id:path} erase_user", permission=Permission.MANAGE)
def erase_user(
    user_id: Annotated[
        str, AnyOwner(about="The user; * for the global memories.", completes="user")
    ],
) -> ErasureReceipt:
    """Remove every trace of a user; afterwards nothing in the store or its files holds their
    text.

    Raises:
        UserNotFound: nothing is stored for this user.
        FilesUnavailable: another process is at their files, and nothing was erased; or the
            user is erased, and a file could not be removed, which the message names.
    """


@store("GET /v1/admin/counters read_all_counters", permission=Permission.READ_ALL)
def counters(*, days: Days = None) -> Counters:
    """How many memories there are and how often things happened, for all users together.

    ``days`` counts only the last ones, today included.
    """


@store("GET /v1/admin/activity/daily read_all_daily", permission=Permission.READ_ALL)
def daily(*, days: DailyDays = limits.DEFAULT_DAILY_DAYS) -> tuple[DayActivity, ...]:
    """What happened on each of the last days (UTC), for all users together: every one of
    them, today last.

    Raises:
        InvalidValue: so many days are not allowed.
    """


@store("GET /v1/admin/model/test test_model", permission=Permission.READ_ALL, is_lengthy=True)
def test_model() -> ModelReport:
    """Ask the language model something small; what it can do, or what is wrong in one line.

    Raises:
        InvalidValue: no language model is set.
    """


@store(
    "POST /v1/admin/purge purge_all",
    permission=Permission.MANAGE,
    is_lengthy=True,
    answers="purged",
)
def purge(*, before_time: BeforeTime = False) -> int:
    """Remove every user's forgotten memories whose time has come; how many there were."""


@store(
    "POST /v1/admin/reindex reindex",
    permission=Permission.MANAGE,
    is_lengthy=True,
    answers="reindexed",
)
def reindex(
    *,
    everything: Annotated[bool, Flag(about="Also the indexes, as after damage to one.")] = False,
    progress: Progress | None = None,
) -> int:
    """Rebuild search terms that are missing or of another analyser; how many.

    ``everything`` also makes the indexes themselves again, as after damage to one.
    """


@store()
def export_lines() -> Iterator[str]:
    """Every user's data as JSON Lines, from one consistent state."""


@store()
def export(path: PathOf) -> int:
    """Write every user's data to a JSON Lines file; the number of lines."""


@store()
def import_file(
    path: PathOf,
    *,
    format: ImportFormat = "auto",
    consented: Consented = False,
    dry_run: OnlyCount = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Bring in a file of any number of users, each under their own name.

    A ricordo export, or what another system exported, where it names the user of each memory;
    of that, what needs consent is proposed to the users, unless they ``consented``. The whole
    file is checked before anything is written. With ``dry_run`` it is only counted.

    Raises:
        ImportFailed: the file cannot be read; the message says where. Nothing was written.
    """


@store()
def backup(
    path: PathOf, *, force: Annotated[bool, Flag(about="Replace a file that is there.")] = False
) -> BackupReport:
    """Write all that the store holds at this moment to one file, while others go on using it.

    ``ricordo.restore_backup`` brings it back, on either database. The file appears whole or
    not at all; one that is there is replaced only with ``force``.

    Raises:
        InvalidValue: there is a file of that name.
        FilesUnavailable: it cannot be written.
        AccessDenied: on PostgreSQL, for a role that row-level security binds.
        StorageError: the database could not answer.
    """


@job("GET /v1/admin/jobs list_jobs", permission=Permission.READ_ALL)
def jobs(
    *,
    state: Annotated[
        JobState | str | None, Choice(JobState, about="Only those in this state.", metavar="STATE")
    ] = None,
    kind: Annotated[
        str | None, Reference(about="Only those of this kind.", example="form", metavar="NAME")
    ] = None,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
) -> tuple[Job, ...]:
    """List background jobs in the order in which they run or ran."""


@job("GET /v1/admin/jobs/stats read_job_stats", permission=Permission.READ_ALL)
def job_stats() -> tuple[JobStats, ...]:
    """Count the jobs of each kind that wait, run, are done, dead or cancelled."""


@job(
    "POST /v1/admin/jobs/run run_jobs", permission=Permission.MANAGE, is_lengthy=True, answers="ran"
)
def run_jobs(
    *,
    limit: Annotated[
        int, Integer(1, limits.MAX_JOBS_PER_RUN, about="How many jobs at most.")
    ] = limits.MAX_JOBS_PER_RUN,
) -> int:
    """Run what is due now, in this thread; how many jobs there were."""


@job("POST /v1/admin/jobs/{id}/retry retry_job", permission=Permission.MANAGE)
def retry_job(id: JobId) -> None:
    """Try a dead job again.

    Raises:
        JobNotFound, Conflict.
    """


@job("POST /v1/admin/jobs/{id}/cancel cancel_job", permission=Permission.MANAGE)
def cancel_job(id: JobId) -> None:
    """Cancel a job that waits or is dead.

    What causes a job queues it again when the time comes, or the user's next round does: a
    cancelled round of upkeep is made up for by the next. What nothing would queue again cannot
    be cancelled (``reindex``, ``scrub``).

    Raises:
        JobNotFound, Conflict.
    """


@key_ring(permission=Permission.MANAGE)
def create_key(
    name: Annotated[str, AsGiven(about="For people.", example="chat front end", metavar="NAME")],
    *,
    user: Annotated[
        str | None,
        AsGiven(about="The one user whom it acts for.", metavar="NAME", completes="user"),
    ] = None,
    agent: Annotated[
        str | None, AsGiven(about="The agent of that user whose key it is.", metavar="ID")
    ] = None,
    categories: Annotated[
        Iterable[str] | str | None,
        Texts(
            about="All that an agent's key can read and write.",
            metavar="NAME",
            completes="theme",
        ),
    ] = None,
    permissions: Annotated[
        Iterable[Permission | str] | Permission | str,
        Texts(about="Of a service's key: read_all, manage; of an agent's: share.", metavar="NAME"),
    ] = (),
    expires_days: Annotated[
        int | None, Integer(1, limits.MAX_KEY_DAYS, about="How long it is good.", metavar="DAYS")
    ] = None,
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


@key_ring("GET /v1/admin/keys list_keys", permission=Permission.READ_ALL)
def keys(
    *,
    user: Annotated[
        str | None, AsGiven(about="Only those of this user.", metavar="NAME", completes="user")
    ] = None,
    include_revoked: Annotated[bool, Flag(about="Also those that were revoked.")] = False,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
) -> Page[ApiKey]:
    """The keys of the service, the newest first, without their secrets; those of one ``user``,
    or all.

    Raises:
        InvalidValue, InvalidCursor.
    """


@key_ring("GET /v1/admin/keys/{id} read_key", permission=Permission.READ_ALL)
def key(id: KeyId) -> ApiKey:
    """One key of the service, without its secret; also one that was revoked or has expired.

    Raises:
        KeyNotFound: there is no such key.
    """


@key_ring("DELETE /v1/admin/keys/{id} revoke_key", permission=Permission.MANAGE)
def revoke_key(id: KeyId) -> ApiKey:
    """Revoke a key: it is refused from now on. One that was revoked before stays as it is.

    Raises:
        KeyNotFound: there is no such key.
    """


@key_ring()
def authenticate(secret: Annotated[str | None, AsGiven(about="What the caller sends.")]) -> ApiKey:
    """The key that somebody shows. That it was used is noted, to some minutes.

    Raises:
        NotAuthenticated: it is missing, malformed, unknown, revoked or expired; which of these, the
            error does not say.
    """


@key_ring()
def has_keys() -> bool:
    """Whether there is a key that is neither revoked nor expired."""


@memory("GET /v1/admin/memories list_all_memories", name="list", permission=Permission.READ_ALL)
def list_memories(
    *,
    sort: SortBy = SortColumn.CREATED_AT,
    order: InOrder = Order.DESCENDING,
    limit: PageLimit = limits.DEFAULT_PAGE_ITEMS,
    cursor: PageCursor = None,
    **filters: Unpack[Filters],
) -> Page[Item]:
    """A page of all users' memories. Takes what ``UserMemory.list`` takes.

    Raises:
        UnknownField, InvalidValue, InvalidCursor.
    """
