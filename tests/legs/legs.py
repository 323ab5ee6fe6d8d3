"""The legs that the manifest runs on, each with its own way to do an operation.

Those of the library's own operations speak in records, those of the tools in what a model is told;
``native`` and ``told`` bring both down to what every leg has.
"""

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2

import ricordo
from ricordo import Memory, RicordoError, Tools
from ricordo.tools import TOOL_SETS
from tests.legs.behaviours import Refused
from tests.mcp.legs import Client, in_process, over_http, over_streams, value_of
from tests.support import commandline
from tests.support.service import Service, running

Arguments = dict[str, Any]
_ITEM = ("id", "theme", "type", "content")
_WHOLE = (*_ITEM, "tags", "status", "key")


def native(operation: str, value: Any) -> Any:
    """What every leg has of an answer in records."""
    match operation:
        case "add":
            return _some(value, "id", "status", "duplicate", "updated")
        case "get":
            return _some(value, *_WHOLE)
        case "archive":
            return _some(value, "id", "status")
        case "search":
            found = [{**one, "content": one["content_snippet"]} for one in value["results"]]
            return [_some(one, *_ITEM) for one in found]
        case "list":
            return [_some(one, *_ITEM) for one in value["items"]]
        case "themes":
            return {one["slug"]: one["active_count"] for one in value}
        case "query":
            return [_some(one, "id", "category", "text") for one in value["bullets"]]
        case "forget":
            return [one["id"] for one in (value if isinstance(value, list) else [value])]
        case "profile":
            return {one["key"]: one["outcome"] for one in value["fields"]}
    raise AssertionError(operation)


def told(operation: str, value: Any) -> Any:
    """What every leg has of an answer for a model."""
    match operation:
        case "add":
            return {"duplicate": False, "updated": False, **value}
        case "get":
            return _some({"tags": [], "key": None, **value}, *_WHOLE)
        case "archive":
            return value
        case "search" | "list":
            return [_some(one, *_ITEM) for one in value.get("results", value.get("memories"))]
        case "themes":
            return {one["theme"]: one["memories"] for one in value["themes"]}
        case "query":
            return [_some(one, "id", "category", "text") for one in value["bullets"]]
        case "forget":
            return [one["id"] for one in value["forgotten"]]
        case "profile":
            return {one["field"]: one["outcome"] for one in value["fields"]}
    raise AssertionError(operation)


def _some(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value[name] for name in names}


def tool_for(operation: str, arguments: Arguments) -> tuple[str, Arguments]:
    """The tool that does an operation, and its arguments."""
    match operation:
        case "add" if "key" in arguments:
            return "memory", {"action": "save", **arguments}
        case "list":
            return "memory", {"action": "list", **arguments}
        case "themes":
            return "memory_list_themes", {}
        case "profile":
            return "update_user_profile", arguments
        case "query":
            return "memory_query", arguments
        case _:
            return f"memory_{operation}", arguments


class Leg(ABC):
    """One way to reach the same store."""

    @abstractmethod
    async def do(self, user: str, operation: str, arguments: Arguments) -> Any:
        """What comes of an operation, or how it is refused."""


class InPython(Leg):
    """The library's methods."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def do(self, user: str, operation: str, arguments: Arguments) -> Any:
        try:
            name, positional, named = _method(operation, dict(arguments))
            value = getattr(self.memory.user(user), name)(*positional, **named)
            return native(operation, _plain(value))
        except RicordoError as error:
            return Refused(type(error).__name__, str(error))


def _method(operation: str, arguments: Arguments) -> tuple[str, list[Any], Arguments]:
    """The method that does an operation, what it takes by place, and the rest."""
    if operation == "profile":
        return "update_user_profile", [], arguments
    asked = [arguments.pop("query")] if "query" in arguments else []
    return operation, [None, *asked] if operation == "query" else asked, arguments


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [one.to_dict() for one in value]
    return value.to_dict()


class OnCommandLine(Leg):
    """The commands, with ``--json``."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def do(self, user: str, operation: str, arguments: Arguments) -> Any:
        ran = self.run(user, *self.line(operation, dict(arguments)))
        return ran if isinstance(ran, Refused) else native(operation, ran)

    def run(self, user: str, command: list[str], words: list[Any], options: list[Any]) -> Any:
        where = ("--db", self.url, "-u", user, "--json")
        ran = commandline.ricordo(*command, *where, *options, "--", *words)
        if ran.code == 0:
            return json.loads(ran.out)
        failed = json.loads(ran.err)
        return Refused(failed["error"], failed["message"])

    def line(self, operation: str, arguments: Arguments) -> tuple[list[str], list[Any], list[Any]]:
        """The command, what it takes by place, and its options."""
        if operation == "profile":
            fields = [f"{name}={value}" for name, value in arguments["fields"].items()]
            return ["profile", "set"], fields, []
        words = [arguments.pop(name) for name in ("content", "query", "id") if name in arguments]
        options: list[Any] = []
        for name, value in arguments.items():
            option = {"tags": "tag", "categories": "category"}.get(name, name).replace("_", "-")
            for one in value if isinstance(value, list) else [value]:
                options += [f"--{option}", one]
        return [operation], words, options


