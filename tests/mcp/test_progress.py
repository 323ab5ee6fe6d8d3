"""Calls that take long: whoever asks hears of progress, and a cancelled call returns at once."""

import asyncio
import contextlib
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterator

import anyio
import anyio.to_thread
import pytest

from ricordo import Memory, UserMemory
from ricordo.mcp.library import IS_VERSION_1
from tests.mcp.legs import Client, done, each_mode, in_process, over_http
from tests.support.endpoints import EmbeddingServer
from tests.support.service import Service, running
from tests.support.waiting import PATIENCE_SECONDS, wait_until

OFTEN = 0.01
MAX_EMBEDDING_DEADLINE_SECONDS = 60
ENOUGH = 3


class Slow:
    """A store whose embedder answers when it is told to."""

    def __init__(self, memory: Memory, server: EmbeddingServer) -> None:
        self.memory = memory
        self.server = server
        self.go_on = threading.Event()
        server.hang_until(self.go_on)

    @property
    def ana(self) -> UserMemory:
        return self.memory.user("ana")

    async def is_under_way(self) -> None:
        """Wait until somebody waits for the embedder."""
        assert await anyio.to_thread.run_sync(self.server.wait_for_requests, 1)

    async def search(self, client: Client) -> None:
        """Search, which takes until the embedder answers."""
        await done(client, "memory_search", query="tea")


def settings_of(server: EmbeddingServer) -> dict[str, object]:
    return {
        "embedding_provider": "custom_http",
        "embedding_base_url": server.base_url,
        "embedding_model": server.model,
        "embedding_deadline_seconds": MAX_EMBEDDING_DEADLINE_SECONDS,
    }


@pytest.fixture
def slow(sqlite_url: str, open_store: Callable[..., Memory]) -> Iterator[Slow]:
    with EmbeddingServer() as server:
        made = Slow(open_store(sqlite_url, embedder=None, port=0, **settings_of(server)), server)
        try:
            yield made
        finally:
            made.go_on.set()


async def told_of_progress(client: Client, slow: Slow) -> list[float]:
    """What is told of a call that goes on until enough was told."""
    told: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        assert message is not None
        told.append(progress)
        if len(told) == ENOUGH:
            slow.go_on.set()

    result = await client.call_tool("memory_search", {"query": "tea"}, progress_callback=hear)
    assert not result.is_error
    return told


@pytest.mark.requirement("mcp.progress")
@each_mode
def test_who_asks_for_it_hears_of_progress(slow: Slow, mode: str) -> None:
    async def talk() -> list[float]:
        async with in_process(slow.ana, mode=mode, progress_seconds=OFTEN) as client:
            return await told_of_progress(client, slow)

    told = asyncio.run(talk())
    assert len(told) >= ENOUGH
    assert told == sorted(set(told))


async def call_and_cancel(client: Client, tool: str, **arguments: object) -> None:
    """A call that is cancelled as soon as it is known that it has reached the server."""
    with anyio.fail_after(PATIENCE_SECONDS), anyio.CancelScope() as scope:

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        await client.call_tool(tool, dict(arguments), progress_callback=hear)
    assert scope.cancelled_caught


@contextlib.contextmanager
def locked(path: str) -> Iterator[sqlite3.Connection]:
    """A database that nobody else can write to."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@pytest.mark.requirement("mcp.cancel")
@each_mode
def test_a_call_that_is_under_way_returns_at_once_and_is_done_whole(
    sqlite_url: str, open_store: Callable[..., Memory], mode: str
) -> None:
    ana = open_store(sqlite_url, busy_timeout_seconds=PATIENCE_SECONDS).user("ana")

    async def talk() -> None:
        async with in_process(ana, mode=mode, progress_seconds=OFTEN) as client:
            with locked(sqlite_url):
                await call_and_cancel(client, "memory_add", content="Drinks tea.")
                assert ana.list().items == ()  # over for the client, not for the store

    asyncio.run(talk())
    assert [one.content for one in ana.list().items] == ["Drinks tea."]


@pytest.mark.requirement("mcp.cancel")
@each_mode
def test_a_call_that_has_not_begun_is_never_done(slow: Slow, mode: str) -> None:
    async def talk() -> None:
        async with (
            in_process(slow.ana, mode=mode, threads=1, progress_seconds=OFTEN) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(slow.search, client)
            await slow.is_under_way()  # the only thread is taken
            await call_and_cancel(client, "memory_add", content="Never.")
            if mode == "legacy":  # the note that cancels comes before what is asked after it
                with warnings.catch_warnings(action="ignore"):  # it is deprecated
                    await client.send_ping()
            slow.go_on.set()

    asyncio.run(talk())
    assert slow.ana.list().items == ()


@pytest.mark.requirement("mcp.cancel")
def test_a_call_over_http_is_cancelled_by_closing_its_answer(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    async def talk(service: Service, slow: Slow) -> None:
        async with over_http(service.url, user="ana") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(slow.search, client)
            await slow.is_under_way()
            if not IS_VERSION_1:  # its client leaves the answer open
                await call_and_cancel(client, "memory_add", content="Never.")
                await anyio.to_thread.run_sync(wait_until, lambda: have_left(service) == 1)
            gone = have_left(service)
            await anyio.to_thread.run_sync(leave_early, service)
            await anyio.to_thread.run_sync(wait_until, lambda: have_left(service) == gone + 1)
            slow.go_on.set()

    with EmbeddingServer() as server:
        settings = {"embedder": None, "port": 0, "service_threads": 1, **settings_of(server)}
        slow = Slow(open_store(sqlite_url, **settings), server)
        try:
            with running(slow.memory) as service:
                asyncio.run(talk(service, slow))
        finally:
            slow.go_on.set()
        assert slow.ana.list().items == ()


def leave_early(service: Service) -> None:
    """Call like a client of an earlier version, and hang up when it is known that the call came."""
    arguments = {"content": "Never at all."}
    called = {"name": "memory_add", "arguments": arguments, "_meta": {"progressToken": "mine"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
    accepted = {"Accept": "application/json, text/event-stream"}
    with service.client("ana").stream("POST", "/mcp", json=call, headers=accepted) as answer:
        assert answer.status_code == 200
        assert any('"progressToken":"mine"' in line for line in answer.iter_lines())


def have_left(service: Service) -> int:
    """How many callers went away before they were answered."""
    lines = service.client().get("/metrics").text.splitlines()
    counted = 'ricordo_http_requests_total{method="POST",route="/mcp",status="disconnected"} '
    return sum(int(float(line.removeprefix(counted))) for line in lines if counted in line)


def test_several_calls_are_worked_on_at_once(slow: Slow) -> None:
    async def talk() -> None:
        async with in_process(slow.ana, threads=2) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(slow.search, client)
            await slow.is_under_way()
            assert (await done(client, "memory_list_themes"))["themes"] == []
            slow.go_on.set()

    asyncio.run(talk())
