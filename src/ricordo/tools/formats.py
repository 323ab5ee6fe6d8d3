"""Tools as the programming interfaces of model providers want to be told of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ricordo.tools.tool import Tool


def openai_chat(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """For ``tools`` of OpenAI's chat completions, and of everybody who speaks like it."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema(),
            },
        }
        for tool in tools
    ]


def openai_responses(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """For ``tools`` of OpenAI's Responses."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema(),
            "strict": False,  # strict mode has no optional arguments
        }
        for tool in tools
    ]


def anthropic(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """For ``tools`` of Anthropic's messages."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema(),
        }
        for tool in tools
    ]


FORMS: Final[Mapping[str, Callable[[Iterable[Tool]], list[dict[str, Any]]]]] = {
    "openai": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
}
"""By the name that each goes by on the command line and over HTTP."""