class OverHttp(Leg):
    """The routes of the service."""

    def __init__(self, service: Service) -> None:
        self.clients: dict[str, httpx2.Client] = {}
        self.service = service

    async def do(self, user: str, operation: str, arguments: Arguments) -> Any:
        answered = self.sent(self.client(user), operation, dict(arguments))
        if answered.is_success:
            return native(operation, answered.json())
        return Refused(answered.json()["type"], answered.json()["detail"])

    def client(self, user: str) -> httpx2.Client:
        if user not in self.clients:
            self.clients[user] = self.service.client(user)
        return self.clients[user]

    def sent(self, client: httpx2.Client, operation: str, given: Arguments) -> httpx2.Response:
        one = f"/v1/memories/{given.pop('id', '')}"
        match operation:
            case "add":
                return client.post("/v1/memories", json=given)
            case "get":
                return client.get(one)
            case "archive":
                return client.post(f"{one}/archive", json=given)
            case "search":
                return client.post("/v1/memories/search", json=given)
            case "list":
                return client.get("/v1/memories", params=given)
            case "themes":
                return client.get("/v1/themes")
            case "query":
                return client.post("/v1/query", json=given)
            case "forget" if "key" in given:
                return client.post("/v1/memories/forget", json=given)
            case "forget":
                return client.delete(one)
            case "profile":
                return client.patch("/v1/profile", json=given)
        raise AssertionError(operation)


class ByTools(Leg):
    """The tools; how they are called is left to each surface."""

    async def do(self, user: str, operation: str, arguments: Arguments) -> Any:
        value = await self.call(user, *tool_for(operation, arguments))
        if isinstance(value, Refused):
            return value
        if "error" in value:
            return Refused(value["error"]["type"], value["error"]["message"])
        return told(operation, value)

    @abstractmethod
    async def call(self, user: str, name: str, arguments: Arguments) -> Any:
        """What a call comes to, as a model is told."""


class ToolsInPython(ByTools):
    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def call(self, user: str, name: str, arguments: Arguments) -> Any:
        return json.loads(Tools(self.memory.user(user), *TOOL_SETS).call(name, arguments))


class ToolsOnCommandLine(ByTools):
    def __init__(self, url: str) -> None:
        self.line = OnCommandLine(url)

    async def call(self, user: str, name: str, arguments: Arguments) -> Any:
        return self.line.run(user, ["tools", "call"], [name, json.dumps(arguments)], [])


class ToolsOverHttp(ByTools):
    def __init__(self, service: Service) -> None:
        self.http = OverHttp(service)

    async def call(self, user: str, name: str, arguments: Arguments) -> Any:
        client = self.http.client(user)
        return client.post(f"/v1/tools/{name}", json={"arguments": arguments}).json()["result"]


class OverMcp(ByTools):
    """The official client of MCP; how it connects is left to each transport."""

    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}
        self.connections = contextlib.AsyncExitStack()

    async def call(self, user: str, name: str, arguments: Arguments) -> Any:
        if user not in self.clients:
            connecting = self.connected(user)
            self.clients[user] = await self.connections.enter_async_context(connecting)
        result = await self.clients[user].call_tool(name, arguments)
        value = value_of(result)
        assert bool(result.is_error) == ("error" in value)
        return value

    @abstractmethod
    def connected(self, user: str) -> contextlib.AbstractAsyncContextManager[Client]:
        """A client for a user."""


class McpInProcess(OverMcp):
    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory

    def connected(self, user: str) -> contextlib.AbstractAsyncContextManager[Client]:
        return in_process(self.memory.user(user), *TOOL_SETS)


class McpOverStreams(OverMcp):
    def __init__(self, url: str, log: Path) -> None:
        super().__init__()
        self.url, self.log = url, log

    def connected(self, user: str) -> contextlib.AbstractAsyncContextManager[Client]:
        sets = [word for name in TOOL_SETS for word in ("--tools", name)]
        return over_streams("--db", self.url, "-u", user, *sets, log=self.log)


class McpOverHttp(OverMcp):
    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service

    def connected(self, user: str) -> contextlib.AbstractAsyncContextManager[Client]:
        return over_http(self.service.url, user=user, tools=",".join(TOOL_SETS))


NAMES = (
    "python",
    "command line",
    "http",
    "tools in python",
    "tools on the command line",
    "tools over http",
    "mcp in memory",
    "mcp over stdio",
    "mcp over http",
)


@contextlib.asynccontextmanager
async def leg_of(name: str, url: str, folder: Path) -> AsyncIterator[Leg]:
    """A leg on the database at ``url``, for as long as the block runs."""
    async with contextlib.AsyncExitStack() as stack:
        if name.endswith("command line"):
            yield OnCommandLine(url) if name == "command line" else ToolsOnCommandLine(url)
            return
        if name == "mcp over stdio":
            streams = McpOverStreams(url, folder / "stderr")
            await stack.enter_async_context(streams.connections)
            yield streams
            return
        opened = stack.enter_context(ricordo.open(url, run_jobs=False, port=0))
        leg: Leg
        if "http" not in name:
            kinds = {"python": InPython, "tools in python": ToolsInPython}
            leg = kinds.get(name, McpInProcess)(opened)
        else:
            served = {"http": OverHttp, "tools over http": ToolsOverHttp}
            leg = served.get(name, McpOverHttp)(stack.enter_context(running(opened)))
        if isinstance(leg, OverMcp):
            await stack.enter_async_context(leg.connections)
        yield leg
