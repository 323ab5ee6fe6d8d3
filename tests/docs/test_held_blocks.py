"""Blocks that are not run with their page: commands understood, files read as their programs do."""

import argparse
import asyncio
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import crossplane
import pytest
import yaml
from bench.peers import command as peers
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from packaging.requirements import Requirement

from bench import load
from ricordo import Change, Changes, Event, Memory, Tools
from ricordo.model.webhook import changes_message
from ricordo.settings import Settings
from ricordo.testing import ModelServer
from ricordo.wiring import read_settings
from tests.docs.markdown import DOCS, ROOT, blocks, pages
from tests.mcp.legs import TIMEOUT_SECONDS, over_http
from tests.observing.conftest import OpenLog, open_log
from tests.support.commandline import COMMAND, ricordo
from tests.support.service import running
from tests.support.waiting import wait_until

__all__ = ["open_log"]

pytestmark = pytest.mark.requirement("docs.blocks-run")

DEPLOY = DOCS / "howto" / "deploy.md"
OBSERVABILITY = DOCS / "howto" / "observability.md"
FUNCTIONS_OF_PROMQL = {"max", "sum", "by", "rate", "histogram_quantile"}
LABELS_OF_PROMQL = {"kind", "le", "state", "dead"}
MCP = DOCS / "howto" / "mcp.md"
PLACES = ("mcpServers", "servers", "context_servers")
"""What clients call their list of servers."""
CHAT = DOCS / "howto" / "chat.md"


def lines_with(begin: str) -> list[list[str]]:
    """The commands of all pages that begin so, in words, without what a comment says of them."""
    return [
        shlex.split(line, comments=True)
        for page in pages()
        for block in blocks(page)
        if block.language == "sh"
        for line in block.text.splitlines()
        if line.startswith(begin)
    ]


def test_pip() -> None:
    """What is to be installed has a name that is understood, and extras that there are."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    inline = re.findall(
        r"`pip install '?(ricordo[^'`]*)'?`",
        "".join(page.read_text(encoding="utf-8") for page in pages()),
    )
    fenced = [words[2:] for words in lines_with("pip install")]
    assert fenced
    assert all(len(words) == 1 for words in fenced)
    for said in (*inline, *(words[0] for words in fenced)):
        wanted = Requirement(said)
        assert wanted.name == "ricordo", said
        assert wanted.extras <= extras, said


def test_workers() -> None:
    """Every option is understood; what is missing is only the broker."""
    commands = lines_with("ricordo celery")
    assert len(commands) == 6
    for words in commands:
        ran = ricordo(*words[1:])
        assert "broker_url" in ran.err, (words, ran)
        assert "is not set" in ran.err, (words, ran)


def test_celerys_own() -> None:
    commands = lines_with("celery -A")
    assert [words[-1] for words in commands] == ["worker", "beat"]
    for words in commands:  # as tests/workers starts it
        assert words[:3] == ["celery", "-A", "ricordo.workers.celery_app"]


def test_benches() -> None:
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers()
    load.register(kinds)
    peers.register(kinds)
    commands = lines_with("python -m bench")
    assert {words[3] for words in commands} == {"load", "peers"}
    for words in commands:
        parser.parse_args(words[3:])


def test_make() -> None:
    """The Makefile has every target and uses every variable that is set."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = lines_with("make ")
    assert commands
    for words in commands:
        for word in words[1:]:
            name, is_variable, _ = word.partition("=")
            wanted = rf"\$\({name}\)" if is_variable else rf"(?m)^{name}:"
            assert re.search(wanted, makefile), word


def block_of(page: Path, begin: str) -> str:
    (found,) = [one.text for one in blocks(page) if one.text.startswith(begin)]
    return found


def test_settings() -> None:
    listed = block_of(DOCS / "howto" / "embeddings.md", "RICORDO_EMBEDDING_PROVIDER")
    given = dict(line.split("=", 1) for line in listed.splitlines())
    settings = read_settings(given, {})
    assert settings.embedding_provider == "ollama"
    assert settings.embedding_dimensions == 512


def nginx() -> list[dict[str, Any]]:
    """The file as nginx's own parser for programs reads it, with all that nginx would refuse."""
    # It belongs into the http context, where conf.d is included.
    text = "http {\n" + block_of(DEPLOY, "# /etc/nginx") + "}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nginx.conf"
        path.write_text("events {}\n" + text, encoding="utf-8")
        read = crossplane.parse(str(path), strict=True, single=True)
    assert read["errors"] == [], read["errors"]
    (http,) = [one for one in read["config"][0]["parsed"] if one["directive"] == "http"]
    found: list[dict[str, Any]] = http["block"]
    return found


def below(block: list[dict[str, Any]], name: str, *arguments: str) -> list[dict[str, Any]]:
    (found,) = [
        one
        for one in block
        if one["directive"] == name and one["args"][: len(arguments)] == list(arguments)
    ]
    inside: list[dict[str, Any]] = found["block"]
    return inside


