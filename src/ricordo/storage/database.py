"""Read and write transactions over either backend; driver errors become ours."""

import contextlib
import contextvars
import functools
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Concatenate, Final, ParamSpec, Protocol, Self, TypeVar, cast

import sqlalchemy as sa

from ricordo.clock import Clock
from ricordo.errors import RoleNotConfined
from ricordo.limits import MAX_CONFLICT_RETRIES
from ricordo.model.activity import NewJob
from ricordo.model.embedding import KnownVectors
from ricordo.model.group import Acting
from ricordo.model.scope import Policy
from ricordo.model.vocabulary import Event
from ricordo.storage.backend import Backend, RaceLost
from ricordo.storage.groups import check_acting
from ricordo.storage.jobs import put_job
from ricordo.storage.sql import Moment, PreparedStatement
from ricordo.storage.tables import history, links, users
from ricordo.storage.webhooks import NOTE_JOB, is_followed
from ricordo.text.analyser import Analyser

_LOCK_ATTEMPTS: Final = 10
_LONGEST_PAUSE_SECONDS: Final = 0.05

OWNER_ACTED: Final = "owner"
VIEWER_ACTED: Final = "viewer"
"""The actor in one user's history for another who acted on a shared memory."""

P = ParamSpec("P")
T = TypeVar("T")
_lock_user: Final = PreparedStatement(
    sa.select(
        *(users.c.revision, users.c.index_stamp, users.c.index_epoch, users.c.index_removals),
        is_followed(),
    )
    .where(users.c.user_id == sa.bindparam("user_id", type_=sa.Text))
    .with_for_update()
)
_make_user: Final = PreparedStatement(
    sa.text(
        "INSERT INTO users (user_id, revision, created_at, updated_at, index_stamp, index_epoch)"
        " VALUES (:user_id, 0, :now, :now, :stamp, :stamp)"
        " ON CONFLICT (user_id) DO NOTHING RETURNING user_id"
    ).bindparams(sa.bindparam("now", type_=Moment))
)
_forget_user: Final = PreparedStatement(
    sa.delete(users).where(
        users.c.user_id == sa.bindparam("user_id", type_=sa.Text), users.c.revision == 0
    )
)
_advance_user: Final = PreparedStatement(
    sa.update(users)
    .where(users.c.user_id == sa.bindparam("of_user", type_=sa.Text))
    .values(
        revision=sa.bindparam("revision"),
        updated_at=sa.bindparam("updated_at"),
        index_stamp=sa.bindparam("index_stamp"),
        index_epoch=sa.bindparam("index_epoch"),
        index_removals=sa.bindparam("index_removals"),
    )
)
_stamp_user: Final = PreparedStatement(
    sa.update(users)
    .where(users.c.user_id == sa.bindparam("of_user", type_=sa.Text))
    .values(
        index_stamp=sa.bindparam("index_stamp"),
        index_epoch=sa.bindparam("index_epoch"),
        index_removals=sa.bindparam("index_removals"),
    )
)
_insert_history: Final = PreparedStatement(sa.insert(history))


_member: Final[contextvars.ContextVar[Acting | None]] = contextvars.ContextVar(
    "ricordo_member", default=None
)
"""The member who acts, while an operation on the space of a group runs."""
_rehearsed: Final[contextvars.ContextVar[bool]] = contextvars.ContextVar(
    "ricordo_rehearsed", default=False
)
"""Whether writes are undone at their end."""


class _UndoneError(Exception):
    """A rehearsed write has come to its end."""


@contextlib.contextmanager
def rehearsing(is_on: bool = True) -> Iterator[None]:
    """Undo each write of the block at its end, so that what it would do can be counted."""
    before = _rehearsed.set(is_on)
    try:
        yield
    finally:
        _rehearsed.reset(before)


def is_rehearsing() -> bool:
    return _rehearsed.get()


class Step(StrEnum):
    """A step that is measured."""

    SEARCH = "search"
    SEARCH_TURNS = "search_turns"
    QUERY = "query"
    CONTEXT = "context"
    EMBEDDING = "embedding"


Watch = Callable[[Step], contextlib.AbstractContextManager[object]]
"""Returns the context manager that a step runs in. It must not raise."""


@dataclass(slots=True)
class _Ledger:
    """The history rows and index changes that this transaction adds for one user."""

    revision: int
    index_stamp: int = 0
    index_epoch: int = 0
    index_removals: int = 0
    is_followed: bool = False
    index_changed: bool = False
    rows: list[list[Any]] = field(default_factory=list)
    """Of history, the values in the order of its columns."""


