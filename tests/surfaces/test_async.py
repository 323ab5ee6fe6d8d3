"""AsyncMemory: the same methods, the same answers."""

import asyncio
import inspect

import pytest

from ricordo import (
    AsyncMemory,
    AsyncUserMemory,
    Memory,
    MemoryNotFound,
    StorageClosed,
    UserMemory,
    open_async,
)

NOT_OFFLOADED = {"user", "global_memories", "narrow", "close", "export_lines"}


def public(face: type) -> dict[str, object]:
    return {name: value for name, value in inspect.getmembers(face) if not name.startswith("_")}


@pytest.mark.requirement("surfaces.async")
@pytest.mark.parametrize(
    ("sync", "asynchronous"), [(Memory, AsyncMemory), (UserMemory, AsyncUserMemory)]
)
def test_the_two_faces_have_the_same_methods(sync: type, asynchronous: type) -> None:
    # Lines come one by one from an open transaction, which cannot be handed across threads. A scope
    # and the runner of jobs are what operations work with, not such themselves.
    expected = set(public(sync)) - {"export_lines", "scope", "runner"}
    assert set(public(asynchronous)) == expected
    for name in expected - NOT_OFFLOADED:
        twin = getattr(asynchronous, name)
        assert inspect.signature(twin) == inspect.signature(getattr(sync, name)), name
        assert twin.__doc__ == getattr(sync, name).__doc__
    for name in expected & NOT_OFFLOADED - {"close"}:
        ours = inspect.signature(getattr(asynchronous, name)).parameters
        assert list(ours) == list(inspect.signature(getattr(sync, name)).parameters)


@pytest.mark.requirement("surfaces.async")
def test_it_works_from_a_program_with_many_tasks(backend_url: str) -> None:
    async def program() -> None:
        async with await open_async(backend_url, run_jobs=False) as memory:
            ana = memory.user("ana", agent="helper").narrow(thread="t1")
            added = await asyncio.gather(*(ana.add(f"Fact {number}") for number in range(40)))
            assert len({one.id for one in added}) == 40
            page = await ana.list(limit=40)
            assert {item.thread_id for item in page} == {"t1"}
            assert (await ana.changes()).revision == 40
            with pytest.raises(MemoryNotFound):
                await memory.user("ben").get(added[0].id)
            receipt = await memory.erase_user("ana")
            assert receipt.removed["items"] == 40
        with pytest.raises(StorageClosed):
            await ana.list()

    asyncio.run(program())