def values(block: list[dict[str, Any]], name: str) -> list[list[str]]:
    return [one["args"] for one in block if one["directive"] == name]


def servers_of_nginx() -> list[str]:
    return [first for first, *_ in values(below(nginx(), "upstream", "ricordo"), "server")]


def test_nginx() -> None:
    server = below(nginx(), "server")
    assert below(server, "location", "/")[0]["args"] == ["http://ricordo"]
    assert values(below(server, "location", "=", "/metrics"), "deny") == [["all"]]
    assert values(server, "proxy_buffering") == [["off"]]  # a stream passes piece by piece
    (size,) = values(server, "client_max_body_size")
    assert size == ["64m"]
    (hashed,) = values(below(nginx(), "upstream", "ricordo"), "hash")
    sent = re.findall(r"\$http_(\w+?)(?=\$|$)", hashed[0])
    assert sent == ["authorization", "x_ricordo_user", "x_openwebui_user_id"]


def test_caddy() -> None:
    """Blocks that close, directives that Caddy has, and the same servers as nginx has."""
    text = block_of(DEPLOY, "# /etc/caddy")
    known = {
        *("respond", "request_body", "max_size", "reverse_proxy", "lb_policy"),
        *("health_uri", "health_interval", "flush_interval"),
    }
    depth, used = 0, set()
    for line in text.splitlines()[1:]:
        words = line.split()
        depth -= words == ["}"]
        assert line.startswith("    " * depth + words[0])
        if depth and words[0] != "}" and not words[0].startswith("@"):
            used.add(words[0])
        depth += words[-1] == "{"
    assert depth == 0
    assert used == known
    assert re.findall(r"reverse_proxy (.+) \{", text)[0].split() == servers_of_nginx()


@pytest.fixture
def metrics(sqlite_url: str, open_store: Callable[..., Memory]) -> str:
    """What the service answers where Prometheus asks."""
    with running(open_store(sqlite_url, port=0)) as service:
        service.client("ana").post("/v1/memories", json={"content": "Drinks green tea."})
        service.client("ana").post("/v1/memories/search", json={"query": "tea"})
        return service.client().get("/metrics").text


def test_prometheus(metrics: str) -> None:
    (scraping,) = yaml.safe_load(block_of(OBSERVABILITY, "scrape_configs"))["scrape_configs"]
    assert set(scraping) <= {"job_name", "scrape_interval", "static_configs"}
    assert scraping["static_configs"] == [{"targets": [f"127.0.0.1:{Settings().port}"]}]
    (group,) = yaml.safe_load(block_of(OBSERVABILITY, "groups:"))["groups"]
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
        names = set(re.findall(r"[a-z_]{2,}", re.sub(r"\[\w+\]", "", rule["expr"])))
        for name in names - FUNCTIONS_OF_PROMQL - LABELS_OF_PROMQL:
            assert re.search(rf"^# TYPE {name.removesuffix('_bucket')} ", metrics, re.MULTILINE), (
                name
            )


def test_a_line_of_the_log(
    sqlite_url: str, open_store: Callable[..., Memory], open_log: OpenLog
) -> None:
    said = json.loads(block_of(OBSERVABILITY, '{"time"'))
    memory = open_store(sqlite_url, port=0, require_keys=True)
    key = memory.create_key("laptop", user="ana").secret
    log = open_log("json", level=20)
    with running(memory) as service:
        sent = service.client(key=key).post("/v1/memories", json={"content": "Drinks green tea."})
        wait_until(lambda: '"route"' in log.text)
    (line,) = [one for one in log.lines if "route" in one]
    assert sent.status_code == said["status"] == line["status"]
    assert list(line) == list(said)
    assert {name: type(value) for name, value in line.items()} == {
        name: type(value) for name, value in said.items()
    }
    fixed = ("level", "logger", "message", "method", "route")
    assert {name: line[name] for name in fixed} == {name: said[name] for name in fixed}


def test_a_message_of_a_webhook() -> None:
    said = json.loads(block_of(DOCS / "howto" / "webhooks.md", "{"))
    said["data"]["changes"][0].pop("…")
    told = said["data"]["changes"][0]
    change = Change(
        **{**told, "event": Event(told["event"]), "at": datetime.fromisoformat(told["at"])},
        actor="ana",
    )
    made = changes_message(
        said["data"]["webhook_id"], said["data"]["user_id"], Changes((change,), 7, more=False)
    )
    assert set(told) <= set(change.to_dict())
    made["data"]["changes"][0] = {name: made["data"]["changes"][0][name] for name in told}
    assert made == said


def entries() -> list[dict[str, Any]]:
    """The one server of each file of settings."""
    found = []
    for block in blocks(MCP):
        if block.language == "json":
            settings = json.loads(block.text)
            (place,) = settings
            assert place in PLACES
            found.append(settings[place]["memory"])
    return found


def started() -> list[dict[str, Any]]:
    return [one for one in entries() if "command" in one]


