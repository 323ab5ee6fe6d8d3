"""A store with memories, scripted models, and the proxy between them and real clients."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator

import anthropic
import httpx2
import openai
import pytest

from ricordo import Memory, UserMemory
from ricordo.http.server import serving
from tests.support.endpoints import FaultyModel

USER = {"X-Ricordo-User": "ana"}


@contextlib.contextmanager
def served(memory: Memory) -> Iterator[str]:
    """The address of a running service. It has remembered everything when it is left."""
    listening: queue.Queue[str] = queue.Queue()
    service = serving(memory, listening.put)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield listening.get(timeout=60).rstrip("/")
    finally:
        service.stop()
        thread.join()


@pytest.fixture
def model() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        yield server


@pytest.fixture
def claude() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        yield server


@pytest.fixture
def store(
    sqlite_url: str,
    open_store: Callable[..., Memory],
    model: FaultyModel,
    claude: FaultyModel,
) -> Memory:
    settings = {"upstream_url": model.base_url, "anthropic_url": claude.root, "port": 0}
    return open_store(sqlite_url, **settings)


@pytest.fixture
def ana(store: Memory) -> UserMemory:
    memory = store.user("ana")
    memory.add("The user drinks green tea in the morning", theme="drinks")
    return memory


@pytest.fixture
def proxy_url(store: Memory) -> Iterator[str]:
    """Where the proxy is, up to before /v1."""
    with served(store) as url:
        yield url


@pytest.fixture
def http(proxy_url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=proxy_url, trust_env=False, timeout=60) as client:
        yield client


@pytest.fixture
def client(proxy_url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        api_key="sk-caller", base_url=f"{proxy_url}/v1", max_retries=0, default_headers=USER
    ) as opened:
        yield opened


@pytest.fixture
def anthropic_client(proxy_url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        api_key="sk-caller", base_url=proxy_url, max_retries=0, default_headers=USER
    ) as opened:
        yield opened
