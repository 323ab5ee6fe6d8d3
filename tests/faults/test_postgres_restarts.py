"""PostgreSQL restarts, crashes and cuts connections while it is written to."""

import random
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from ricordo import Memory, StorageUnavailable, UserMemory
from ricordo.storage.tables import metadata
from tests.support import postgres
from tests.support.commandline import ricordo
from tests.support.cutting import before_command
from tests.support.own_postgres import OwnServer, own_server
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("faults.postgres-restart")
OpenStore = Callable[..., Memory]
WRITERS = 4
BATCH = 5


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as started:
        yield started


class Writer(threading.Thread):
    """Writes until it is told to stop, and goes on after every failure, with a connection of the
    same store; keeps what was acknowledged."""

    def __init__(self, memory: Memory, number: int) -> None:
        super().__init__()
        self.user = memory.user(f"user-{number % 2}")  # two write for the same user
        self.name_of = f"Writer {number}"
        self.enough = threading.Event()
        self.added: set[str] = set()
        self.batches: set[str] = set()
        self.said: set[str] = set()
        self.failed = 0
        self.unforeseen: list[Exception] = []

    @property
    def written(self) -> int:
        return len(self.added) + len(self.batches) + len(self.said)

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
        self.added.add(text)
        self.user.add_many([f"{text}, part {part}" for part in range(BATCH)])
        self.batches.add(text)
        self.user.observe([{"role": "user", "content": text, "id": text}], thread=self.name_of)
        self.said.add(text)
        self.user.add(text + ", lastly", key=self.name_of)

    def check(self) -> None:
        """All that was acknowledged is there, and nothing is there by halves."""
        assert self.unforeseen == []
        contents = contents_of(self.user, self.name_of)
        assert contents >= self.added
        assert contents >= {f"{one}, part {part}" for one in self.batches for part in range(BATCH)}
        begun = {one.rpartition(", part ")[0] for one in contents if ", part " in one}
        assert all(f"{one}, part {part}" in contents for one in begun for part in range(BATCH))
        said = {turn.content for turn in every_turn(self.user, self.name_of)}
        assert said >= self.said


def contents_of(user: UserMemory, beginning: str) -> set[str]:
    found: set[str] = set()
    cursor = None
    while True:
        page = user.list(limit=1_000, cursor=cursor, status="any")
        found |= {item.content for item in page if item.content.startswith(beginning)}
        cursor = page.next_cursor
        if cursor is None:
            return found


def every_turn(user: UserMemory, thread: str) -> list[object]:
    found: list[object] = []
    cursor = None
    while True:
        page = user.turns(thread, limit=100, cursor=cursor)
        found += page
        cursor = page.next_cursor
        if cursor is None:
            return found


def write_while(memory: Memory, disturb: Callable[[], object], times: int) -> None:
    """Let writers write, disturb them several times, and let them go on after the last."""
    writers = [Writer(memory, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(times + 1):
            before = [writer.written for writer in writers]
            wait_until(
                lambda before=before: all(
                    writer.written > count + 2 or writer.unforeseen
                    for writer, count in zip(writers, before, strict=True)
                )
            )
            if _ < times:
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


def test_a_server_that_restarts_and_crashes_under_load(
    server: OwnServer, open_store: OpenStore
) -> None:
    memory = open_store(server.url, embedding_provider="none", pool_size=6)
    endings = iter((server.stop, server.crash))

    def restart() -> None:
        next(endings)()
        server.start()

    write_while(memory, restart, times=2)


def test_connections_that_are_cut_at_random(postgres_url: str, open_store: OpenStore) -> None:
    memory = open_store(postgres_url, pool_size=6)
    chance = random.Random(20260101)
    asked = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <>"
        " pg_backend_pid() AND application_name = 'ricordo'"
    )

    def cut_some() -> None:
        owner = postgres.as_owner(postgres_url)
        with psycopg.connect(owner, autocommit=True) as connection:
            pids = [pid for (pid,) in connection.execute(asked)]
            for pid in chance.sample(pids, len(pids) // 2 + 1):
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))

    write_while(memory, cut_some, times=8)


@pytest.fixture
def owner(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A connection that nobody cuts."""
    with psycopg.connect(postgres.as_owner(postgres_url), autocommit=True) as connection:
        yield connection


WRITES: dict[str, Callable[[UserMemory], object]] = {
    "add": lambda user: user.add("Lives in Oslo", key="home"),
    "observe": lambda user: user.observe([{"role": "user", "content": "Hello"}], thread="t"),
}


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


def test_the_surfaces_say_so_and_go_on(server: OwnServer, open_store: OpenStore) -> None:
    memory = open_store(server.url, port=0, embedding_provider="none", busy_timeout_seconds=2)
    with running(memory) as service:
        client = service.client("ana")
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
            ran = ricordo("add", "Meanwhile", "-u", "ana", "--db", server.url, "--json")
            assert (ran.code, ran.error["error"]) == (6, "StorageUnavailable")
            assert "cannot be reached" in ran.error["message"]
        finally:
            server.start()
        assert client.get("/readyz").status_code == 200
        assert client.post("/v1/memories", json={"content": "Afterwards"}).status_code == 201
    contents = [item.content for item in memory.user("ana").list()]
    assert contents == ["Afterwards", "Before"]
