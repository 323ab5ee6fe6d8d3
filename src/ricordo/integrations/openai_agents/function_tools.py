"""The tools of memory for agents of the OpenAI Agents SDK."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from agents import FunctionTool, RunContextWrapper
from agents.tool_context import ToolContext

from ricordo.aio import AsyncUserMemory
from ricordo.errors import InvalidValue
from ricordo.tools import AsyncTools, Tool, Tools, chosen
from ricordo.user_memory import UserMemory

Remembering = UserMemory | AsyncUserMemory
Who = Remembering | Callable[[RunContextWrapper[Any]], Remembering | Awaitable[Remembering]]
"""Whose memory it is: always the same user's, or what a function says of the context of a run."""


def memory_tools(who: Who, *sets: str) -> list[FunctionTool]:
    """The tools of some sets (without any, the standard one) for ``Agent(tools=[...])``.

    ``who`` is one user's memory, or a function that takes the context of a run and gives the
    memory of the user whom it is for, so that one agent serves many users. It is the program that
    says who; a model cannot choose.

    Raises:
        InvalidValue: there is no such set.
    """
    return [_function_tool(who, tool, sets) for tool in chosen(*sets)]


def _function_tool(who: Who, tool: Tool, sets: tuple[str, ...]) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        user = await _user_of(who, context)
        if isinstance(user, AsyncUserMemory):
            return await AsyncTools(user, *sets).call(tool.name, arguments)
        return await asyncio.to_thread(Tools(user, *sets).call, tool.name, arguments)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.input_schema(),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict mode has no optional arguments
    )


async def _user_of(who: Who, context: RunContextWrapper[Any]) -> Remembering:
    found: Any = who
    if not isinstance(who, UserMemory | AsyncUserMemory):
        found = who(context)
        if inspect.isawaitable(found):
            found = await found
    if not isinstance(found, UserMemory | AsyncUserMemory):
        raise InvalidValue("who", f"expected the memory of a user, got {type(found).__name__}")
    return found
