"""PostgreSQL refuses for a while, turns read-only, restarts, crashes, and cuts connections while it
is written to."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

from ricordo import Memory, StorageBusy, StorageReadOnly, StorageUnavailable, UserMemory
from ricordo.storage.tables import metadata
from ricordo.wiring import open_memory
from tests.faults.test_processes import every_item
from tests.support import postgres
from tests.support.commandline import ricordo
from tests.support.cutting import before_command
from tests.support.own_postgres import OwnServer, own_server
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of
from tests.support.waiting import wait_until

refusals = pytest.mark.requirement("faults.postgres-refusals")
restarts = pytest.mark.requirement("faults.postgres-restart")
OpenStore = Callable[..., Memory]
WRITERS = 4
BATCH = 5


def with_option(url: str, option: str) -> str:
    changed = sa.make_url(url).update_query_dict({"options": f"-c {option}"})
    return changed.render_as_string(hide_password=False)


@pytest.fixture
def locked_user(postgres_url: str, open_store: OpenStore) -> Iterator[psycopg.Connection]:
    """Somebody has locked the row of ana, and does not let go of it."""
    open_store(postgres_url).user("ana").add("Has a cat")
    with psycopg.connect(postgres.as_owner(postgres_url)) as connection:
        connection.execute("SELECT 1 FROM users WHERE user_id = 'ana' FOR UPDATE")
        yield connection


@refusals
@pytest.mark.parametrize(
    ("option", "patience", "said"),
    [
        ("statement_timeout=200", 30.0, "the statement took too long; try again"),
        ("application_name=ricordo", 0.2, "a lock was not released in time; try again"),
    ],
)
def test_a_statement_or_lock_that_takes_too_long(
    postgres_url: str,
    locked_user: psycopg.Connection,
    open_store: OpenStore,
    option: str,
    patience: float,
    said: str,
) -> None:
    url = with_option(postgres_url, option)
    memory = open_store(url, port=0, busy_timeout_seconds=patience)
    ana = memory.user("ana")
    with pytest.raises(StorageBusy, match=said):
        ana.add("Has a dog")
    assert [item.content for item in ana.list()] == ["Has a cat"]  # readers do not wait
    memory.user("ben").add("Nobody else waits")
    with running(memory) as service:
        refused = service.client("ana").post("/v1/memories", json={"content": "Has a dog"})
        assert problem(refused) == (503, "StorageBusy")
        assert refused.headers["retry-after"] == "1"
    locked_user.rollback()
    ana.add("Has a bird")
    assert ana.revision() == 2
    assert problems_of(memory) == []


@refusals
def test_a_transaction_that_is_idle_for_too_long(postgres_url: str, open_store: OpenStore) -> None:
    memory = open_store(with_option(postgres_url, "idle_in_transaction_session_timeout=50"))
    ana = memory.user("ana")
    ana.add("Has a cat")
    told = pytest.raises(StorageUnavailable, match="idle for too long")
    with told, memory.database.write("ana") as writing:
        wait_until(lambda: sessions_of(postgres_url) == 0)
        writing.connection.execute(sa.text("SELECT 1"))
    ana.add("Has a dog")
    assert ana.revision() == 2


def sessions_of(url: str) -> int:
    """How many of the application's connections are inside a transaction."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'ricordo' AND state LIKE 'idle in transaction%'"
    )
    with psycopg.connect(postgres.as_owner(url), autocommit=True) as connection:
        (found,) = connection.execute(asked).fetchone() or (0,)
    return int(found)


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as started:
        with open_memory(started.url, run_jobs=False, embedding_provider="none") as memory:
            memory.user("ana").add("Has a cat")
        yield started


@refusals
@pytest.mark.chaos
def test_a_failover_to_a_standby(server: OwnServer, open_store: OpenStore) -> None:
    memory = open_store(server.url, port=0, embedding_provider="none")
    ana = memory.user("ana")
    revision = ana.revision()
    server.demote()
    try:
        with running(memory) as service:
            client = service.client("ana")
            assert ana.list()
            with pytest.raises(StorageReadOnly, match="may not be written"):
                ana.add("Has a dog")
            assert ana.search("cat").results
            refused = client.post("/v1/memories", json={"content": "Has a dog"})
            assert problem(refused) == (503, "StorageReadOnly")
            assert client.get("/readyz").status_code == 200
            assert client.get("/v1/memories").status_code == 200
            ran = ricordo("add", "Has a dog", "-u", "ana", "--db", server.url, "--json")
            assert (ran.code, ran.error["error"]) == (6, "StorageReadOnly")
    finally:
        server.promote()
    ana.add("Has a dog")
    assert ana.revision() == revision + 1
    assert problems_of(memory) == []


@refusals
@pytest.mark.chaos
def test_a_server_without_connections_left(server: OwnServer) -> None:
    with psycopg.connect(server.url, autocommit=True) as owner:
        owner.execute("CREATE ROLE narrow LOGIN CONNECTION LIMIT 1")
    url = sa.make_url(server.url).set(username="narrow").render_as_string()
    told = pytest.raises(StorageUnavailable, match="too many connections")
    with contextlib.closing(psycopg.connect(url)), told:
        open_memory(url, run_jobs=False)


