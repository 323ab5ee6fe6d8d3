"""Calling tools: what a model asks for in, what it is told out."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from ricordo.aio import AsyncUserMemory, in_pool
from ricordo.errors import InvalidValue, RicordoError, StorageClosed, StorageError, UnknownField
from ricordo.prompt.fence import UNAVAILABLE
from ricordo.tools import tool
from ricordo.tools.answers import told
from ricordo.tools.sets import chosen, chosen_sets
from ricordo.tools.tool import Answer, Tool, ToolResult, guide_for
from ricordo.user_memory import UserMemory

Given = Mapping[str, Any] | str | None
"""Arguments as they come: an object, its JSON, or nothing."""

_PYTHON_TYPE: Final[dict[str, Any]] = {
    "string": str,
    "boolean": bool,
    "number": float,
    "integer": int,
    "array": list[str],
    "object": dict[str, Any],
}


class _Offered:
    """The tools of some sets, as they are told to models."""

    def __init__(self, sets: tuple[str, ...]) -> None:
        self.sets = chosen_sets(*sets)
        self.tools = chosen(*self.sets)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return tuple(tool.name for tool in self.tools)

    def openai(self) -> list[dict[str, Any]]:
        """For the chat completions of OpenAI, and of everybody who speaks like it."""
        return tool.openai_chat(self.tools)

    def openai_responses(self) -> list[dict[str, Any]]:
        """For OpenAI's Responses."""
        return tool.openai_responses(self.tools)

    def anthropic(self) -> list[dict[str, Any]]:
        """For Anthropic's messages."""
        return tool.anthropic(self.tools)


class Tools(_Offered):
    """The memory of one user as tools for a model; the model can never choose the user.

    The sets are ``standard`` (the default), ``single``, ``query`` and ``profile``; several are put
    together.

    Raises:
        InvalidValue: there is no such set.
    """

    def __init__(self, user: UserMemory, *sets: str) -> None:
        super().__init__(sets)
        self._user = UserMemory(user.parts, replace(user.scope, is_agent=True))

    def call(self, name: str, arguments: Given = None) -> str:
        """Call a tool; what to tell the model, as JSON. A failure is told, too, never raised."""
        return self.run(name, arguments).text

    def run(self, name: str, arguments: Given = None) -> ToolResult:
        """Call a tool; like :meth:`call`, and says whether it failed."""
        try:
            return ToolResult(self._answer(name, arguments))
        except RicordoError as error:
            return ToolResult(told(error, self._user.database.backend.location), error)

    def functions(self) -> dict[str, Callable[..., Answer]]:
        """The tools as plain functions of Python, which raise what the library raises."""
        return {tool.name: self._function(tool) for tool in self.tools}

    def guide(self) -> str:
        """How to use these tools, for a system prompt; with the user's themes, never content."""
        try:
            return guide_for(self.sets, self._user.themes())
        except StorageError:  # a prompt can be built without memory
            return UNAVAILABLE

    def _answer(self, name: str, arguments: Given) -> Answer:
        tool = next((one for one in self.tools if one.name == name), None)
        if tool is None:
            raise UnknownField("tool", [str(name)], self.names)
        return tool.run(self._user, tool.accepted(_unpacked(arguments)))

    def _function(self, tool: Tool) -> Callable[..., Answer]:
        def call(**arguments: Any) -> Answer:
            return tool.run(self._user, tool.accepted(arguments))

        call.__name__ = call.__qualname__ = tool.name
        call.__doc__ = tool.description
        call.__signature__ = _signature(tool)  # type: ignore[attr-defined]
        return call


class AsyncTools(_Offered):
    """The same for asynchronous programs; see :class:`Tools`."""

    def __init__(self, user: AsyncUserMemory, *sets: str) -> None:
        super().__init__(sets)
        self._user = user

    async def call(self, name: str, arguments: Given = None) -> str:
        """See :meth:`Tools.call`."""
        return (await self.run(name, arguments)).text

    async def run(self, name: str, arguments: Given = None) -> ToolResult:
        """See :meth:`Tools.run`."""
        try:
            return await in_pool(
                self._user, lambda user: Tools(user, *self.sets).run(name, arguments)
            )
        except StorageClosed as error:
            return ToolResult(told(error, ""), error)

    async def guide(self) -> str:
        """See :meth:`Tools.guide`."""
        try:
            return await in_pool(self._user, lambda user: Tools(user, *self.sets).guide())
        except StorageClosed:
            return UNAVAILABLE


def _unpacked(given: Given) -> Mapping[str, Any]:
    """The arguments as an object. Raises InvalidValue: they are none."""
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except json.JSONDecodeError as error:
            raise InvalidValue("arguments", f"are not JSON: {error}") from None
        except (ValueError, RecursionError):
            raise InvalidValue("arguments", "have a number too long or are too deep") from None
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidValue("arguments", f"expected an object, got {type(given).__name__}")
    return given


def _signature(tool: Tool) -> inspect.Signature:
    parameters = []
    for one in tool.parameters:
        kind = _PYTHON_TYPE[one.kind.for_models()["type"]]
        parameters.append(
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.is_required else None,
                annotation=kind if one.is_required else kind | None,
            )
        )
    return inspect.Signature(parameters, return_annotation=dict[str, Any])