class WriteTransaction:
    """An open write transaction of one user.

    Collects history and writes it with the new revision just before the commit.
    """

    def __init__(
        self,
        backend: Backend,
        connection: sa.Connection,
        now: datetime,
        policy: Policy,
        analyser: Analyser,
        user_id: str,
        others: AbstractSet[str] = frozenset(),
        known: KnownVectors | None = None,
        member: str | None = None,
    ) -> None:
        self.backend = backend
        self.connection = connection
        self.now = now
        self.policy = policy
        self.analyser = analyser
        self.user_id = user_id
        self.known = known  # None: nobody has asked yet which vectors there could be
        self.queued_jobs = 0
        self.keeps_user = False  # set by writes that leave something without a row of history
        self._new_users: set[str] = set()
        self._ledgers: dict[str, _Ledger] = {}
        self._acts_for = {member or user_id}  # as the transaction was begun
        self._acts_for_all = False
        self._act_for_also(others)
        for locked in sorted({user_id, *others}):
            self._ledger(locked)

    @property
    def revision(self) -> int:
        return self._ledgers[self.user_id].revision

    @property
    def is_first(self) -> bool:
        """True where the writing user had no row: they are new, or were just erased."""
        return self.user_id in self._new_users

    def take_ids(self, series: str, count: int) -> list[int]:
        return self.backend.take_ids(self.connection, series, count)

    def record(
        self,
        event: Event,
        item_id: int,
        *,
        actor: str,
        reason: str | None = None,
        old_ref: int | None = None,
        new_ref: int | None = None,
        other_user: str | None = None,
        meta: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        user_id: str | None = None,
    ) -> None:
        """Add one row of history, which is one revision.

        ``user_id``: the user whose history it goes into, by default the writing user.
        """
        ledger = self._ledger(user_id or self.user_id)
        ledger.revision += 1
        ledger.rows.append(
            [
                user_id or self.user_id,
                ledger.revision,
                event.value,
                item_id,
                self.now,
                actor,
                reason,
                old_ref,
                new_ref,
                other_user,
                dict(meta or {}),
                None if before is None else dict(before),
            ]
        )

    def concern(self, user_id: str) -> None:
        """Lock another user, and let the transaction touch their rows."""
        self._ledger(user_id)

    def next_stamp(self) -> int:
        """The stamp of this transaction's changes to the user's search index."""
        ledger = self._ledgers[self.user_id]
        if not ledger.index_changed:
            ledger.index_changed = True
            ledger.index_stamp += 1
        return ledger.index_stamp

    def note_removal(self) -> None:
        """Rows were removed from the index: copies must find out which."""
        stamp = self.next_stamp()
        self._ledgers[self.user_id].index_removals = stamp

    def note_rewrite(self) -> None:
        """Much of the index was rebuilt: copies must start over."""
        stamp = self.next_stamp()
        self._ledgers[self.user_id].index_epoch = stamp

    def continue_from(self, revision: int) -> None:
        """Continue after a history that was imported."""
        self._ledgers[self.user_id].revision = revision

    def enqueue(self, job: NewJob) -> None:
        """Queue a job in this transaction: it exists exactly if the write does."""
        self._act_for_also([job.user_id])  # jobs of the store as a whole are nobody's
        put_job(self.backend, self.connection, job, self.now)
        self.queued_jobs += 1

    @contextlib.contextmanager
    def acting_for_all(self) -> Iterator[None]:
        """See and change everybody's rows inside the block.

        For the few steps of a user's write that concern users who are not known before.
        """
        if self._acts_for_all:
            yield
            return
        self.backend.act_for_all(self.connection)
        self._acts_for_all = True
        yield
        self._acts_for_all = False
        self.backend.act_for_all(self.connection, acting=False)

    def flush(self) -> None:
        """Write the collected history and advance the revisions and stamps."""
        for user_id, ledger in self._ledgers.items():
            stamps = {
                "of_user": user_id,
                "index_stamp": ledger.index_stamp,
                "index_epoch": ledger.index_epoch,
                "index_removals": ledger.index_removals,
            }
            if ledger.rows:
                _insert_history.run_rows(self.connection, ledger.rows)
                moved = {"revision": ledger.revision, "updated_at": self.now}
                _advance_user.run(self.connection, {**stamps, **moved})
                ledger.rows.clear()
                if ledger.is_followed:
                    self.enqueue(NewJob(kind=NOTE_JOB, user_id=user_id, run_at=self.now))
            elif ledger.index_changed:
                _stamp_user.run(self.connection, stamps)
            elif user_id in self._new_users and not self.keeps_user:
                _forget_user.run(self.connection, {"user_id": user_id})

    def _ledger(self, user_id: str) -> _Ledger:
        """The user's ledger; locks their row, which their first write creates."""
        if user_id in self._ledgers:
            return self._ledgers[user_id]
        self._act_for_also([user_id])
        # Beyond all stamps of an erased user of the same name: an import restores the time of a
        # user's creation, so only the stamps reveal a stale copy of the index in another process.
        stamp = int(self.now.timestamp() * 1_000_000)
        for _ in range(_LOCK_ATTEMPTS):  # in between, another transaction may make or erase it
            rows = _lock_user.run(self.connection, {"user_id": user_id})
            if rows:
                ledger = self._ledgers[user_id] = _Ledger(*rows[0])
                return ledger
            made = {"user_id": user_id, "now": self.now, "stamp": stamp}
            if _make_user.run(self.connection, made):
                self._new_users.add(user_id)
        raise RaceLost(f"user {user_id!r} is made and erased again and again; try again")

    def _act_for_also(self, users: Collection[str]) -> None:
        """Let the transaction also touch the rows of these users, to record a change for them."""
        others = set(users) - {self.user_id}  # a member reaches the space of a group as themselves
        if not self._acts_for.issuperset(others):
            self._acts_for.update(others)
            self.backend.act_for(self.connection, self._acts_for)


