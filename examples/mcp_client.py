"""Memory over MCP: the official client starts ``ricordo mcp`` and speaks to it.

That is what Claude Desktop, Cursor and others do. Here the program itself calls the tools; in a
client its model does. Run it with: python examples/mcp_client.py
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent, TextResourceContents


def server_on(folder: str) -> StdioServerParameters:
    """The command that a client starts. For your own memories leave out --db."""
    return StdioServerParameters(
        command=str(Path(sys.executable).with_name("ricordo")),
        args=["mcp", "--user", "ana", "--db", f"{folder}/ricordo.db", "--tools", "standard"],
        env={"RICORDO_HOME": folder},
    )


async def call(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool; what a model would be told."""
    result = await client.call_tool(tool, dict(arguments))
    (content,) = result.content
    assert isinstance(content, TextContent)
    print(f"  {tool}{'' if not result.is_error else ' (refused)'} -> {content.text[:90]}")
    return content.text


async def main() -> None:
    """Remember something in one conversation, and know it in the next."""
    with tempfile.TemporaryDirectory() as folder:
        async with Client(server_on(folder)) as client:
            tools = (await client.list_tools()).tools
            print("tools:", ", ".join(tool.name for tool in tools))
            hints = {tool.name: tool.annotations for tool in tools}
            safe = [name for name, hint in hints.items() if hint and hint.read_only_hint]
            print("may be called without asking:", ", ".join(safe))
            await call(client, "memory_add", content="Ana plays the cello.", theme="music")
            # What is sensitive waits until Ana agrees: ricordo proposals, or on the web page.
            await call(client, "memory_add", content="Ana is allergic to nuts.", theme="health")
            await call(client, "memory_get", id=99)  # a model can act on what it is told now

        async with Client(server_on(folder)) as client:  # another process, another day
            await call(client, "memory_search", query="Which instrument does she play?")
            (shown,) = (await client.read_resource("ricordo://memory.md")).contents
            assert isinstance(shown, TextResourceContents)
            print("remembered of ana:", " ".join(shown.text.split()))


asyncio.run(main())
