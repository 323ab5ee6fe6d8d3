"""Memory as a toolset of Pydantic AI, for one user or for the user of each run.

Needs the extra ``pydantic-ai``. What the tools do and say is decided in ``ricordo.tools``.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from ricordo.errors import AccessDenied
from ricordo.integrations.adapter import chooser
from ricordo.tools import Tools, chosen
from ricordo.tools.answers import is_mistake
from ricordo.user_memory import UserMemory

try:
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.tools import AgentDepsT, ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.pydantic_ai", "pydantic-ai")) from missing

__all__ = ["MemoryToolset"]

# Arguments are validated by the tool itself, so that every surface reports the same errors.
_UNCHECKED: Final = SchemaValidator(core_schema.dict_schema())


class MemoryToolset(AbstractToolset[AgentDepsT]):
    """The tools of these sets, or of ``standard``.

    ``who`` is a user, or takes the run's context and returns one: ``lambda ctx:
    memory.user(ctx.deps)``. The model cannot choose. With ``instructions`` the agent is also told
    how to use the tools, and which themes the user has.

    The model is asked to retry what it can fix (``ModelRetry``) for as long as the agent allows
    retries; after that, and where the store itself fails, the error is the answer, and the run
    continues. Calls run in threads, so the event loop is not blocked.

    Raises:
        InvalidValue: There is no such set, or this is no user's memory.
    """

    def __init__(
        self,
        who: UserMemory | Callable[[RunContext[AgentDepsT]], UserMemory],
        *sets: str,
        id: str | None = "ricordo",
        instructions: bool = True,
    ) -> None:
        self._user_of = chooser(who, "who")
        self._sets = sets
        self._tools = chosen(*sets)
        self._id = id
        self._instructs = instructions

    @property
    def id(self) -> str | None:
        """The toolset's name among those of an agent."""
        return self._id

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> str | None:
        """How to use the tools, for this user; no memories."""
        if not self._instructs:
            return None
        return await asyncio.to_thread(lambda: self._tools_of(ctx).guide())

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools with their schemas."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.input_schema(),
                    strict=False,  # strict mode has no optional arguments
                    metadata={
                        "read_only": tool.reads_only,
                        "destructive": tool.destructive,
                        "idempotent": tool.idempotent,
                    },
                ),
                max_retries=ctx.max_retries,
                args_validator=_UNCHECKED,
            )
            for tool in self._tools
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDepsT],
        tool: ToolsetTool[AgentDepsT],  # noqa: ARG002 - the name says which
    ) -> dict[str, Any]:
        """Run a tool call. Raises ModelRetry: The model can fix it; the message says how."""
        result = await asyncio.to_thread(lambda: self._tools_of(ctx).run(name, tool_args))
        # Another call does not help against missing permissions or a failing store.
        can_be_fixed = is_mistake(result.error) and not isinstance(result.error, AccessDenied)
        if can_be_fixed and not ctx.last_attempt:
            error = result.value["error"]
            raise ModelRetry(f"{error['message']}\n{error['hint']}")
        return result.value

    def _tools_of(self, ctx: RunContext[AgentDepsT]) -> Tools:
        return Tools(self._user_of(ctx), *self._sets)
