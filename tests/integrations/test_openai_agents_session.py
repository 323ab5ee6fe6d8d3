"""Sessions of the OpenAI Agents SDK: items come back exactly, as from the SDK's own sessions."""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agents import SQLiteSession
from agents.memory import Session, SessionSettings
from hypothesis import given
from hypothesis import strategies as st

from ricordo import (
    AsyncMemory,
    InvalidValue,
    Memory,
    PermissionMissing,
    ScopeWidened,
    ThreadNotFound,
    UserMemory,
)
from ricordo.integrations.openai_agents import MAX_SESSION_ID_CHARS, MemorySession
from ricordo.limits import MAX_CHECKPOINT_BYTES, MAX_OBSERVED_TURNS, MAX_TURN_CHARS
from tests.integrations.slow_embedder import HeldEmbedder

pytestmark = pytest.mark.requirement("integrations.openai-agents")

numbers = count()


def said(text: str, role: str = "user") -> Any:
    return {"role": role, "content": text}


def call(name: str, call_id: str = "c1") -> Any:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"a":1}'}


def result(output: object, call_id: str = "c1") -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def turns(user: UserMemory, thread: str = "s") -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in user.turns(thread)]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Lone surrogates too: models send them in the middle of a streamed character.
    | st.text(st.characters(exclude_categories=()), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=()), max_size=5), inner, max_size=3
        )
    ),
    max_leaves=8,
)
items = st.dictionaries(st.sampled_from(["a", "b", "é", "\x00", "type", "x y"]), json_values)
steps = st.lists(
    st.tuples(st.just("add"), st.lists(items, max_size=4))
    | st.tuples(st.just("get"), st.none() | st.integers(-1, 12))
    | st.tuples(st.just("pop"), st.none())
    | st.tuples(st.just("clear"), st.none()),
    max_size=12,
)


async def do(session: Session, step: tuple[str, Any]) -> object:
    name, given_value = step
    match name:
        case "add":
            await session.add_items(given_value)
            return None
        case "get":
            return await session.get_items(given_value)
        case "pop":
            return await session.pop_item()
        case _:
            await session.clear_session()
            return None


@given(steps)
def test_it_does_what_a_session_of_the_sdk_does(
    ana: UserMemory, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, Any]]
) -> None:
    monkeypatch.setattr("ricordo.limits.SESSION_PART_BYTES", 60)  # many parts
    name = f"s{next(numbers)}"
    ours: Session = MemorySession(ana, name, observe=False)
    theirs = SQLiteSession(name)

    async def compare() -> None:
        for step in [*steps, ("get", None)]:
            assert json.dumps(await do(ours, step)) == json.dumps(await do(theirs, step))

    try:
        asyncio.run(compare())
    finally:
        theirs.close()


@pytest.mark.slow
def test_a_long_session(ana: UserMemory) -> None:
    """More than fits into one state; and large items between small ones."""
    session = MemorySession(ana, "s", observe=False)
    large = [{"type": "image", "data": f"{number}" + "x" * 3_000_000} for number in range(4)]
    added: list[Any] = [said("one"), large[0], said("two"), *large[1:], said("three")]

    async def run() -> None:
        await session.add_items(added[:2])
        await session.add_items(added[2:])
        assert await session.get_items() == added
        assert await session.get_items(2) == added[-2:]
        assert [await session.pop_item() for _ in added] == added[::-1]
        assert await session.pop_item() is None
        biggest = {"d": "x" * (MAX_CHECKPOINT_BYTES - 10)}
        await session.add_items([biggest])  # type: ignore[list-item]
        too_large = {"d": "x" * MAX_CHECKPOINT_BYTES}
        refused: list[Any] = [too_large, {"d": float("nan")}, {"d": {1}}, "text"]
        for wrong in refused:
            with pytest.raises(InvalidValue, match="items"):
                await session.add_items([said("before"), wrong])
        assert await session.get_items() == [biggest]
        await session.clear_session()

    asyncio.run(run())
    assert list(ana.checkpoints()) == []


