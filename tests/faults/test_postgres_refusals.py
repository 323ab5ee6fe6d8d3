"""PostgreSQL that refuses for a while: timeouts, no connections left, a server turned read-only."""

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

from ricordo import Memory, StorageBusy, StorageReadOnly, StorageUnavailable
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.commandline import ricordo
from tests.support.own_postgres import OwnServer, own_server
from tests.support.problems import problem
from tests.support.service import running
from tests.support.soundness import problems_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("faults.postgres-refusals")
OpenStore = Callable[..., Memory]


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


@pytest.mark.parametrize(
    ("option", "patience", "said"),
    [
        ("statement_timeout=200", 30.0, "the statement took too long; try again"),
        ("application_name=ricordo", 0.2, "a lock was held for too long; try again"),
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


def test_a_server_without_connections_left(server: OwnServer, open_store: OpenStore) -> None:
    with psycopg.connect(server.url, autocommit=True) as owner:
        owner.execute("CREATE ROLE narrow LOGIN CONNECTION LIMIT 1")
        owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO narrow")
        owner.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO narrow")
    url = sa.make_url(server.url).set(username="narrow").render_as_string()
    holder = psycopg.connect(url)
    try:
        with pytest.raises(StorageUnavailable, match="too many connections"):
            open_memory(url, run_jobs=False)
    finally:
        holder.close()
    memory = open_store(url, embedding_provider="none", busy_timeout_seconds=5)
    assert memory.user("ana").list()
    inside, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with memory.database.read("ana"):
            inside.set()
            may_end.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        assert inside.wait(60)
        with pytest.raises(StorageUnavailable, match="too many connections"):
            memory.user("ana").list()  # the pool would take another one, the server has none
    finally:
        may_end.set()
        holding.join()
    assert memory.user("ana").list()
