"""The real command ``ricordo mcp`` over its streams."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from ricordo import Memory, Tools
from ricordo.mcp.library import IS_VERSION_1
from ricordo.storage.consistency import find_inconsistencies
from tests.mcp.legs import COMMAND, done, each_mode, over_streams, refused, text_at
from tests.support.commandline import ricordo
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.requirement("mcp.stdio")
slow = pytest.mark.slow  # a process of its own

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LISTED = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes need not load one."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "stderr.log"


@pytest.fixture
def store(sqlite_url: str, open_store: Callable[..., Memory]) -> Memory:
    """What the processes write to, seen from here."""
    return opened(open_store, sqlite_url)


def opened(open_store: Callable[..., Memory], url: str) -> Memory:
    return open_store(url, embedder=None, embedding_provider="none", port=0)


def call(tool: str, number: int = 3, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Process:
    """The command with its streams in hand."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def say(self, *messages: object) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, str) else json.dumps(message)
            self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next answer; version 1 of the library notes what it could not read, too."""
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert found["jsonrpc"] == "2.0"
        return found if "id" in found else self.hear()


@slow
@each_mode
def test_a_client_reaches_everything(store: Memory, sqlite_url: str, log: Path, mode: str) -> None:
    theirs = store.user("ben").add("Ben's own.").id

    async def talk() -> None:
        arguments = ("-u", "ana", "--db", sqlite_url, "--tools", "standard", "--tools", "single")
        async with over_streams(*arguments, log=log, mode=mode) as client:
            listed = [one.name for one in (await client.list_tools()).tools]
            assert listed == list(Tools(store.user("ana"), "standard", "single").names)
            added = await done(client, "memory_add", content="Drinks green tea. 🍵")
            seen = await done(client, "memory_search", query="tea")
            assert [one["id"] for one in seen["results"]] == [added["id"]]
            mistaken = await client.call_tool("memory_add", {})
            assert mistaken.is_error
            assert "🍵" in await text_at(client, "ricordo://memory.md")
            error = await refused(client, f"ricordo://memories/{theirs}")
            assert error.message == f"no memory {theirs}"
            (message,) = (await client.get_prompt("memory_guide")).messages
            assert message.content.type == "text"
            assert "memory_add" in message.content.text

    asyncio.run(talk())
    assert store.user("ana").list().items[0].content == "Drinks green tea. 🍵"
    assert log.read_text() == ""


@slow
@pytest.mark.requirement("mcp.isolation")
def test_an_agent_is_kept_to_what_the_policy_file_allows_it(
    store: Memory, sqlite_url: str, log: Path, tmp_path: Path
) -> None:
    ana = store.user("ana")
    ana.add("Drinks tea.", theme="food")
    unseen = ana.add("Earns much.", theme="money")
    policy = tmp_path / "policy.yaml"
    policy.write_text("categories: [food, money]\nallowlists:\n  cook: [food]\n")

    async def talk() -> None:
        whose = ("-u", "ana", "--agent", "cook", "--db", sqlite_url)
        async with over_streams(*whose, log=log, RICORDO_POLICY_FILE=str(policy)) as client:
            found = await done(client, "memory_search", query="*")
            assert [one["content"] for one in found["results"]] == ["Drinks tea."]
            assert (await client.call_tool("memory_get", {"id": unseen.id})).is_error
            assert (await refused(client, "ricordo://changes")).data["type"] == "PermissionMissing"
            added = await done(client, "memory_add", content="Likes rice.", theme="food")
            assert ana.get(added["id"]).agent_id == "cook"

    asyncio.run(talk())


@slow
def test_nothing_but_the_protocol_is_on_standard_output(
    store: Memory, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_DEBUG", "1")
    secret = "Xylophone lessons on Fridays"
    with Process("-u", "ana", "--db", sqlite_url) as process:
        process.say(HELLO)
        assert process.hear()["result"]["serverInfo"]["name"] == "ricordo"
        process.say(f"{secret}: this is no message", '{"jsonrpc": "2.0"}', "[]", "")
        process.say(call("memory_add", content=secret))
        assert process.hear()["result"]["isError"] is False
        process.say(call("memory_get", 4, id=secret))
        assert process.hear()["result"]["isError"] is True
        process.say({**LISTED, "method": f"unknown/{secret}"})
        assert process.hear()["error"]["code"] == (-32602 if IS_VERSION_1 else -32601)
        assert process.process.stdin is not None
        process.process.stdin.close()
        process.process.stdin = None
        out, err = process.process.communicate(timeout=PATIENCE_SECONDS)
        assert (process.process.returncode, out) == (0, b"")
    assert "Xylophone" not in err.decode()
    assert store.user("ana").list().items[0].content == secret


@slow
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, None])
def test_a_signal_or_a_client_that_hangs_up_ends_it_cleanly(
    sqlite_url: str, open_store: Callable[..., Memory], ending: signal.Signals | None
) -> None:
    with Process("-u", "ana", "--db", sqlite_url) as process:
        process.say(HELLO)
        process.hear()
        process.say(call("memory_add", content="Drinks tea."))
        process.hear()
        if ending is not None:
            process.process.send_signal(ending)
        else:
            assert process.process.stdout is not None
            process.process.stdout.close()
            process.say(LISTED)  # nobody will read the answer
        assert process.process.wait(PATIENCE_SECONDS) == 0
        assert process.process.stderr is not None
        assert process.process.stderr.read() == b""
    assert not Path(f"{sqlite_url}-wal").exists()  # the store was closed
    assert len(open_store(sqlite_url).user("ana").list().items) == 1


KILLED = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(child.pid, flush=True)
while True:
    line = sys.stdin.buffer.readline()
    child.stdin.write(line)
    child.stdin.flush()
    print(child.stdout.readline().decode(), end="", flush=True)
"""


