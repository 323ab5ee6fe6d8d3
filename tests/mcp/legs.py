"""The official client on every leg: in this process, over a process's streams, and over HTTP.

Each speaks both ways of the protocol: ``auto`` finds the newest, without a handshake; ``legacy`` is
the handshake of the versions before. Version 1 of the library knows the latter alone.
"""

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ricordo import UserMemory
from ricordo.mcp.library import IS_VERSION_1
from ricordo.mcp.server import server_for
from ricordo.mcp.session import Binding

if TYPE_CHECKING or not IS_VERSION_1:
    import httpx2 as httpx
    from mcp.client import Client
    from mcp.shared.exceptions import MCPError
else:
    import httpx

    from tests.mcp.version_1 import Client
    from tests.mcp.version_1 import Refused as MCPError

__all__ = ["Client", "MCPError"]

COMMAND = str(Path(sys.executable).with_name("ricordo"))
MODES = ("auto", "legacy")
each_mode = pytest.mark.parametrize(
    "mode", ["auto", pytest.param("legacy", marks=pytest.mark.matrix)]
)
TIMEOUT_SECONDS = 120.0


def in_process(
    user: UserMemory, *sets: str, mode: str = "auto", **settings: Any
) -> AbstractAsyncContextManager[Client]:
    """A client of a server in this process."""
    server = server_for(lambda _asked: Binding(user, sets), **settings)
    return Client(server, mode=mode, read_timeout_seconds=TIMEOUT_SECONDS)


@contextlib.asynccontextmanager
async def over_streams(
    *arguments: str, log: Path, mode: str = "auto", heard: Any = None, **environment: str
) -> AsyncIterator[Client]:
    """A client of the real command, whose standard error goes to a file."""
    handed_on = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("RICORDO_") or name == "PYTHONPATH"
    }
    parameters = StdioServerParameters(
        command=COMMAND, args=["mcp", *arguments], env={**handed_on, **environment}
    )
    with log.open("a") as errors:
        transport = stdio_client(parameters, errlog=errors)
        told = {} if heard is None else {"message_handler": heard}
        async with Client(
            transport, mode=mode, read_timeout_seconds=TIMEOUT_SECONDS, **told
        ) as client:
            yield client


@contextlib.asynccontextmanager
async def over_http(
    url: str, *, user: str | None = None, key: str | None = None, mode: str = "auto", **named: str
) -> AsyncIterator[Client]:
    """A client of a service; ``agent``, ``project`` and ``tools`` can be named, too."""
    headers = {"X-Ricordo-User": user, "X-Ricordo-Agent": named.pop("agent", None)}
    headers["X-Ricordo-Project"] = named.pop("project", None)
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    given = {name: value for name, value in headers.items() if value is not None}
    query = f"?tools={named.pop('tools')}" if "tools" in named else ""
    assert not named
    async with httpx.AsyncClient(headers=given, timeout=TIMEOUT_SECONDS) as sender:
        transport = streamable_http_client(f"{url}/mcp{query}", http_client=sender)
        async with Client(transport, mode=mode, read_timeout_seconds=TIMEOUT_SECONDS) as client:
            yield client


def value_of(result: Any) -> dict[str, Any]:
    """What a call came to, which is told twice: as text, and as it is."""
    (content,) = result.content
    assert content.type == "text"
    found: dict[str, Any] = json.loads(content.text)
    assert result.structured_content == found
    return found


async def done(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """What a call comes to that must succeed."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return value_of(result)


async def text_at(client: Client, uri: str) -> str:
    """The text of a resource."""
    (contents,) = (await client.read_resource(uri)).contents
    assert contents.uri == uri
    assert isinstance(contents.text, str)  # type: ignore[union-attr]
    return contents.text  # type: ignore[union-attr]


async def refused(client: Client, uri: str) -> MCPError:
    """The error that reading a resource must end with."""
    try:
        await client.read_resource(uri)
    except MCPError as error:
        return error
    raise AssertionError(f"{uri} was read")