class ReadTransaction:
    """A consistent view of the database: of what one user may see, or of everything."""

    def __init__(self, connection: sa.Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.positions: dict[str, Any] = {}  # those of users' indexes, once they were read


class Database:
    """The store: opens transactions, knows the time, signals new jobs."""

    def __init__(self, backend: Backend, clock: Clock, policy: Policy, analyser: Analyser) -> None:
        self.backend = backend
        self.clock = clock
        self.policy = policy
        self.analyser = analyser
        self.on_job_queued: Callable[[], None] = lambda: None
        self.watch: Watch = lambda _step: contextlib.nullcontext()

    @property
    def database(self) -> Self:
        """Itself, so that :func:`retried` can wrap functions whose first argument is a database."""
        return self

    @contextlib.contextmanager
    def read(self, user_id: str) -> Iterator[ReadTransaction]:
        """A consistent view of what one user may see; see also :meth:`as_member`. Raises
        StorageError: the database could not answer."""
        with self.our_errors(), self.backend.reading() as connection:
            self._begin(connection, user_id)
            yield ReadTransaction(connection, self.clock())

    @contextlib.contextmanager
    def as_member(self, acting: Acting | None) -> Iterator[None]:
        """Let transactions on the space of a group be those of a member, as far as their role goes.

        Each looks up the role when it begins; under row-level security it reaches the space only
        through the membership. Without it, a transaction on a space is that of the service.
        """
        before = _member.set(acting)
        try:
            yield
        finally:
            _member.reset(before)

    def _begin(self, connection: sa.Connection, user_id: str) -> Acting | None:
        """Act for a user, or for the member who acts in a space; who that is.

        Raises:
            GroupNotFound, PermissionMissing: about the member.
        """
        acting = _member.get()
        if acting is None or acting.space != user_id:
            self.backend.act_for(connection, [user_id])
            return None
        self.backend.act_for(connection, [acting.member])
        check_acting(connection, acting)
        return acting

    @contextlib.contextmanager
    def reading_also(
        self, view: ReadTransaction, user_id: str, others: Collection[str]
    ) -> Iterator[None]:
        """Let the reads inside also see the rows of users who have offered theirs."""
        self.backend.act_for(view.connection, {user_id, *others})
        yield
        self.backend.act_for(view.connection, [user_id])

    @contextlib.contextmanager
    def read_all(self) -> Iterator[ReadTransaction]:
        """A consistent view of everybody's rows, for the job queue and administration. Raises
        StorageError: the database could not answer."""
        with self.our_errors(), self.backend.reading() as connection:
            self.backend.act_for_all(connection)
            yield ReadTransaction(connection, self.clock())

    @contextlib.contextmanager
    def write(
        self,
        user_id: str,
        *,
        touching: Sequence[int] = (),
        known: KnownVectors | None = None,
        shared: bool = False,
    ) -> Iterator[WriteTransaction]:
        """One transaction for one user's write: item, history, revision and job together.

        The user's row is locked first, so a user's writes are serialised and their revisions have
        no gaps. ``touching`` names the memories that will be changed: the users they are shared
        with are locked too, always in the same order, so that such writes cannot deadlock. Rows of
        users who are not locked cannot be touched. ``known`` are vectors computed beforehand;
        without them, new texts wait for the embedding job. ``shared``: see ``Backend.writing``.
        Raises StorageError: the database could not do it; nothing was written.
        """
        with contextlib.suppress(_UndoneError), self.our_errors():
            with self.backend.writing(shared=shared) as connection:
                acting = self._begin(connection, user_id)
                others = _others_concerned(connection, user_id, touching) if touching else set()
                writing = WriteTransaction(
                    self.backend,
                    connection,
                    self.clock(),
                    self.policy,
                    self.analyser,
                    user_id,
                    others,
                    known,
                    None if acting is None else acting.member,
                )
                if acting is not None:  # what changes members locks the space, too
                    check_acting(connection, acting)
                writing.now = self.clock()  # after the wait for the locks: later than who had them
                yield writing
                writing.flush()
                if is_rehearsing():
                    raise _UndoneError
            if writing.queued_jobs:
                self.on_job_queued()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A transaction over everybody's rows, for the job queue and administration. Raises
        StorageError: the database could not do it; nothing was written."""
        with self.our_errors(), self.backend.writing() as connection:
            self.backend.act_for_all(connection)
            yield connection

    @contextlib.contextmanager
    def transaction_for(self, users: Collection[str]) -> Iterator[sa.Connection]:
        """A transaction over the rows of these users, without locking them.

        For writes that change no memories: no history, no revision. Raises StorageError: the
        database could not do it; nothing was written.
        """
        with self.our_errors(), self.backend.writing() as connection:
            self.backend.act_for(connection, users)
            yield connection

    @contextlib.contextmanager
    def our_errors(self) -> Iterator[None]:
        """Translate driver errors into ours; others pass unchanged."""
        try:
            yield
        except Exception as error:  # the backend knows which of them are its driver's
            if self.backend.is_retryable(error):
                raise RaceLost(
                    f"{self.backend.location}: another transaction got in the way; try again"
                ) from error
            explained = self.backend.explain(error)
            if explained is None:
                raise
            raise explained from error


def _others_concerned(connection: sa.Connection, user_id: str, item_ids: Sequence[int]) -> set[str]:
    """The other users whose history records a change of these memories."""
    viewers = sa.select(links.c.user_id).where(
        links.c.owner_id == user_id, links.c.item_id.in_(item_ids)
    )
    owners = sa.select(links.c.owner_id).where(
        links.c.user_id == user_id, links.c.item_id.in_(item_ids)
    )
    return set(connection.execute(sa.union(viewers, owners)).scalars())


class _HasDatabase(Protocol):
    @property
    def database(self) -> Database: ...


Writer = TypeVar("Writer", bound=_HasDatabase)


def retried(method: Callable[Concatenate[Writer, P], T]) -> Callable[Concatenate[Writer, P], T]:
    """Retry a write whose transaction lost against another one.

    On PostgreSQL two writers that touch each other's users can deadlock; the database aborts one of
    them, which can start over.
    """

    @functools.wraps(method)
    def run(self: Writer, *args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(MAX_CONFLICT_RETRIES):
            try:
                return method(self, *args, **kwargs)
            except RaceLost:
                # Avoid meeting the same competitor again.
                time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))
        return method(self, *args, **kwargs)

    return cast(Callable[Concatenate[Writer, P], T], run)


def require_confined(database: Database) -> None:
    """Require that row-level security binds the connected role.

    A SQLite file has no roles.

    Raises:
        RoleNotConfined: the role could read every user's rows; the message says what to do.
        StorageError: the database could not answer.
    """
    with database.our_errors():
        problem = database.backend.confinement_problem()
    if problem is not None:
        raise RoleNotConfined(
            f"{database.backend.location}: {problem}, so a mistake in one query could show one user"
            " the memories of another. As the owner of the tables run: ricordo migrate, and:"
            " ricordo database grant ROLE. Then connect as that role"
        )
