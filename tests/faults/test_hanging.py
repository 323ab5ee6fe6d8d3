"""A model that never answers, behind a real service: nobody else waits, and it still ends."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from ricordo import Memory
from tests.support.endpoints import EmbeddingServer, FaultyModel
from tests.support.served import served
from tests.support.service import running

pytestmark = pytest.mark.requirement("faults.hanging")
OpenStore = Callable[..., Memory]
CHAT = "/v1/chat/completions"
ASKED = {"model": "any", "messages": [{"role": "user", "content": "Where do I live?"}]}
MANY = 8


@pytest.fixture
def upstream() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        server.answer_with(lambda _request: "In Rome.")
        yield server


@pytest.fixture
def embedder() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


def test_searches_answer_by_words_while_the_embedder_hangs(
    backend_url: str, open_store: OpenStore, embedder: EmbeddingServer
) -> None:
    memory = open_store(
        backend_url,
        port=0,
        embedder=None,
        embedding_provider="custom_http",
        embedding_base_url=embedder.base_url,
        embedding_model=embedder.model,
        embedding_deadline_seconds=0.3,
    )
    embedder.hang_until(threading.Event())  # it is never let go: the deadline ends it
    with running(memory) as service, ThreadPoolExecutor(MANY) as callers:
        client = service.client("ana")
        assert client.post("/v1/memories", json={"content": "Lives in Rome"}).status_code == 201
        asking = {"query": "Rome"}
        answers = callers.map(
            lambda _: client.post("/v1/memories/search", json=asking), range(MANY)
        )
        for answered in answers:
            assert answered.status_code == 200
            told = answered.json()
            assert [hit["content_snippet"] for hit in told["results"]] == ["Lives in Rome"]
            assert "custom_http" in told["degraded"]
        assert client.get("/v1/memories").status_code == 200
        embedder.forget_faults()
    # The service has come to its end with requests under way at the embedder.


def test_others_are_served_while_the_upstream_hangs(
    sqlite_url: str, open_store: OpenStore, upstream: FaultyModel
) -> None:
    memory = open_store(
        sqlite_url,
        port=0,
        service_threads=2,
        upstream_url=upstream.base_url,
        upstream_timeout_seconds=240,
    )
    go_on = threading.Event()
    upstream.hang_until(go_on)
    with running(memory) as service, ThreadPoolExecutor(MANY) as callers:
        client = service.client("ana")
        chats = [callers.submit(client.post, CHAT, json=ASKED) for _ in range(MANY)]
        assert upstream.wait_for_requests(MANY)
        # Many more chats wait than there are threads: none of them holds one.
        for number in range(3):
            added = client.post("/v1/memories", json={"content": f"Meanwhile {number}"})
            assert added.status_code == 201
        assert client.get("/healthz").status_code == 200
        assert not any(chat.done() for chat in chats)
        go_on.set()
        assert {chat.result().status_code for chat in chats} == {200}


@pytest.mark.chaos
def test_the_end_of_the_service_is_not_held_up(sqlite_url: str, upstream: FaultyModel) -> None:
    """The upstream is never let go, and would be waited for ten minutes."""
    upstream.hang_until(threading.Event())
    ended: list[object] = []

    def chat(url: str) -> None:
        with httpx2.Client(base_url=url, timeout=120, trust_env=False) as client:
            try:
                answer = client.post(CHAT, json=ASKED, headers={"X-Ricordo-User": "ana"})
                ended.append(answer.status_code)
            except httpx2.HTTPError as cut:
                ended.append(type(cut).__name__)

    with served(
        sqlite_url,
        RICORDO_UPSTREAM_URL=upstream.base_url,
        RICORDO_UPSTREAM_TIMEOUT_SECONDS="600",
        RICORDO_SHUTDOWN_SECONDS="0.5",
        RICORDO_EMBEDDING_PROVIDER="none",
    ) as store:
        caller = threading.Thread(target=chat, args=(store.url,))
        caller.start()
        assert upstream.wait_for_requests(1)
        assert store.stop() == 0
        caller.join()
    assert len(ended) == 1  # answered with an error, or cut off; never left waiting
