"""The memory tool of the Anthropic SDK on a ricordo store: a model's files are memories.

``pip install 'ricordo[anthropic]'``. Both tools go into ``tools=[...]`` of the SDK's tool runner.
"""

from collections.abc import Callable
from typing import TypeVar

from ricordo.aio import AsyncUserMemory
from ricordo.integrations.adapter import any_user, in_thread, one_user
from ricordo.tools.memory_files import FileResult, MemoryFiles
from ricordo.user_memory import UserMemory

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.anthropic", "anthropic")) from missing

T = TypeVar("T")

Command = (
    BetaMemoryTool20250818ViewCommand
    | BetaMemoryTool20250818CreateCommand
    | BetaMemoryTool20250818StrReplaceCommand
    | BetaMemoryTool20250818InsertCommand
    | BetaMemoryTool20250818DeleteCommand
    | BetaMemoryTool20250818RenameCommand
)


class MemoryTool(BetaAbstractMemoryTool):
    """The files that a model keeps about one user; it can never reach another user's."""

    def __init__(
        self, user: UserMemory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = MemoryFiles(one_user(user))

    def call(self, input: object) -> str:
        """Run a command of the model. Raises ToolError: it failed; the SDK tells the model why."""
        return _text_or_error(self._files.run(input))

    def _run(self, command: Command) -> str:
        return self.call(command.model_dump(exclude_none=True))

    # Each kind of command is a method of the SDK's tool.
    view = create = str_replace = insert = delete = rename = _run

    def clear_all_memory(self) -> str:
        """Delete all files; they can be restored for a while."""
        return _cleared_text(self._files.clear())


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for ``AsyncAnthropic``; the work is done in threads."""

    def __init__(
        self,
        user: UserMemory | AsyncUserMemory,
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._user = any_user(user)

    async def call(self, input: object) -> str:
        """Run a command of the model. Raises ToolError: it failed; the SDK tells the model why."""
        return _text_or_error(await self._in_thread(lambda files: files.run(input)))

    async def _run(self, command: Command) -> str:
        return await self.call(command.model_dump(exclude_none=True))

    # Each kind of command is a method of the SDK's tool.
    view = create = str_replace = insert = delete = rename = _run

    async def clear_all_memory(self) -> str:
        """Delete all files; they can be restored for a while."""
        return _cleared_text(await self._in_thread(lambda files: files.clear()))

    async def _in_thread(self, work: Callable[[MemoryFiles], T]) -> T:
        return await in_thread(self._user, lambda user: work(MemoryFiles(user)))


def _text_or_error(result: FileResult) -> str:
    if result.is_error:
        raise ToolError(result.text)
    return result.text


def _cleared_text(count: int) -> str:
    return f"Deleted {count} files."