def names_over_streams(entry: dict[str, Any], home: Path, log: Path) -> list[str]:
    """Start the command of an entry as a client does; the tools that it lists."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "RICORDO_HOME": str(home), **entry.get("env", {})}
    parameters = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=environment
    )

    async def talk() -> list[str]:
        with log.open("w") as errors:
            transport = stdio_client(parameters, errlog=errors)
            async with Client(transport, read_timeout_seconds=TIMEOUT_SECONDS) as client:
                await client.call_tool("memory_add", {"content": "Drinks green tea."})
                return [tool.name for tool in (await client.list_tools()).tools]

    return asyncio.run(talk())


@pytest.mark.slow
def test_settings_of_clients(
    sqlite_url: str, open_store: Callable[..., Memory], own_home: Path, tmp_path: Path
) -> None:
    store = open_store(sqlite_url, port=0, require_keys=True)
    standard = list(Tools(store.user("ana"), "standard").names)
    kinds = {(one["command"], *one["args"]) for one in started()}
    assert kinds == {("ricordo", "mcp", "--user", "ana")}  # one start is enough for all of them
    assert all(set(one) <= {"type", "command", "args", "env"} for one in started())
    assert all(one.get("type", "stdio") == "stdio" for one in started())
    assert names_over_streams(started()[0], own_home, tmp_path / "log") == standard

    (connected,) = [one for one in entries() if "command" not in one]
    assert set(connected) == {"type", "url", "headers"}
    assert connected["type"] == "http"
    assert connected["url"].endswith("/mcp")
    scheme, _, said = connected["headers"]["Authorization"].partition(" ")
    assert (scheme, said) == ("Bearer", "rk_…")
    secret = store.create_key("laptop", user="ana").secret
    assert secret.startswith("rk_")

    async def names(url: str) -> list[str]:
        async with over_http(url, key=secret) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with running(store) as service:
        assert asyncio.run(names(service.url)) == standard


def test_claude_code() -> None:
    """The program is another's; what it is told is what the files above say."""
    lines = [
        shlex.split(line)
        for block in blocks(MCP)
        if block.language == "sh"
        for line in block.text.splitlines()
    ]
    (starting, connecting) = lines
    assert starting[:5] == ["claude", "mcp", "add", "memory", "--"]
    assert starting[5:] == [started()[0]["command"], *started()[0]["args"]]
    (connected,) = [one for one in entries() if "command" not in one]
    assert connecting[:6] == ["claude", "mcp", "add", "--transport", "http", "memory"]
    assert connecting[6:8] == [connected["url"], "--header"]
    name, _, value = connecting[8].partition(": ")
    assert connected["headers"] == {name: value}


TURNS_BEFORE = re.compile(r"(\d+) turns before")


class Keyboard:
    """A command at a terminal, and somebody who types."""

    def __init__(self, *command: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self._running = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "200", **environment},
        )
        os.close(theirs)
        self._shown = ""

    def wait_for(self, text: str) -> None:
        while text not in self._shown:
            try:
                some = os.read(self._ours, 65_536)
            except OSError:  # how a terminal says that its other end was closed
                some = b""
            assert some, f"{text!r} never came:\n{self._shown}"
            self._shown += some.decode()
        self._shown = self._shown.split(text, 1)[1]

    def type(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())

    def close(self) -> int:
        """Leave by Ctrl-D; the exit code."""
        os.write(self._ours, b"\x04")
        code = self._running.wait(60)
        os.close(self._ours)
        return code


@pytest.mark.requirement("docs.blocks-run")
@pytest.mark.slow
def test_the_chat_of_the_page(open_store: Callable[..., Memory], own_home: Path) -> None:
    (shown,) = [
        one.text for one in blocks(CHAT) if one.text.startswith("$ export RICORDO_MODEL_PROVIDER")
    ]
    exports, command, greeting, message, answer = shown.splitlines()
    settings = dict(one.split("=", 1) for one in exports.removeprefix("$ export ").split())
    before = TURNS_BEFORE.search(greeting)
    assert before is not None
    own_home.mkdir()
    store = open_store(str(own_home / "ricordo.db"))
    said = [("user", "assistant")[n % 2] for n in range(int(before[1]))]
    store.user("me").observe(
        [{"role": role, "content": f"Number {n}"} for n, role in enumerate(said)], thread="garden"
    )
    with ModelServer() as model:
        model.answer_with(lambda _: answer)
        assert "127.0.0.1:8080" in settings["RICORDO_MODEL_BASE_URL"]
        settings["RICORDO_MODEL_BASE_URL"] = model.base_url
        words = command.removeprefix("$ ricordo ").split()
        chat = Keyboard(COMMAND, *words, **settings, RICORDO_EMBEDDING_PROVIDER="none")
        chat.wait_for(greeting)
        chat.wait_for("> ")
        chat.type(message.removeprefix("> "))
        chat.wait_for(answer)
        chat.wait_for("> ")
        assert chat.close() == 0
