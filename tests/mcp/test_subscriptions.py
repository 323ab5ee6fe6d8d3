"""Clients hear of resources that change, whichever process changed them, and of nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from ricordo import Conflict, InvalidValue, Memory, UserMemory
from ricordo import open as open_store
from ricordo.limits import MAX_MCP_SUBSCRIPTIONS
from ricordo.mcp.library import IS_VERSION_1
from ricordo.mcp.session import Binding
from ricordo.mcp.subscriptions import Streams, Watched, watching
from tests.mcp.legs import in_process, over_http, over_streams
from tests.support.service import Service, running

pytestmark = pytest.mark.requirement("mcp.subscriptions")
newest = pytest.mark.skipif(IS_VERSION_1, reason="version 1 does not know this protocol")
OFTEN = 0.01
LISTED = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"


def watched(user: UserMemory, *addresses: str, with_list: bool = True) -> Watched:
    return watching(Binding(user), addresses, with_list=with_list)


@pytest.mark.both_databases
def test_what_changed_is_told_once(memory: Memory) -> None:
    ana = memory.user("ana")
    first = ana.add("Drinks green tea.", theme="food")
    other = ana.add("Lives in Jakarta.", theme="places")
    one = f"ricordo://memories/{first.id}"
    watching_ana = watched(ana, one, "ricordo://themes", "ricordo://changes", "ricordo://memory.md")
    assert watching_ana.changed() == []
    ana.archive(other.id)
    assert None in (found := watching_ana.changed())
    assert one not in found
    assert {"ricordo://changes", "ricordo://memory.md"} <= set(found)
    assert watching_ana.changed() == []
    ana.pin(first.id)
    found = watching_ana.changed()
    assert one in found
    assert None not in found
    ana.forget(id=first.id)
    found = watching_ana.changed()
    assert None in found
    assert one in found
    watching_ana.remove(one)
    ana.restore(first.id)
    assert one not in watching_ana.changed()


def test_nobody_hears_of_what_they_may_not_see(memory: Memory) -> None:
    ana = memory.user("ana")
    secret = ana.add("Has a sore knee.", theme="health")
    agent = memory.user("ana", agent="chef", categories=["food"])
    addresses = (f"ricordo://memories/{secret.id}", "ricordo://memory.md", "ricordo://changes")
    listening = watched(agent, *addresses, "ricordo://themes")
    ben = watched(memory.user("ben"), *addresses)
    ana.add("Has a sore back.", theme="health")
    ana.pin(secret.id)
    assert listening.changed() == []
    assert ben.changed() == []
    ana.add("Drinks green tea.", theme="food")
    assert set(listening.changed()) == {None, "ricordo://themes"}


def test_what_a_group_shares_is_heard_of(memory: Memory) -> None:
    memory.create_group("payments", manager="ana")
    listening = watched(memory.user("ana"))
    in_group = watched(memory.user("ana", group="payments"))
    memory.user("ana", group="payments").add("Deploys are on Fridays.")
    assert listening.changed() == [None]
    assert in_group.changed() == [None]


def test_one_listens_to_so_many_of_ours(memory: Memory) -> None:
    listening = watched(memory.user("ana"), with_list=False)
    with pytest.raises(InvalidValue, match="allowed: ricordo://"):
        listening.add("file:///etc/passwd")
    for number in range(MAX_MCP_SUBSCRIPTIONS):
        listening.add(f"ricordo://memories/{number + 1}")
    with pytest.raises(InvalidValue, match="at most"):
        listening.add("ricordo://themes")

    async def open_some() -> None:
        streams = Streams(1)
        with streams.opened() as scope:
            with pytest.raises(Conflict, match="most allowed"), streams.opened():
                pass
            streams.end()
            assert scope.cancel_called
        with streams.opened():
            pass

    asyncio.run(open_some())


class Heard:
    """What a client of an earlier version is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str | None]] = []
        self._more = anyio.Event()

    async def __call__(self, message: Any) -> None:
        message = getattr(message, "root", message)
        params = getattr(message, "params", None)
        uri = getattr(params, "uri", None)
        self.told.append((message.method, None if uri is None else str(uri)))
        self._more.set()

    async def until(self, *wanted: tuple[str, str | None]) -> None:
        """Wait until all of these were told."""
        with anyio.fail_after(60):
            while not set(wanted) <= set(self.told):
                await self._more.wait()
                self._more = anyio.Event()