def test_adding_to_a_long_session_writes_its_end_alone(ana: UserMemory) -> None:
    session = MemorySession(ana, "s", observe=False)
    page: Any = {"data": "x" * 200_000}

    async def run() -> None:
        for _ in range(5):
            await session.add_items([page])
        await session.add_items([said("end")])

    asyncio.run(run())
    versions = {info.thread_id: info.version for info in ana.checkpoints()}
    assert versions == {
        "agents/0/s": 5,
        **{f"agents/{number}/s": 1 for number in range(1, 5)},
        "agents/5/s": 2,
    }


@pytest.mark.both_databases
def test_two_writers_at_once_lose_nothing(
    backend_url: str, open_store: Callable[..., Memory]
) -> None:
    """Two stores, as two processes have them, and two tasks in each."""
    sessions = [MemorySession(open_store(backend_url).user("ana"), "s") for _ in range(2)]

    async def add(session: MemorySession, name: str) -> None:
        for number in range(8):
            await session.add_items([said(f"{name} {number} a"), said(f"{name} {number} b")])

    async def run() -> list[Any]:
        await asyncio.gather(
            *(
                add(session, f"{place}{task}")
                for place, session in enumerate(sessions)
                for task in "xy"
            )
        )
        return await sessions[0].get_items()

    found = [item["content"] for item in asyncio.run(run())]
    assert len(found) == 64
    for name in ("0x", "0y", "1x", "1y"):
        own = [f"{name} {number} {half}" for number in range(8) for half in "ab"]
        assert [text for text in found if text.startswith(name)] == own
    assert all(found[at + 1] == f"{found[at][:-1]}b" for at in range(0, 64, 2))


def test_what_is_said_is_observed(ana: UserMemory) -> None:
    session = MemorySession(ana, "s")
    spoken: list[Any] = [
        said("Be kind.", "system"),
        said("Be brief.", "developer"),
        said("I drink green tea."),
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Now?"}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]},
        {"type": "reasoning", "id": "r", "summary": []},
        call("weather"),
        result([{"type": "input_text", "text": "Rain."}]),
        {
            "type": "message",
            "role": "assistant",
            "id": "__fake_id__",
            "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
        },
        said("a\x00b\ud800"),
        said("x" * (MAX_TURN_CHARS + 5)),
        {"type": "item_reference", "id": "msg_1"},
    ]
    asyncio.run(session.add_items(spoken))
    found = turns(ana)
    assert found[:5] == [
        ("user", "I drink green tea."),
        ("user", "Now?"),
        ("assistant", "[calls weather]"),
        ("tool", "Rain."),
        ("assistant", "It rains."),
    ]
    assert found[5][1] == "ab?" and len(found[6][1]) == MAX_TURN_CHARS and len(found) == 7
    (called,) = [turn.tool_calls for turn in ana.turns("s") if turn.tool_calls]
    assert called == [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"a":1}'}}
    ]
    assert asyncio.run(session.get_items()) == spoken
    assert ana.search_turns("green tea")


