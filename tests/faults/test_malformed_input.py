"""Malformed arguments, input, files, messages and settings: named, and nothing is written."""

import gzip
import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import Memory
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND, ricordo
from tests.support.problems import problem
from tests.support.service import Service, running
from tests.support.soundness import problems_of

pytestmark = pytest.mark.requirement("faults.malformed")
OpenStore = Callable[..., Memory]

ARGUMENTS: list[tuple[list[str], bytes]] = [
    (arguments, b"")
    for arguments in (
        ["add", "a\x01b\x00"],
        ["add", "\udcff\udcfe"],
        ["add", "x", "--importance", "9" * 5_000],
        ["add", "x", "--tag", "t" * 5_000],
        ["add", "x" * 100_000],
        ["add", "x", "--user", "\udc80"],
        ["add", "x", "--key", "\x00"],
        ["get", "9" * 400],
        ["list", "--limit", "NaN"],
        ["list", "--cursor", "\udcff"],
        ["search", "\x00"],
        ["search", "tea", "--since", "\ud800"],
        ["observe", "--thread", "", "-"],
        ["import", "/dev/null/x"],
        ["changes", "--since", "-9"],
        ["\x00"],
        ["--db"],
    )
]
INPUTS: list[tuple[list[str], bytes]] = [
    (["add", "-"], b"\xff\xfe"),
    (["add", "-"], b"a\x00b"),
    (["add", "--batch", "-"], b'{"content": 5}\n'),
    (["add", "--batch", "-"], b'{"content": "fine"}\n{"content": "\\ud800"}\n'),
    (["add", "--batch", "-"], b'{"content": "fine"}\n' + b"[" * 50_000),
    (["add", "--batch", "-"], b'{"content": "fine", "importance": ' + b"9" * 5_000 + b"}"),
    (["observe", "--thread", "t"], b'[{"role": "user"'),
    (["observe", "--thread", "t"], b'{"role": "user", "content": "fine"}\n{"role": 7}\n'),
    (["observe", "--thread", "t"], b'[{"role": "user", "content": {"deep": ' + b"[" * 50_000),
    (["checkpoint", "save", "t"], b'{"a": "\\ud800"}'),
    (["checkpoint", "save", "t"], b"[" * 50_000),
    (["import", "-"], b"\x00\x01\x02"),
]


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(ARGUMENTS, id="arguments", marks=pytest.mark.fuzz),
        pytest.param(INPUTS, id="standard input"),
    ],
)
def test_commands(own_home: Path, cases: list[tuple[list[str], bytes]]) -> None:
    ricordo("add", "Drinks tea", "-u", "me")
    with open_memory(own_home / "ricordo.db", run_jobs=False) as memory:
        for arguments, given in cases:
            ran = ricordo(*arguments, "--json", stdin=given)
            assert ran.code in (2, 3), (arguments, ran)
            assert ran.out == ""
            told = json.loads(ran.err)
            assert told["error"] and told["message"]
            assert memory.user("me").revision() == 1, arguments
            assert memory.users() == ("me",)
        assert problems_of(memory) == []


MESSAGES = [
    b"\xff\xfe\x00",
    b"[" * 20_000,
    b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": 7}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
    b'"text"',
    b"\x00" * 1_000,
]


@pytest.mark.fuzz
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


def test_a_bad_setting_on_the_command_line(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_POOL_SIZE", "\udcff")
    ran = ricordo("list", "--json")
    assert (ran.code, ran.error["error"]) == (2, "InvalidValue")
    assert "RICORDO_POOL_SIZE" in ran.error["fix"]
    assert not own_home.exists()


# -- over HTTP ------------------------------------------------------------------------------------

JSON = "application/json"
PLACES = {"id": "1", "thread": "t", "theme": "general", "user": "ana", "viewer": "ben"}
"""What stands for the parameters of a path; anything else is called x."""
ELSEWHERE = (
    *("/v1/chat/", "/v1/messages", "/v1/models", "/v1/responses", "/v1/embeddings"),
    *("/mcp", "/v1/import", "/v1/admin/import"),
)
"""Routes in the wire formats of others, with errors as those have them, and those which take files
of any format: they have tests of their own."""

BODIES: dict[str, tuple[str, bytes]] = {
    "nothing that is JSON": (JSON, b"{content: tea"),
    "a byte after the end": (JSON, b'{"content": "tea"} \x00'),
    "not UTF-8": (JSON, b'{"content": "\xff\xfe"}'),
    "nested and closed": (JSON, b"[" * 50_000 + b"]" * 50_000),
    "a number without end": (JSON, b'{"limit": ' + b"9" * 10_000 + b"}"),
    "half a character": (JSON, b'{"content": "\\ud800", "messages": ["\\udfff"], "a": "\\ud800"}'),
    "a NUL": (JSON, b'{"content": "a\\u0000b", "a": "\\u0000"}'),
    "another encoding": (JSON + "; charset=latin-1", '{"content": "thé"}'.encode("latin-1")),
    "XML": ("application/xml", b"<content>tea</content>"),
    "broken multipart": ("multipart/form-data; boundary=x", b"--y\r\n\r\n"),
    "no kind of content": ("", b'{"content": "tea"}'),
    "packed": (JSON, gzip.compress(b'{"content": "tea"}')),
}
ALLOWED = {("a NUL", "/v1/checkpoints/t")}  # a state is any JSON value, and comes back exactly


@pytest.fixture
def service(sqlite_url: str, open_store: OpenStore) -> Iterator[Service]:
    memory = open_store(sqlite_url, port=0, rate_limit_per_minute=0)
    memory.user("ana").add("Drinks tea")
    memory.user("ana").observe([{"role": "user", "content": "Hello"}], thread="t")
    with running(memory) as started:
        yield started


@pytest.fixture
def taking(service: Service) -> list[tuple[str, str]]:
    """The method and address of every route that takes a body."""
    document = service.client().get("/openapi.json").json()
    found = [
        (method.upper(), re.sub(r"{(\w+)[^}]*}", lambda name: PLACES.get(name[1], "x"), path))
        for path, methods in document["paths"].items()
        for method, told in methods.items()
        if "requestBody" in told and not path.startswith(ELSEWHERE)
    ]
    assert len(found) > 25
    return found


def stored(service: Service) -> list[str]:
    return list(service.memory.export_lines())


@pytest.mark.fuzz
def test_bodies(service: Service, taking: list[tuple[str, str]]) -> None:
    client = service.client("ana")
    before = stored(service)
    for (method, path), (what, (kind, body)) in itertools.product(taking, BODIES.items()):
        if (what, path) not in ALLOWED:
            headers = {b"Content-Type": kind.encode()}
            answered = client.request(method, path, content=body, headers=headers)
            assert 400 <= answered.status_code < 500, (method, path, what, answered.text)
            assert problem(answered)[0] == answered.status_code
    assert stored(service) == before
