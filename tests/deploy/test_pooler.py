"""PostgreSQL behind PgBouncer, which gives every transaction whichever connection is free."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psycopg
import pytest
import sqlalchemy as sa

from ricordo import Memory
from ricordo.errors import InvalidValue, StorageBusy
from tests.support import postgres
from tests.support.pgbouncer import pooler
from tests.support.served import served
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.requirement("deploy.pooler")]
IGNORED = "ignore_startup_parameters = options"
ROUNDS = 12  # the driver prepares a statement that it has seen more than five times


@pytest.mark.parametrize("more", ["", IGNORED], ids=["as-installed", "options-ignored"])
@pytest.mark.parametrize(("mode", "connections"), [("transaction", 2), ("session", 12)])
def test_threads_of_many_users_write_and_find_their_own(
    postgres_url: str, open_store: Callable[..., Memory], mode: str, connections: int, more: str
) -> None:
    with pooler(postgres_url, mode, connections=connections, more=more) as url:
        memory = open_store(url)

        def work(number: int) -> None:
            user = memory.user(f"user-{number}")
            for round_ in range(ROUNDS):
                user.add(f"Painted bridge {number} in round {round_}")
                found = user.search(f"bridge {number}").results
                assert all(f"bridge {number} " in one.content_snippet for one in found)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
        for number in range(6):
            kept = {item.content for item in memory.user(f"user-{number}").list()}
            assert kept == {f"Painted bridge {number} in round {one}" for one in range(ROUNDS)}


def test_nobody_acts_for_the_user_of_the_transaction_before(
    postgres_url: str, open_store: Callable[..., Memory]
) -> None:
    """With one connection for all, whoever comes next gets what the one before has used."""
    with pooler(postgres_url, "transaction", connections=1) as url:
        ana = open_store(url).user("ana")
        ana.add("Prefers tea to coffee")
        with psycopg.connect(url, prepare_threshold=None) as other:
            assert other.execute("SELECT content FROM items").fetchall() == []
            other.rollback()
            assert [item.content for item in ana.list()] == ["Prefers tea to coffee"]
            assert other.execute("SELECT content FROM items").fetchall() == []


def test_waiting_for_a_lock_ends(postgres_url: str, open_store: Callable[..., Memory]) -> None:
    """The limit was an option of the connection, which the pooler does not pass on."""
    with pooler(postgres_url, "transaction") as url:
        ana = open_store(url, busy_timeout_seconds=0.2).user("ana")
        ana.add("Prefers tea to coffee")
        with psycopg.connect(postgres.as_owner(postgres_url)) as other:
            other.execute("SELECT FROM users WHERE user_id = 'ana' FOR UPDATE")
            with pytest.raises(StorageBusy, match="lock was not released"):
                ana.add("Plays chess")
        ana.add("Plays chess")


def test_several_that_start_at_once_make_the_tables_once(open_store: Callable[..., Memory]) -> None:
    with (
        postgres.database("ricordo_pooled") as direct,
        pooler(direct, "transaction", connections=4) as url,
    ):
        with ThreadPoolExecutor(3) as pool:
            opened = list(pool.map(lambda _: open_store(url), range(3)))
        opened[0].user("ana").add("Prefers tea to coffee")
        assert len(opened[2].user("ana").list()) == 1
        assert opened[1].erase_user("ana").removed["items"] == 1  # and vacuums
        for one in opened:
            one.close()


def test_options_of_the_address_are_not_lost_in_silence(
    postgres_url: str, open_store: Callable[..., Memory]
) -> None:
    with pooler(postgres_url, "transaction", more=IGNORED) as url:
        asked = sa.make_url(url).set(query={"options": "-csearch_path=memories"})
        with pytest.raises(InvalidValue, match="ALTER ROLE"):
            open_store(asked.render_as_string(hide_password=False))


def test_the_service_with_its_jobs_in_two_processes(postgres_url: str) -> None:
    with pooler(postgres_url, "transaction", connections=3) as pooled:
        settings = {"RICORDO_EMBEDDING_PROVIDER": "none", "RICORDO_FORMATION_DELAY_SECONDS": "0"}
        with (
            served(pooled, RICORDO_WORKERS="2", **settings) as service,
            httpx2.Client(
                base_url=service.url,
                headers={"X-Ricordo-User": "ana"},
                timeout=PATIENCE_SECONDS,
            ) as client,
        ):
            said = [{"role": "user", "content": "I work as a nurse. I love jazz music."}]
            client.post("/v1/threads/monday/turns", json={"messages": said}).raise_for_status()
            wait_until(lambda: len(client.get("/v1/memories").json()["items"]) == 2)
