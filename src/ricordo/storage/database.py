"""Reading and writing transactions over either backend, with our errors for the driver's."""

import contextlib
import functools
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import Concatenate, Final, ParamSpec, Protocol, Self, TypeVar, cast

import sqlalchemy as sa

from ricordo.clock import Clock
from ricordo.errors import RoleNotConfined
from ricordo.limits import MAX_CONFLICT_RETRIES
from ricordo.model.embedding import KnownVectors
from ricordo.model.scope import Policy
from ricordo.storage.backend import Backend, RaceLost, Watch, unwatched
from ricordo.storage.links import others_concerned
from ricordo.storage.transaction import WriteTransaction
from ricordo.text.analyser import Analyser

_LONGEST_PAUSE_SECONDS: Final = 0.05

P = ParamSpec("P")
T = TypeVar("T")


class ReadTransaction:
    """A consistent view of the database at one moment: of what one user may see, or of all."""

    def __init__(self, connection: sa.Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now


class Database:
    """The store: hands out transactions, knows the time, tells the queue of new work."""

    def __init__(self, backend: Backend, clock: Clock, policy: Policy, analyser: Analyser) -> None:
        self.backend = backend
        self.clock = clock
        self.policy = policy
        self.analyser = analyser
        self.on_job_queued: Callable[[], None] = lambda: None
        self.watch: Watch = unwatched

    @property
    def database(self) -> Self:
        """Itself, so that functions which take a database can be :func:`retried`."""
        return self

    @contextlib.contextmanager
    def read(self, user_id: str) -> Iterator[ReadTransaction]:
        """A consistent view, for several reads, of what one user may see.

        Raises:
            StorageError: the database could not answer.
        """
        with self.our_errors(), self.backend.reading() as connection:
            self.backend.act_for(connection, [user_id])
            yield ReadTransaction(connection, self.clock())

    @contextlib.contextmanager
    def reading_also(
        self, view: ReadTransaction, user_id: str, others: Collection[str]
    ) -> Iterator[None]:
        """Let what is read inside see the rows of others as well: those who have offered them."""
        self.backend.act_for(view.connection, {user_id, *others})
        yield
        self.backend.act_for(view.connection, [user_id])

    @contextlib.contextmanager
    def read_all(self) -> Iterator[ReadTransaction]:
        """A consistent view of everybody's rows, for what belongs to no user: the job queue,
        administration.

        Raises:
            StorageError: the database could not answer.
        """
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
    ) -> Iterator[WriteTransaction]:
        """One transaction for one user's write: item, history, revision and job together.

        The user's row is locked first, so one user's writes happen one after the other and their
        revisions have no gaps. ``touching`` names the memories that will be changed: whoever they
        are shared with is locked too, everyone in the same order, so that two such writes wait
        for each other instead of deadlocking. Rows of others than those who are locked cannot be
        touched. ``known`` are the vectors computed beforehand; without them, new texts wait for
        the job that makes vectors.

        Raises:
            StorageError: the database could not do it; nothing was written.
        """
        with self.our_errors():
            with self.backend.writing() as connection:
                self.backend.act_for(connection, [user_id])
                others = others_concerned(connection, user_id, touching) if touching else set()
                writing = WriteTransaction(
                    self.backend,
                    connection,
                    self.clock(),
                    self.policy,
                    self.analyser,
                    user_id,
                    others,
                    known,
                )
                writing.now = self.clock()  # after the wait for the locks: later than who had them
                yield writing
                writing.flush()
            if writing.queued_jobs:
                self.on_job_queued()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A transaction that belongs to no user and may touch everybody's rows: the job queue,
        administration.

        Raises:
            StorageError: the database could not do it; nothing was written.
        """
        with self.our_errors(), self.backend.writing() as connection:
            self.backend.act_for_all(connection)
            yield connection

    @contextlib.contextmanager
    def transaction_for(self, users: Collection[str]) -> Iterator[sa.Connection]:
        """A transaction that touches rows of these users alone, and has nobody wait for it.

        For what is no change of their memories: no history, no revision, no lock.

        Raises:
            StorageError: the database could not do it; nothing was written.
        """
        with self.our_errors(), self.backend.writing() as connection:
            self.backend.act_for(connection, users)
            yield connection

    @contextlib.contextmanager
    def our_errors(self) -> Iterator[None]:
        """Turn what a driver raises into our errors; everything else passes as it is."""
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


class _HasDatabase(Protocol):
    @property
    def database(self) -> Database: ...


Writer = TypeVar("Writer", bound=_HasDatabase)


def retried(method: Callable[Concatenate[Writer, P], T]) -> Callable[Concatenate[Writer, P], T]:
    """Run what writes again when its transaction lost against another one.

    On PostgreSQL two writers that touch each other's users can deadlock; the database then ends
    one of them, which has written nothing and can simply start over.
    """

    @functools.wraps(method)
    def run(self: Writer, *args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(MAX_CONFLICT_RETRIES):
            try:
                return method(self, *args, **kwargs)
            except RaceLost:
                # Not at once against the same one.
                time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))
        return method(self, *args, **kwargs)

    return cast(Callable[Concatenate[Writer, P], T], run)


def require_confined(database: Database) -> None:
    """See to it that row-level security binds the role that is connected.

    A store in a file has no roles: whoever can open it can read all of it.

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
