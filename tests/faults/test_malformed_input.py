"""Malformed arguments, input, files, messages and settings: named, and nothing is written."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Memory, UserMemory
from ricordo.errors import ImportFailed, InvalidInput
from ricordo.settings import Settings
from ricordo.wiring import open_memory, read_settings
from tests.support.commandline import COMMAND, ricordo
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.malformed")
OpenStore = Callable[..., Memory]

ARGUMENTS: list[list[str]] = [
    ["add", "a\x01b\x00"],
    ["add", "\udcff\udcfe"],
    ["add", "x", "--importance", "9" * 5_000],
    ["add", "x", "--importance", "1e400"],
    ["add", "x", "--valid-from", "99999-99-99"],
    ["add", "x", "--tag", "t" * 5_000],
    ["add", "x" * 100_000],
    ["add", "x", "--user", "\udc80"],
    ["add", "x", "--key", "\x00"],
    ["get", "-1"],
    ["get", "9" * 400],
    ["get", "\uff11\uff12x"],
    ["list", "--limit", "NaN"],
    ["list", "--cursor", "\udcff"],
    ["list", "--cursor", "W10"],
    ["search", "\x00"],
    ["search", "tea", "--since", "\ud800"],
    ["observe", "--thread", "", "-"],
    ["observe", "--thread", "t\x00", "-"],
    ["import", "/dev/null/x"],
    ["import", "\udcff"],
    ["changes", "--since", "-9"],
    ["\x00"],
    ["--db"],
]
INPUTS: list[tuple[list[str], bytes]] = [
    (["add", "-"], b"\xff\xfe"),
    (["add", "-"], b"a\x00b"),
    (["add", "-"], b""),
    (["add", "--batch", "-"], b"{"),
    (["add", "--batch", "-"], b'{"content": 5}\n'),
    (["add", "--batch", "-"], b'{"content": "fine"}\n{"content": "\\ud800"}\n'),
    (["add", "--batch", "-"], b'{"content": "fine"}\n' + b"[" * 50_000),
    (["add", "--batch", "-"], b'{"content": "fine", "importance": ' + b"9" * 5_000 + b"}"),
    (["observe", "--thread", "t"], b"\x80"),
    (["observe", "--thread", "t"], b'[{"role": "user"'),
    (["observe", "--thread", "t"], b'{"role": "user", "content": "fine"}\n{"role": 7}\n'),
    (["observe", "--thread", "t"], b'[{"role": "user", "content": {"deep": ' + b"[" * 50_000),
    (["checkpoint", "save", "t"], b"{"),
    (["checkpoint", "save", "t"], b'{"a": "\\ud800"}'),
    (["checkpoint", "save", "t"], b"[" * 50_000),
    (["import", "-"], b"\x00\x01\x02"),
]


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_arguments(own_home: Path, number: int) -> None:
    _is_refused(own_home, ARGUMENTS[number], b"")


@pytest.mark.parametrize("number", range(len(INPUTS)))
def test_standard_input(own_home: Path, number: int) -> None:
    _is_refused(own_home, *INPUTS[number])


def _is_refused(home: Path, arguments: list[str], given: bytes) -> None:
    ricordo("add", "Drinks tea", "-u", "me")
    ran = ricordo(*arguments, "--json", stdin=given)
    assert ran.code in (2, 3), (arguments, ran)
    assert ran.out == ""
    told = json.loads(ran.err)
    assert told["error"] and told["message"]
    with open_memory(home / "ricordo.db", run_jobs=False) as memory:
        assert memory.user("me").revision() == 1
        assert memory.users() == ("me",)
        assert problems_of(memory) == []


def _export(user: UserMemory, path: Path) -> bytes:
    user.add_many(["Has a cat", "Rows"])
    user.observe([{"role": "user", "content": "Hello", "id": "1"}], thread="t")
    user.export(path)
    return path.read_bytes()


CHATGPT = (
    b'[{"title": "A", "create_time": 1700000000.0, "current_node": "1", "id": "c", "mapping":'
    b' {"1": {"id": "1", "parent": null, "children": [], "message": {"id": "m", "author":'
    b' {"role": "user"}, "create_time": 1700000000.0, "content": {"content_type": "text",'
    b' "parts": ["I love tea"]}}}}}]'
)
CLAUDE = (
    b'[{"uuid": "c", "name": "A", "created_at": "2024-01-01T00:00:00Z", "chat_messages":'
    b' [{"uuid": "m", "sender": "human", "text": "I love tea",'
    b' "created_at": "2024-01-01T00:00:00Z"}]}]'
)
MEM0 = (
    b'{"results": [{"id": "1", "memory": "Loves tea", "created_at": "2024-01-01T00:00:00Z",'
    b' "metadata": {"category": "food"}}]}'
)
FILES = {
    "chatgpt": CHATGPT,
    "claude": CLAUDE,
    "mem0": MEM0,
    "keyvalue": b'{"pets": {"cat": "Miso"}, "food": {"drink": "tea"}}',
    "markdown": b"# Food\n\n- Loves tea\n- Eats no meat\n",
    "ricordo": b"",
}
ROUNDS = 60


@pytest.mark.parametrize("format_name", FILES)
def test_import_files(
    sqlite_url: str, tmp_path: Path, open_store: OpenStore, format_name: str
) -> None:
    """Bytes of a good file are changed, cut out, doubled: it is read, or refused as a whole."""
    memory = open_store(sqlite_url)
    good = FILES[format_name] or _export(memory.user("source"), tmp_path / "good")
    chance = random.Random(20260101)
    path = tmp_path / "file"
    refused = 0
    for number in range(ROUNDS):
        path.write_bytes(spoilt(good, chance))
        user = memory.user(f"user-{number}")
        before = memory.users()
        try:
            user.import_file(path, format=format_name)
        except ImportFailed as told:
            assert str(path) in str(told)
            assert memory.users() == before
            refused += 1
    assert refused > 0 or format_name == "markdown"  # where anything is text
    assert problems_of(memory) == []


def spoilt(good: bytes, chance: random.Random) -> bytes:
    spoiled = bytearray(good)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(spoiled))
        kind = chance.randrange(5)
        if kind == 0:
            spoiled[at] = chance.randrange(256)
        elif kind == 1:
            del spoiled[at : at + chance.randint(1, 40)]
        elif kind == 2:
            spoiled[at:at] = chance.choice([b"\x00", b"\xff", b"\\ud800", b"9" * 400, b"[" * 3_000])
        elif kind == 3:
            spoiled[at:at] = spoiled[at : at + 60]
        else:
            spoiled = spoiled[: max(1, at)]
    return bytes(spoiled)


MESSAGES = [
    b"\xff\xfe\x00",
    b"{",
    b"[" * 20_000,
    b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": 7}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
    b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
    b'"text"',
    b"\x00" * 1_000,
]


def test_messages_of_mcp(sqlite_url: str, open_store: OpenStore) -> None:
    """Whatever comes in between, the next good message is answered."""
    memory = open_store(sqlite_url)
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    good = [
        {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    add = {"name": "memory_add", "arguments": {"content": "a\x00b"}}
    last = [
        {"jsonrpc": "2.0", "id": "bad", "method": "tools/call", "params": add},
        {"jsonrpc": "2.0", "id": "end", "method": "tools/list"},
    ]
    lines = [json.dumps(one).encode() for one in good]
    lines += MESSAGES
    lines += [json.dumps(one).encode() for one in last]
    process = subprocess.Popen(
        [COMMAND, "mcp", "-u", "ana", "--db", sqlite_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers = []
        while not answers or answers[-1].get("id") != "end":
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read().decode()
            answers.append(json.loads(line))
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
    by_id = {one["id"]: one for one in answers if "id" in one and isinstance(one["id"], str)}
    assert by_id["bad"]["result"]["isError"] is True
    assert by_id["end"]["result"]["tools"]
    assert memory.user("ana").revision() == 0


BAD_VALUES = ["\udcff", "nan", "-inf", "9" * 500, "", "\x00", "[]", "{", "🌍" * 3_000]


@pytest.mark.parametrize("value", BAD_VALUES, ids=ascii)
def test_settings(value: str) -> None:
    """Any value of any setting is taken, or refused with the name of the setting."""
    refused = set()
    for name in Settings.model_fields:
        try:
            read_settings({f"RICORDO_{name.upper()}": value}, {})
        except InvalidInput as told:
            assert name in str(told)
            assert len(str(told)) < 2_000
            refused.add(name)
    assert len(refused) > 10 or not value  # an empty variable is none
    assert refused.isdisjoint({"model_api_key"})


def test_a_bad_setting_on_the_command_line(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_POOL_SIZE", "\udcff")
    ran = ricordo("list", "--json")
    assert (ran.code, ran.error["error"]) == (2, "InvalidValue")
    assert "RICORDO_POOL_SIZE" in ran.error["fix"]
    assert not own_home.exists()
