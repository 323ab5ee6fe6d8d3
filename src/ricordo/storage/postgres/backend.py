"""A PostgreSQL database behind a connection pool."""

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from ricordo import fork_safety
from ricordo.errors import (
    InvalidValue,
    StorageBusy,
    StorageClosed,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
)
from ricordo.storage.backend import SearchIndex, ids_within_reach
from ricordo.storage.postgres import security
from ricordo.storage.postgres.search import PostgresSearch
from ricordo.storage.postgres.security import confinement_problem, owner_elsewhere, security_problem
from ricordo.storage.sql import driver_of
from ricordo.storage.tables import ID_SERIES, metadata

APPLICATION: Final = "ricordo"
"""The application name of our connections."""

_POOLED: Final = "ricordo-pooled"
_NO_OPTIONS: Final = "unsupported startup parameter"  # what PgBouncer says of them
_PATIENCE_SECONDS: Final = 2.0  # the server takes a moment to notice that somebody has gone
_RETRY_SECONDS: Final = 0.02
_OTHERS: Final = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s AND pid <> pg_backend_pid()
"""


# Keys of advisory locks: arbitrary numbers.
_MIGRATION_LOCK: Final = 7_263_551_001
_ID_LOCK: Final = 7_263_551_002
_IMPORT_LOCK: Final = 7_263_551_003

_READ_ONLY: Final = "25006"
_ERROR_CLASSES: Final[dict[str, tuple[type[StorageError], str]]] = {
    "08": (StorageUnavailable, "the connection was lost"),
    _READ_ONLY: (StorageReadOnly, "the database may not be written"),
    "25P03": (StorageUnavailable, "the connection was lost: a transaction was idle for too long"),
    "25P04": (StorageUnavailable, "the connection was lost: a transaction took too long"),
    "28": (StorageUnavailable, "the database refused the login"),
    "3D": (StorageUnavailable, "there is no such database"),
    "3F": (StorageUnavailable, "the role may not use the schema"),
    "42501": (StorageReadOnly, "the role lacks a permission"),
    "53100": (StorageFull, "the disk of the database is full"),
    "53": (StorageBusy, "the database has no resources left; try again"),
    "55P03": (StorageBusy, "a lock was not released in time; try again"),
    "57014": (StorageBusy, "the statement took too long; try again"),
    "57": (StorageUnavailable, "the database is shutting down"),
    "58": (StorageUnavailable, "the database failed to read or write"),
    "XX001": (StorageCorrupt, "the database reports damaged data"),
    "XX002": (StorageCorrupt, "the database reports a damaged index"),
}
# Not installed on the server, or not on the search path.
_MISSING_EXTENSION: Final = {"0A000", "42704", "58P01"}
# The error of a standby for a read-write transaction.
_NOT_SUPPORTED: Final = "0A000"
_ON_STANDBY: Final = "during recovery"
_LOST_AGAINST_ANOTHER: Final = {"40P01", "40001"}
_UNIQUE_VIOLATION: Final = "23505"
# Two transactions may add the same job at once, since the queue is not locked.
_RACED_CONSTRAINTS: Final = {"uq_jobs_queued"}


class PostgresBackend:
    """The store on a server. Safe across threads and processes, and after a fork."""

    name = "postgresql"
    overwrites_freed_space = False

    def __init__(
        self, url: str, pool_size: int, busy_timeout_seconds: float, exact_scan_rows: int
    ) -> None:
        try:
            parsed = sa.make_url(url)
        except (sa.exc.ArgumentError, ValueError):
            raise InvalidValue("url", "is not a PostgreSQL address, postgresql://…") from None
        self._url = parsed.set(drivername="postgresql+psycopg")
        self._location = parsed.render_as_string(hide_password=True)
        self._pool_size = pool_size
        self.search: SearchIndex = PostgresSearch(exact_scan_rows)
        self._busy_timeout_seconds = busy_timeout_seconds
        self._closed = False
        self._set_up()
        fork_safety.reset_in_child(self)

    def _set_up(self) -> None:
        milliseconds = max(1, int(self._busy_timeout_seconds * 1000))  # 0 would be for ever
        self._given_options = self._url.query.get("options", "")
        self._in_pooled = f"SET LOCAL lock_timeout = {milliseconds}; SET LOCAL timezone = 'UTC'"
        self._takes_options = True
        self._engine = sa.create_engine(
            self._url,
            pool_size=self._pool_size,
            max_overflow=0,
            pool_timeout=self._busy_timeout_seconds,
            pool_pre_ping=True,
            use_native_hstore=False,  # there is none: no need to ask for it
            hide_parameters=True,  # of an error or a log line: they are what people said
            connect_args={
                "connect_timeout": max(2, int(self._busy_timeout_seconds)),
                "application_name": APPLICATION,
                "options": f"-c timezone=UTC -c lock_timeout={milliseconds} {self._given_options}",
            },
        )
        sa.event.listen(self._engine, "do_connect", self._connect)
        sa.event.listen(self._engine, "begin", self._prepare_pooled)
        self._snapshots = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )

    def _connect(
        self,
        dialect: sa.Dialect,
        record: sa.pool.ConnectionPoolEntry,
        arguments: Sequence[Any],
        parameters: dict[str, Any],
    ) -> Any:
        """Connect, also through a pooler.

        A pooler (PgBouncer) keeps our options to itself and may serve each transaction on another
        connection: statements are not prepared then, and each transaction says what it needs.
        """
        connection: Any = None
        if self._takes_options:
            try:
                connection = dialect.connect(*arguments, **parameters)
            except psycopg.OperationalError as refused:
                if _NO_OPTIONS not in str(refused):
                    raise
                self._takes_options = False
        if connection is None:
            connection = dialect.connect(*arguments, **{**parameters, "options": ""})
        connection.autocommit = True
        (server,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (None,)
        connection.autocommit = False
        if server == connection.info.backend_pid:
            return connection
        if self._given_options:  # such as a search path: without it we might make other tables
            connection.close()
            raise InvalidValue(
                "url",
                "options do not come through a connection pooler; set them for the role"
                " (ALTER ROLE … SET search_path = …) and leave them out",
            )
        connection.prepare_threshold = None
        record.info[_POOLED] = True
        return connection

    def _prepare_pooled(self, connection: sa.Connection) -> None:
        if _POOLED in connection.info:
            driver_of(connection).execute(self._in_pooled)

    def reset_after_fork(self) -> Any:
        """Start afresh in a child process, without touching the parent's sockets."""
        inherited = (self._engine, self._snapshots)
        self._set_up()
        return inherited

    @property
    def location(self) -> str:
        return self._location

    def reading(self) -> contextlib.AbstractContextManager[sa.Connection]:
        self._check_open()
        return self._snapshots.begin()

    def writing(self, *, shared: bool = False) -> contextlib.AbstractContextManager[sa.Connection]:
        del shared  # the server lets commits wait for each other by itself (commit_delay)
        self._check_open()
        return self._engine.begin()

    def act_for(self, connection: sa.Connection, users: Collection[str]) -> None:
        _set_parameter(connection, security.ACT_FOR, security.array_of(users))

    def act_for_all(self, connection: sa.Connection, acting: bool = True) -> None:
        _set_parameter(connection, security.ACT_FOR_ALL, "on" if acting else "off")

    @contextlib.contextmanager
    def migrating(self) -> Iterator[sa.Connection]:
        with self.writing() as connection:
            # Others wait for the whole migration, however long it takes.
            connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            yield connection

    def secure(self, connection: sa.Connection) -> None:
        if security_problem(connection) is not None:
            security.secure(connection)

    def owner_elsewhere(self, connection: sa.Connection) -> str | None:
        return owner_elsewhere(connection)

    def confinement_problem(self) -> str | None:
        with self.reading() as connection:
            return confinement_problem(connection)

    def prepare_planner(self, connection: sa.Connection) -> None:
        pass  # autovacuum keeps its statistics

    def take_ids(self, connection: sa.Connection, series: str, count: int) -> list[int]:
        # A shared lock until commit, so that keep_ids can wait for ids being taken.
        rows = connection.exec_driver_sql(
            "WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(%s))"
            " SELECT nextval(%s::regclass) FROM locked, generate_series(1, %s)",
            (_ID_LOCK, series, count),
        )
        return sorted(row[0] for row in rows)

    def keep_ids(self, series: str, ids: Iterable[int]) -> None:
        with self._engine.begin() as connection:  # short: every writer waits for it
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ID_LOCK})")
            present = connection.exec_driver_sql(
                "SELECT nextval(%s::regclass)", (series,)
            ).scalar_one()
            reached = max([present, *ids_within_reach(ids, present)])
            connection.exec_driver_sql("SELECT setval(%s::regclass, %s)", (series, reached))

    def ids_given(self, connection: sa.Connection) -> dict[str, int]:
        last = {}  # outside any snapshot
        for series in ID_SERIES:
            found = f"SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM {series}"  # noqa: S608 - ours
            last[series] = int(connection.exec_driver_sql(found).scalar_one())
        return last

    def go_on_after(self, connection: sa.Connection, given: Mapping[str, int]) -> None:
        for series, present in self.ids_given(connection).items():
            last = max(present, given.get(series, 0))
            connection.exec_driver_sql(  # not rolled back
                "SELECT setval(%s::regclass, greatest(%s, 1), %s)", (series, last, last > 0)
            )

    def hides_rows(self, connection: sa.Connection) -> bool:
        names = [table.name for table in metadata.sorted_tables]
        bound = "SELECT bool_or(row_security_active(name)) FROM unnest(CAST(%s AS text[])) AS name"
        return bool(connection.exec_driver_sql(bound, (names,)).scalar_one())

    def claim_tables(self, connection: sa.Connection) -> None:
        others = _other_connections(connection)
        if others:
            raise StorageBusy(
                f"{self.location}: {others} other connections of ricordo are open; stop the"
                " service, its workers, a pooler and whatever else uses it, then try again"
            )
        names = ", ".join(table.name for table in metadata.sorted_tables)
        connection.exec_driver_sql(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")

    def one_import_at_a_time(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_IMPORT_LOCK})")

    def scrub(self) -> bool:
        # Plain VACUUM: the space can be reused at once. Returning it to the disk would need a lock
        # that waits for every reader.
        tables = ", ".join(table.name for table in metadata.sorted_tables)
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql(f"VACUUM (TRUNCATE false) {tables}")
        return False

    def check(self) -> list[str]:
        with self.reading() as connection:
            connection.exec_driver_sql("SELECT 1")
        return []

    def size_bytes(self, connection: sa.Connection) -> int:
        found = connection.exec_driver_sql("SELECT pg_database_size(current_database())")
        return int(found.scalar_one())

    def explain(self, error: Exception) -> StorageError | None:
        if isinstance(error, sa.exc.TimeoutError):
            return StorageBusy(f"{self.location}: every connection is in use; try again")
        original = getattr(error, "orig", None) or error
        if not isinstance(original, psycopg.Error):
            return None
        state = original.sqlstate
        if state is None:  # psycopg found out by itself, mostly that there is no connection
            if isinstance(original, psycopg.OperationalError | psycopg.InterfaceError):
                return StorageUnavailable(f"{self.location}: cannot be reached ({original})")
            return StorageError(f"{self.location}: the driver refused ({original})")
        if state in _MISSING_EXTENSION and "vector" in str(original):
            return StorageUnavailable(
                f"{self.location}: needs the extension pgvector, in a schema of the search path"
                f" ({original})"
            )
        if state == _NOT_SUPPORTED and _ON_STANDBY in str(original):
            state = _READ_ONLY
        for prefix in (state, state[:2]):
            if prefix in _ERROR_CLASSES:
                kind, advice = _ERROR_CLASSES[prefix]
                message = original.diag.message_primary or type(original).__name__
                return kind(f"{self.location}: {advice} ({message})")
        # Without the server's message, which may quote a whole row.
        named = (type(original).__name__, original.sqlstate, original.diag.constraint_name)
        what = ", ".join(name for name in named if name is not None)
        return StorageError(f"{self.location}: the database refused ({what})")

    def is_retryable(self, error: Exception) -> bool:
        original = getattr(error, "orig", None) or error
        if not isinstance(original, psycopg.Error):
            return False
        if original.sqlstate == _UNIQUE_VIOLATION:
            return original.diag.constraint_name in _RACED_CONSTRAINTS
        return original.sqlstate in _LOST_AGAINST_ANOTHER

    def connections_in_use(self) -> int:
        assert isinstance(self._engine.pool, sa.pool.QueuePool)
        return self._engine.pool.checkedout()

    def close(self) -> None:
        self._closed = True
        self._engine.dispose()

    def _check_open(self) -> None:
        if self._closed:
            raise StorageClosed(f"{self.location}: this Memory was closed")


def _other_connections(connection: sa.Connection) -> int:
    """The number of other ricordo connections to the database, also idle ones."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        # Otherwise the view is cached within a transaction.
        connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")
        found = int(connection.exec_driver_sql(_OTHERS, (APPLICATION,)).scalar_one())
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(_RETRY_SECONDS)


def _set_parameter(connection: sa.Connection, statement: str, value: str) -> None:
    """Set a configuration parameter, on the driver's cursor, because every transaction does it."""
    driver_of(connection).execute(statement, (value,))
