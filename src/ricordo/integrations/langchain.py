"""Memory as tools of LangChain, for one user or for the user in each call's config.

Needs the extra ``langchain``. What the tools do and say is decided in ``ricordo.tools``.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import chooser, whole_store
from ricordo.memory import Memory
from ricordo.tools import Tool, Tools, chosen
from ricordo.user_memory import UserMemory

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, ToolException
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.langchain", "langchain")) from missing

UserOfConfig = Callable[[RunnableConfig], UserMemory]
"""Returns the user of a call. The model cannot choose."""

__all__ = ["MemoryTool", "UserOfConfig", "memory_tools", "user_of_config"]


class MemoryTool(BaseTool):
    """One memory tool.

    The answer is compact JSON, also for errors: ``{"error": {...}}`` says what the model can do,
    and the message has the status ``error``. The user is chosen by the caller of the tool, never by
    the model's arguments.
    """

    _user_of: UserOfConfig
    _sets: tuple[str, ...]

    def __init__(self, tool: Tool, user_of: UserOfConfig, sets: tuple[str, ...]) -> None:
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=tool.input_schema(),
            handle_tool_error=True,
        )
        self._user_of = user_of
        self._sets = sets

    # ``self`` is positional only: models make up arguments, and one may have that name.
    def _run(self, /, *, config: RunnableConfig, **arguments: Any) -> str:
        user = self._user_of(config or {})
        result = Tools(user, *self._sets).run(self.name, arguments)
        if result.is_error:
            raise ToolException(result.text)
        return result.text

    async def _arun(self, /, *, config: RunnableConfig, **arguments: Any) -> str:
        """In a thread, so the event loop is not blocked."""
        return await asyncio.to_thread(self._run, config=config, **arguments)


def memory_tools(who: UserMemory | UserOfConfig, *sets: str) -> list[BaseTool]:
    """The tools of these sets, or of ``standard``, for a user or for the user in each call's
    config. Raises InvalidValue: There is no such set, or this is no user's memory."""
    user_of = chooser(who, "who")
    return [MemoryTool(tool, user_of, sets) for tool in chosen(*sets)]


def user_of_config(memory: Memory, *, key: str = "user_id") -> UserOfConfig:
    """Take the user from ``config["configurable"][key]``, for programs that serve many users.

    Raises ``InvalidValue`` when called with a config that names none.
    """
    store = whole_store(memory)

    def user_of(config: RunnableConfig) -> UserMemory:
        user_id = config.get("configurable", {}).get(key)
        if not isinstance(user_id, str):
            example = f'config={{"configurable": {{"{key}": "ana"}}}}'
            raise InvalidValue(f"configurable.{key}", f"names no user; call with {example}")
        return store.user(user_id)

    return user_of