@pytest.mark.chaos
def test_it_ends_with_a_client_that_is_killed(
    sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", KILLED, COMMAND, "mcp", "-u", "ana", "--db", sqlite_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert client.stdin is not None
        assert client.stdout is not None
        server = int(client.stdout.readline())
        for message in (HELLO, call("memory_add", content="Drinks tea.")):
            client.stdin.write(json.dumps(message) + "\n")
            client.stdin.flush()
            assert "result" in json.loads(client.stdout.readline())
    finally:
        client.kill()
        client.communicate()
    wait_until(lambda: not _is_running(server))
    memory = open_store(sqlite_url)
    assert len(memory.user("ana").list().items) == 1
    with memory.database.read_all() as view:
        assert find_inconsistencies(view.connection) == []


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rsplit(")", 1)[1].split()[0] != "Z"


def test_what_is_wrong_is_told_before_anything_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("allowlists: [")
    for arguments, message in (
        (("--tools", "swimming"), "there is no set 'swimming'"),
        (("-u", "*"), "is reserved"),
        (("--db", "mysql://nowhere"), "is not a file path"),
        (("--speed", "9"), "unknown argument 'speed'"),
        (("--db", tmp_path / "new.db"), str(policy)),
    ):
        if message == str(policy):
            monkeypatch.setenv("RICORDO_POLICY_FILE", message)
        ran = ricordo("mcp", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("error: ")
        assert message in ran.err
    monkeypatch.delenv("RICORDO_POLICY_FILE")
    monkeypatch.setenv("RICORDO_MCP_TOOLS", "sailing")
    said = ricordo("mcp", "--global", "--db", tmp_path / "new.db").err
    assert "setting mcp_tools: there is no set 'sailing'" in said


@slow
def test_other_commands_do_not_load_the_library() -> None:
    look = (
        "import sys; from ricordo.cli.main import main;"
        " main(['search', 'tea', '--db', ':memory:']); main(['--help']); import ricordo.http.app;"
        " sys.exit(any(name.partition('.')[0] in ('mcp', 'mcp_types') for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", look], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
