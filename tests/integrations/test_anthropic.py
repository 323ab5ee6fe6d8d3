"""The memory tool of the Anthropic SDK on a store, with the SDK itself and a scripted model."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand

from ricordo import AsyncMemory, Memory, UserMemory
from ricordo.integrations.anthropic import AsyncMemoryTool, MemoryTool
from tests.integrations.slow_embedder import HeldEmbedder
from tests.support.endpoints import FaultyModel

pytestmark = pytest.mark.requirement("integrations.anthropic")

NOTES = "/memories/notes.md"
ASKED: Any = {"role": "user", "content": "I drink green tea. Remember that."}


@pytest.fixture
def claude() -> Iterator[FaultyModel]:
    with FaultyModel() as server:
        yield server


def script(claude: FaultyModel) -> None:
    """A model that looks, takes a note, mends it, and gets one command wrong."""
    commands: list[dict[str, Any]] = [
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": NOTES, "file_text": "drinks tea\n"},
        {"command": "str_replace", "path": NOTES, "old_str": "tea", "new_str": "green tea"},
        {"command": "view", "path": "/memories/../etc/passwd"},
        {"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": "has a dog\n"},
    ]
    for number, one in enumerate(commands):
        claude.answer_calling("memory", one, call_id=f"toolu_{number}")
    claude.answer("I noted it.")


def check_what_happened(claude: FaultyModel, ana: UserMemory) -> None:
    assert claude.bodies[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    told = [body["messages"][-1]["content"][0] for body in claude.bodies[1:]]
    assert [bool(one.get("is_error")) for one in told] == [False, False, False, True, False]
    refused = str(told[3]["content"])
    assert "'..' is not a name" in refused and "allowed: /memories/" in refused
    (item,) = ana.list()
    assert (item.key, item.content) == ("/notes.md", "drinks green tea\nhas a dog")
    assert len(ana.history(item.id)) == 3


@pytest.mark.parametrize("kind", ["sync", "async", "async memory"])
def test_the_tool_runner(claude: FaultyModel, memory: Memory, kind: str) -> None:
    user = AsyncMemory(memory).user("ana") if kind == "async memory" else memory.user("ana")
    asked: Any = {"model": "m", "max_tokens": 100, "messages": [ASKED]}
    script(claude)

    async def run() -> Any:
        async with anthropic.AsyncAnthropic(base_url=claude.root, api_key="k") as client:
            runner = client.beta.messages.tool_runner(**asked, tools=[AsyncMemoryTool(user)])
            return await runner.until_done()

    if kind == "sync":
        with anthropic.Anthropic(base_url=claude.root, api_key="k", max_retries=0) as client:
            tools = [MemoryTool(memory.user("ana"))]
            last = client.beta.messages.tool_runner(**asked, tools=tools).until_done()
    else:
        last = asyncio.run(run())
    assert last.content[0].text == "I noted it."
    check_what_happened(claude, memory.user("ana"))


def test_typed_commands_and_clearing(memory: Memory) -> None:
    ana = memory.user("ana")
    tool, other = MemoryTool(ana), AsyncMemoryTool(ana)
    tool.call({"command": "create", "path": NOTES, "file_text": "one\ntwo"})
    command = BetaMemoryTool20250818ViewCommand(command="view", path=NOTES, view_range=[2, 2])
    assert tool.execute(command) == f"{NOTES} with line numbers:\n     2\ttwo"
    assert asyncio.run(other.execute(command)) == tool.view(command)
    nonsense: list[object] = [None, "view", [], {"command": "drop"}, {}]
    for wrong in nonsense:
        with pytest.raises(ToolError, match="expected|not JSON"):
            tool.call(wrong)
    assert tool.clear_all_memory() == "Deleted 1 files."
    assert asyncio.run(other.clear_all_memory()) == "Deleted 0 files."
    cached = MemoryTool(ana, cache_control={"type": "ephemeral"})
    assert cached.to_dict() == {
        "type": "memory_20250818",
        "name": "memory",
        "cache_control": {"type": "ephemeral"},
    }


COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/etc"},
    {"command": "create", "path": NOTES, "file_text": "again"},
    {"command": "str_replace", "path": NOTES, "old_str": "o", "new_str": "y"},
    {"command": "insert", "path": NOTES, "insert_line": 4, "insert_text": "x"},
    {"command": "delete", "path": "/memories"},
    {"command": "rename", "old_path": "/memories/dir", "new_path": NOTES},
    {"command": "view", "path": NOTES, "view_range": [2, -1]},
    {"command": "str_replace", "path": NOTES, "old_str": "two", "new_str": "2"},
    {"command": "insert", "path": NOTES, "insert_line": 3, "insert_text": "four\n"},
    {"command": "rename", "old_path": "/memories/dir", "new_path": "/memories/b/c"},
    {"command": "delete", "path": "/memories/dir"},
]


def test_it_does_what_the_tool_for_files_of_the_sdk_does(memory: Memory, tmp_path: Path) -> None:
    """The same refusals and the same texts; only blank space at the ends of a file differs."""
    for number, command in enumerate(COMMANDS):
        ours = MemoryTool(memory.user(f"user-{number}"))
        theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / str(number)))
        assert outcome(ours, command) == outcome(theirs, command), command


def outcome(tool: Any, command: dict[str, Any]) -> tuple[list[str] | str, dict[str, list[str]]]:
    """What a view showed, or whether another command was refused, and what is there then."""
    tool.call({"command": "create", "path": NOTES, "file_text": "one\ntwo\nthree\n"})
    tool.call({"command": "create", "path": "/memories/dir/in.md", "file_text": "inside\n"})
    try:
        told = str(tool.call(dict(command)))
    except ToolError:
        return "refused", lines_of_all(tool)
    return filled_lines(told) if command["command"] == "view" else "done", lines_of_all(tool)


def lines_of_all(tool: Any) -> dict[str, list[str]]:
    """The lines of every file that is two levels deep, without an empty last one."""
    listing = str(tool.call({"command": "view", "path": "/memories"})).split("\n")[1:]
    paths = [line.split("\t")[1] for line in listing if line.endswith(".md")]
    return {path: filled_lines(tool.call({"command": "view", "path": path})) for path in paths}


def filled_lines(view: str) -> list[str]:
    return [line for line in view.split("\n")[1:] if line.split("\t", 1)[1]]


def test_a_slow_call_does_not_hold_up_the_loop(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    embedder = HeldEmbedder()
    tool = AsyncMemoryTool(open_store(sqlite_url, embedder=embedder).user("ana"))

    async def run() -> str:
        asked = {"command": "create", "path": NOTES, "file_text": "drinks tea"}
        creating = asyncio.create_task(tool.call(asked))
        await asyncio.to_thread(embedder.begun.wait)
        embedder.may_end.set()  # only a loop that goes on gets here
        return await creating

    assert asyncio.run(run()) == f"Created {NOTES}."
    assert embedder.was_let_go
