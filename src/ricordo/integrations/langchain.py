"""Memory as tools of LangChain, for one user or for the user whom each call's config names.

Needs the extra ``langchain``. What the tools do and say is decided in ``ricordo.tools``.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from ricordo.errors import InvalidValue
from ricordo.memory import Memory
from ricordo.tools import Tool, Tools, chosen
from ricordo.user_memory import UserMemory

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, ToolException
except ImportError as missing:
    raise ImportError(
        "ricordo.integrations.langchain needs langchain-core: pip install 'ricordo[langchain]'"
    ) from missing

UserOfConfig = Callable[[RunnableConfig], UserMemory]
"""Says whose memory a call is about. The model has no part in it."""

__all__ = ["MemoryTool", "UserOfConfig", "memory_tools", "user_of_config"]


class MemoryTool(BaseTool):
    """One tool of memory.

    The answer is compact JSON, also where something went wrong: ``{"error": {...}}`` says what the
    model can do about it, and the message has the status ``error``. Only whoever calls the tool
    decides for which user it works; what a model sends is never looked at for that.
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

    # ``self`` is positional only: models make up arguments, and one of that name is theirs.
    def _run(self, /, *, config: RunnableConfig, **arguments: Any) -> str:
        user = self._user_of(config or {})
        result = Tools(user, *self._sets).run(self.name, arguments)
        if result.is_error:
            raise ToolException(result.text)
        return result.text

    async def _arun(self, /, *, config: RunnableConfig, **arguments: Any) -> str:
        """The same in a thread: the event loop goes on meanwhile."""
        return await asyncio.to_thread(self._run, config=config, **arguments)


def memory_tools(who: UserMemory | UserOfConfig, *sets: str) -> list[BaseTool]:
    """The tools of these sets, or of ``standard``, for a user or for whom each call's config names.

    Raises:
        InvalidValue: There is no such set.
    """
    user_of = who if callable(who) else _always(who)
    return [MemoryTool(tool, user_of, sets) for tool in chosen(*sets)]


def user_of_config(memory: Memory, *, key: str = "user_id") -> UserOfConfig:
    """Takes the user from ``config["configurable"][key]``, for programs that serve many users.

    What it returns raises ``InvalidValue`` where the config names none: nobody's memory is the
    memory of everybody.
    """

    def user_of(config: RunnableConfig) -> UserMemory:
        user_id = config.get("configurable", {}).get(key)
        if not isinstance(user_id, str):
            example = f'config={{"configurable": {{"{key}": "ana"}}}}'
            raise InvalidValue(f"configurable.{key}", f"names no user; call with {example}")
        return memory.user(user_id)

    return user_of


def _always(user: UserMemory) -> UserOfConfig:
    return lambda _config: user