@pytest.mark.filterwarnings("ignore:resources/")  # they are of the handshake versions alone
def test_a_subscriber_of_the_handshake_versions_is_told(tmp_path: Path) -> None:
    home = {"RICORDO_HOME": str(tmp_path), "RICORDO_URL": str(tmp_path / "ricordo.db")}
    with open_store(home["RICORDO_URL"], run_jobs=False, upkeep=False) as store:
        ana = store.user("ana")
        number = ana.add("Drinks green tea.").id
        one = f"ricordo://memories/{number}"

        async def talk() -> None:
            heard = Heard()
            connected = over_streams(
                *("-u", "ana"), log=tmp_path / "log", mode="legacy", heard=heard, **home
            )
            async with connected as client:
                said = client.server_capabilities.resources
                assert said is not None
                assert said.subscribe
                assert said.list_changed
                await client.list_resources()
                await client.subscribe_resource(one)
                ana.pin(number)  # in another process
                await heard.until((UPDATED, one))
                await client.unsubscribe_resource(one)
                heard.told.clear()
                ana.pin(number, pinned=False)
                ana.add("Lives in Jakarta.")
                await heard.until((LISTED, None))
                assert (UPDATED, one) not in heard.told

        asyncio.run(talk())


@newest
def test_a_listener_is_told(memory: Memory) -> None:
    from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

    ana = memory.user("ana")
    number = ana.add("Drinks green tea.").id
    one = f"ricordo://memories/{number}"

    async def talk() -> None:
        async with in_process(ana, watch_seconds=OFTEN) as client:
            listening = client.listen(
                resources_list_changed=True,
                tools_list_changed=True,
                resource_subscriptions=[one, "file:///etc/passwd"],
            )
            async with listening as events:
                assert events.honored.resource_subscriptions == [one]
                assert events.honored.resources_list_changed
                assert not events.honored.tools_list_changed
                await anyio.to_thread.run_sync(lambda: ana.pin(number))
                assert await _next(events) == ResourceUpdated(uri=one)
                await anyio.to_thread.run_sync(lambda: ana.add("Lives in Jakarta."))
                assert await _next(events) == ResourcesListChanged()

    asyncio.run(talk())


@newest
def test_a_stream_ends_with_the_key_and_with_the_service(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    memory = open_store(sqlite_url, port=0, require_keys=True)
    keys = [memory.create_key(name, user="ana") for name in ("first", "second")]

    async def talk(service: Service) -> None:
        async with (
            _listening(service, keys[0].secret) as revoked,
            _listening(service, keys[1].secret) as other,
        ):
            memory.user("ana").add("Drinks green tea.")
            await _next(other)
            await _next(revoked)
            memory.revoke_key(keys[0].key.id)
            with anyio.fail_after(60):
                assert [event async for event in revoked] == []
            await anyio.to_thread.run_sync(service.stop)
            with anyio.fail_after(60):  # and not only after the time for a shutdown
                assert [event async for event in other] == []

    with running(memory) as service:
        asyncio.run(talk(service))


@asynccontextmanager
async def _listening(service: Service, key: str) -> AsyncIterator[Any]:
    async with (
        over_http(service.url, key=key) as client,
        client.listen(resources_list_changed=True) as events,
    ):
        yield events


async def _next(events: Any) -> Any:
    with anyio.fail_after(60):
        return await anext(events)
