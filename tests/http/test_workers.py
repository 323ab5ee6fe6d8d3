"""``ricordo serve --workers``: several processes at one address."""

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psutil
import pytest

from ricordo.errors import StorageUnavailable
from ricordo.http.supervisor import Place, Supervisor
from ricordo.wiring import open_memory
from tests.support.commandline import ricordo
from tests.support.served import ServedStore, served
from tests.support.waiting import wait_until
from tests.web.visiting import field

pytestmark = pytest.mark.requirement("http.workers")

ANA = {"X-Ricordo-User": "ana"}
WORDS = {"RICORDO_EMBEDDING_PROVIDER": "none", "RICORDO_JOB_POLL_SECONDS": "0.05"}


def workers_of(service: ServedStore) -> set[int]:
    return {one.pid for one in psutil.Process(service.pid).children()}


def add(service: ServedStore, text: str) -> httpx2.Response:
    """Over a connection of its own, so that any worker may answer."""
    return httpx2.post(
        f"{service.url}/v1/memories", json={"content": text}, headers=ANA, timeout=60
    )


def found(service: ServedStore, query: str) -> list[int]:
    path, asked = f"{service.url}/v1/memories/search", {"query": query, "limit": 50}
    answer = httpx2.post(path, json=asked, headers=ANA, timeout=60).raise_for_status()
    return [hit["id"] for hit in answer.json()["results"]]


def counted(service: ServedStore, route: str) -> float:
    lines = httpx2.get(f"{service.url}/metrics", timeout=60).text.splitlines()
    name = f'ricordo_http_requests_total{{method="POST",route="{route}",status="2xx"}}'
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


@pytest.mark.smoke
def test_workers_share_a_store_and_are_replaced(sqlite_url: str) -> None:
    with served(sqlite_url, RICORDO_WORKERS="2", **WORDS) as service:
        first = workers_of(service)
        assert len(first) == 2
        assert add(service, "Drinks tea").status_code == 201
        killed = min(first)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(workers_of(service) - {killed}) == 2)
        assert add(service, "Has a cat").status_code == 201
        assert len(found(service, "cat")) == 1
        assert counted(service, "/v1/memories") == 2  # what the killed one counted stays
        last = workers_of(service)
        assert service.stop() == 0
        assert not any(map(psutil.pid_exists, last))


@pytest.mark.chaos
def test_workers_lose_nothing_and_run_jobs_once(backend_url: str) -> None:
    """Four clients write and read what they wrote, while workers are killed one by one."""
    kept: list[str] = []

    def write(client: int) -> None:
        for number in range(20):
            text = f"Likes tea{client}x{number}"
            try:
                answer = add(service, text)
            except httpx2.TransportError:  # its worker was killed
                continue
            assert answer.status_code in (200, 201)
            kept.append(text)
            assert answer.json()["id"] in found_again(text)

    def found_again(text: str) -> list[int]:
        while True:
            try:
                return found(service, text)
            except httpx2.TransportError:
                pass

    with served(backend_url, RICORDO_WORKERS="3", **WORDS) as service:
        with ThreadPoolExecutor(4) as clients:
            running = [clients.submit(write, client) for client in range(4)]
            for _ in range(3):
                before = workers_of(service)
                killed = min(before)
                os.kill(killed, signal.SIGKILL)
                wait_until(lambda gone=killed: len(workers_of(service) - {gone}) == 3)
            for one in running:
                one.result()
        assert service.stop() == 0
    with open_memory(backend_url, run_jobs=False, embedding_provider="none") as memory:
        stored = Counter(item.content for item in memory.user("ana").list(limit=1_000))
        assert stored.keys() >= set(kept)
        assert set(stored.values()) == {1}
        assert memory.jobs(state="running") == ()


@pytest.mark.chaos
def test_workers_end_with_their_supervisor(sqlite_url: str) -> None:
    with served(sqlite_url, RICORDO_WORKERS="2", **WORDS) as service:
        workers = workers_of(service)
        service.kill()
        wait_until(lambda: not any(map(psutil.pid_exists, workers)))


@pytest.mark.chaos
def test_a_session_of_the_page_holds_on_every_worker(sqlite_url: str) -> None:
    with open_memory(sqlite_url, run_jobs=False) as memory:
        secret = memory.create_key("ana", user="ana").secret
    keyed = {**WORDS, "RICORDO_REQUIRE_KEYS": "true"}
    with served(sqlite_url, RICORDO_WORKERS="2", **keyed) as service:
        with httpx2.Client(base_url=service.url, timeout=60) as browser:
            token = field(browser.get("/ui/sign-in").text, "token")
            entered = browser.post("/ui/sign-in", data={"token": token, "key": secret})
            assert entered.status_code == 303
            cookies = dict(browser.cookies)
        for _ in range(20):  # each over a connection of its own
            answer = httpx2.get(f"{service.url}/ui/memories", cookies=cookies, timeout=60)
            assert answer.status_code == 200


def test_a_temporary_store_has_one_process() -> None:
    ran = ricordo("serve", "--db", ":memory:", "--workers", "2", "--json")
    assert (ran.code, ran.error["error"]) == (2, "InvalidValue")
    assert "a temporary store is of one process; allowed: 1" in ran.error["message"]


def test_workers_that_cannot_start_end_the_service() -> None:
    def fail(_: Place) -> None:
        raise StorageUnavailable("it went away")

    ended: list[int] = []
    supervisor = Supervisor(
        2, fail, on_ready=lambda: None, on_stopping=lambda: None, on_ended=ended.append
    )
    assert supervisor.run() is False
    assert len(ended) == 2
