"""The settings of MCP clients that the page shows: read, and used to reach the tools."""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from ricordo import Memory, Tools
from tests.docs.markdown import DOCS, blocks
from tests.mcp.legs import TIMEOUT_SECONDS, over_http
from tests.support.service import running

pytestmark = pytest.mark.requirement("docs.blocks-run")

PAGE = DOCS / "howto" / "mcp.md"
PLACES = ("mcpServers", "servers", "context_servers")
"""What clients call their list of servers."""


def entries() -> list[dict[str, Any]]:
    """The one server of each file of settings."""
    found = []
    for block in blocks(PAGE):
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
        for block in blocks(PAGE)
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