def test_however_much_is_said_at_once_all_of_it_is_observed(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    ana = open_store(sqlite_url).user("ana")
    many = [said(f"number {number}") for number in range(MAX_OBSERVED_TURNS + 1)]
    asyncio.run(MemorySession(ana, "s").add_items(many))
    assert [thread.turn_count for thread in ana.threads()] == [len(many)]


def test_recalling_is_not_saying_it_again(ana: UserMemory) -> None:
    session = MemorySession(ana, "s")
    asyncio.run(session.add_items([call("memory_search"), call("weather", "c2")]))
    asyncio.run(session.add_items([result("[memories]"), result("Rain.", "c2")]))
    asyncio.run(session.add_items([result("of a call long gone", "c9")]))
    strange: list[Any] = [
        {**call("export"), "arguments": "x" * 300_000},
        {"type": "function_call", "call_id": ["c"], "name": ["x"], "arguments": {"a": "\ud800"}},
        {"type": "function_call_output", "call_id": {"c": 1}, "output": None},
        {"type": ["message"], "role": ["user"], "content": 7},
    ]
    asyncio.run(session.add_items(strange))
    assert asyncio.run(session.get_items(4)) == strange
    assert turns(ana) == [
        ("assistant", "[calls weather]"),
        ("tool", "Rain."),
        ("tool", "of a call long gone"),
        ("assistant", "[calls export]"),
        ("assistant", "[calls ['x']]"),
    ]


def test_observing_is_optional_and_outlasts_the_items(ana: UserMemory) -> None:
    silent = MemorySession(ana, "silent", observe=False, session_settings=SessionSettings(limit=2))
    asyncio.run(silent.add_items([said(name) for name in "abcd"]))
    found = [asyncio.run(silent.get_items(*limit)) for limit in ((), (3,), (0,))]
    assert found == [[said(name) for name in names] for names in ("cd", "bcd", "")]
    with pytest.raises(ThreadNotFound):
        ana.turns("silent")
    session = MemorySession(ana, "s")
    asyncio.run(session.add_items([said("hello"), said("again")]))
    asyncio.run(session.pop_item())
    asyncio.run(session.clear_session())
    assert asyncio.run(session.get_items()) == []
    assert turns(ana) == [("user", "hello"), ("user", "again")]


def test_sessions_are_kept_apart(
    memory: Memory, open_store: Callable[..., Memory], tmp_path: Path
) -> None:
    """By user and by name, however names look like each other's rows."""
    names = ["s", "1/s", "agents/1/s", "S", "é", "e\u0301"]
    sessions = [MemorySession(memory.user(user), name) for user in ("ana", "ben") for name in names]
    for number, session in enumerate(sessions):
        asyncio.run(session.add_items([said(f"{number} a\x00b\ud800")]))
    asyncio.run(sessions[0].clear_session())
    for number, session in enumerate(sessions[1:], start=1):
        assert asyncio.run(session.get_items()) == [said(f"{number} a\x00b\ud800")]
    memory.user("ben").export(tmp_path / "ben.jsonl")
    memory.erase_user("ben")
    assert asyncio.run(sessions[-1].get_items()) == []
    assert len(asyncio.run(sessions[1].get_items())) == 1
    elsewhere = open_store(":memory:").user("ben")
    elsewhere.import_file(tmp_path / "ben.jsonl")
    moved = asyncio.run(MemorySession(elsewhere, names[-1]).get_items())
    assert moved == [said(f"{len(sessions) - 1} a\x00b\ud800")]


def test_names_and_scopes(memory: Memory, ana: UserMemory) -> None:
    for wrong in ("", " s", "a\nb", "a\x00", "x" * (MAX_SESSION_ID_CHARS + 1), 7):
        with pytest.raises(InvalidValue, match="session_id"):
            MemorySession(ana, wrong)  # type: ignore[arg-type]
    longest = MemorySession(ana, "x" * MAX_SESSION_ID_CHARS)
    asyncio.run(longest.add_items([said("hello")]))
    bound = ana.narrow(thread="s")
    asyncio.run(MemorySession(bound, "s").add_items([said("hello")]))
    with pytest.raises(ScopeWidened):
        asyncio.run(MemorySession(bound, "other").get_items())
    confined = memory.user("ana", agent="a", categories=["work"])
    with pytest.raises(PermissionMissing, match="session"):
        asyncio.run(MemorySession(confined, "s").get_items())


def test_who_is_cancelled_waits_for_what_is_being_written(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = HeldEmbedder()
    memory = open_store(sqlite_url, embedder=embedder)
    session = MemorySession(AsyncMemory(memory).user("ana"), "s")

    async def run() -> list[Any]:
        adding = asyncio.create_task(session.add_items([said("hello")]))
        await asyncio.to_thread(embedder.begun.wait)
        for _ in range(2):
            adding.cancel()
            for _ in range(5):  # rounds of the loop, in which it would end
                await asyncio.sleep(0)
            assert not adding.done()
        embedder.may_end.set()
        await asyncio.wait({adding})
        assert adding.cancelled()
        return await session.get_items()

    assert asyncio.run(run()) == [said("hello")]
    assert turns(memory.user("ana")) == [("user", "hello")]