class Writer(threading.Thread):
    """Writes until it is told to stop, and goes on after every failure, with a connection of the
    same store; keeps what was acknowledged."""

    def __init__(self, memory: Memory, number: int) -> None:
        super().__init__()
        self.user = memory.user(f"user-{number % 2}")  # two write for the same user
        self.name_of = f"Writer {number}"
        self.enough = threading.Event()
        self.acknowledged: set[str] = set()
        self.said: set[str] = set()
        self.failed = 0
        self.unforeseen: list[Exception] = []

    def run(self) -> None:
        number = 0
        while not self.enough.is_set() and not self.unforeseen:
            number += 1
            try:
                self._write(f"{self.name_of} says {number}")
            except StorageUnavailable:
                self.failed += 1
                self.enough.wait(0.02)  # as a caller that tries again
            except Exception as problem:  # shown by the test
                self.unforeseen.append(problem)

    def _write(self, text: str) -> None:
        self.user.add(text)
        self.acknowledged.add(text)
        parts = [f"{text}, part {part}" for part in range(BATCH)]
        self.user.add_many(parts)
        self.acknowledged.update(parts)
        self.user.observe([{"role": "user", "content": text, "id": text}], thread=self.name_of)
        self.said.add(text)
        self.user.add(text + ", lastly", key=self.name_of)

    def check(self) -> None:
        """All that was acknowledged is there, and no batch is there by halves."""
        assert self.unforeseen == []
        contents = {item.content for item in every_item(self.user)}
        assert contents >= self.acknowledged
        begun = {one.rpartition(", part ")[0] for one in contents if ", part " in one}
        assert all(f"{one}, part {part}" in contents for one in begun for part in range(BATCH))
        said = {turn.content for turn in self.user.turns(self.name_of, limit=1_000)}
        assert said >= self.said


def write_while(memory: Memory, disturb: Callable[[], object], times: int) -> None:
    """Let writers write, disturb them several times, and let them go on after the last."""
    writers = [Writer(memory, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for time in range(times + 1):
            before = [len(writer.said) for writer in writers]
            wait_until(
                lambda before=before: all(
                    len(writer.said) > count or writer.unforeseen
                    for writer, count in zip(writers, before, strict=True)
                )
            )
            if time < times:
                disturb()
    finally:
        for writer in writers:
            writer.enough.set()
        for writer in writers:
            writer.join()
    for writer in writers:
        writer.check()
    assert sum(writer.failed for writer in writers) > 0
    assert problems_of(memory) == []


@restarts
@pytest.mark.chaos
def test_a_server_that_restarts_and_crashes_under_load(
    server: OwnServer, open_store: OpenStore
) -> None:
    memory = open_store(server.url, embedding_provider="none", pool_size=6)
    endings = iter((server.stop, server.crash))

    def restart() -> None:
        next(endings)()
        server.start()

    write_while(memory, restart, times=2)


@pytest.fixture
def owner(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection that nobody cuts."""
    with psycopg.connect(postgres.as_owner(postgres_url), autocommit=True) as connection:
        yield connection


WRITES: dict[str, Callable[[UserMemory], object]] = {
    "add": lambda user: user.add("Lives in Oslo", key="home"),
    "observe": lambda user: user.observe([{"role": "user", "content": "Hello"}], thread="t"),
}


@restarts
@pytest.mark.chaos
@pytest.mark.requirement("storage.lost-connection")
@pytest.mark.parametrize("write", WRITES)
def test_a_connection_that_is_cut_between_any_two_commands(
    postgres_url: str, open_store: OpenStore, write: str, owner: psycopg.Connection
) -> None:
    memory = open_store(postgres_url, embedding_provider="none", pool_size=1)
    number, failed, is_over = 0, 0, False
    while not is_over:
        number += 1
        user = memory.user(f"user-{number}")
        user.add("Lives in Rome", key="home")
        before = everything_stored(owner)
        with before_command(number, lambda: cut_all(owner)) as commands:
            try:
                WRITES[write](user)
            except StorageUnavailable as told:
                assert "cannot be reached" in str(told) or "connection" in str(told)
                assert everything_stored(owner) == before  # all of it was rolled back
                failed += 1
                continue
        # Cut before it had begun, which a fresh connection makes up for; or not at all any more.
        assert everything_stored(owner) != before
        is_over = len(commands) < number
    assert failed > 3
    assert problems_of(memory) == []


def cut_all(owner: psycopg.Connection) -> None:
    owner.execute(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'ricordo'"
    )


def everything_stored(owner: psycopg.Connection) -> list[tuple[int, ...]]:
    """How many rows each table has."""
    counts = ", ".join(f"(SELECT count(*) FROM {table.name})" for table in metadata.sorted_tables)
    return owner.execute(f"SELECT {counts}").fetchall()  # type: ignore[arg-type]


@restarts
@pytest.mark.chaos
def test_the_surfaces_say_so_and_go_on(server: OwnServer, open_store: OpenStore) -> None:
    memory = open_store(server.url, port=0, embedding_provider="none", busy_timeout_seconds=2)
    with running(memory) as service:
        client = service.client("cem")
        assert client.post("/v1/memories", json={"content": "Before"}).status_code == 201
        server.stop()
        try:
            for asked in (
                client.post("/v1/memories", json={"content": "Meanwhile"}),
                client.get("/v1/memories"),
                client.get("/readyz"),
            ):
                assert problem(asked) == (503, "StorageUnavailable")
                assert "socket" not in asked.text
            assert client.get("/healthz").status_code == 200
            ran = ricordo("add", "Meanwhile", "-u", "cem", "--db", server.url, "--json")
            assert (ran.code, ran.error["error"]) == (6, "StorageUnavailable")
            assert "cannot be reached" in ran.error["message"]
        finally:
            server.start()
        assert client.get("/readyz").status_code == 200
        assert client.post("/v1/memories", json={"content": "Afterwards"}).status_code == 201
    contents = [item.content for item in memory.user("cem").list()]
    assert contents == ["Afterwards", "Before"]
