"""Read and write transactions over either backend; driver errors become ours."""

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
    """A consistent view of the database: of what one user may see, or of everything."""

    def __init__(self, connection: sa.Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now


class Database:
    """The store: opens transactions, knows the time, signals new jobs."""

    def __init__(self, backend: Backend, clock: Clock, policy: Policy, analyser: Analyser) -> None:
        self.backend = backend
        self.clock = clock
        self.policy = policy
        self.analyser = analyser
        self.on_job_queued: Callable[[], None] = lambda: None
        self.watch: Watch = unwatched

    @property
    def database(self) -> Self:
        """Itself, so that :func:`retried` can wrap functions whose first argument is a database."""
        return self

    @contextlib.contextmanager
    def read(self, user_id: str) -> Iterator[ReadTransaction]:
        """A consistent view of what one user may see.

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
        """Let the reads inside also see the rows of users who have offered theirs."""
        self.backend.act_for(view.connection, {user_id, *others})
        yield
        self.backend.act_for(view.connection, [user_id])

    @contextlib.contextmanager
    def read_all(self) -> Iterator[ReadTransaction]:
        """A consistent view of everybody's rows, for the job queue and administration.

        Raises:
            StorageError: the database could not answer.
        """
        with self.our_errors(), self.backend.reading() as connection:
            self.backend.act_for_all(connection)
            yield ReadTransaction(connection, self.clock())

    @contextlib.contextmanager
    def write(
        self, user_id: str, *, touching: Sequence[int] = (), known: KnownVectors | None = None
    ) -> Iterator[WriteTransaction]:
        """One transaction for one user's write: item, history, revision and job together.

        The user's row is locked first, so a user's writes are serialised and their revisions have
        no gaps. ``touching`` names the memories that will be changed: the users they are shared
        with are locked too, always in the same order, so that such writes cannot deadlock. Rows of
        users who are not locked cannot be touched. ``known`` are vectors computed beforehand;
        without them, new texts wait for the embedding job.

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
        """A transaction over everybody's rows, for the job queue and administration.

        Raises:
            StorageError: the database could not do it; nothing was written.
        """
        with self.our_errors(), self.backend.writing() as connection:
            self.backend.act_for_all(connection)
            yield connection

    @contextlib.contextmanager
    def transaction_for(self, users: Collection[str]) -> Iterator[sa.Connection]:
        """A transaction over the rows of these users, without locking them.

        For writes that change no memories: no history, no revision.

        Raises:
            StorageError: the database could not do it; nothing was written.
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
