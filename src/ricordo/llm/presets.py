"""What is known of the language models that people use. All speak the OpenAI wire format."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Structure(StrEnum):
    """How an answer is kept in shape, from the strictest way to the loosest."""

    JSON_SCHEMA = "json_schema"  # the endpoint lets the model write nothing else
    JSON_OBJECT = "json_object"  # the endpoint sees to it that it is JSON
    PLAIN = "plain"  # the model is asked for JSON


@dataclass(frozen=True)
class Preset:
    """The defaults of one kind of endpoint."""

    base_url: str | None
    default_model: str | None
    needs_key: bool
    structure: Structure = Structure.JSON_SCHEMA
    """The best that it may support; what it really does is found out when it is asked."""
    max_tokens_field: str = "max_tokens"
    keeps_bounds: bool = False
    """Whether a schema may hold the least and the most of numbers and lists."""


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "openai": Preset(
            base_url="https://api.openai.com/v1",
            default_model="gpt-4.1-mini",
            needs_key=True,
            max_tokens_field="max_completion_tokens",
        ),
        "mistral": Preset(
            base_url="https://api.mistral.ai/v1",
            default_model="mistral-small-latest",
            needs_key=True,
        ),
        "gemini": Preset(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            default_model="gemini-2.5-flash-lite",
            needs_key=True,
        ),
        "ollama": Preset(
            base_url="http://127.0.0.1:11434/v1",
            default_model="llama3.2",
            needs_key=False,
            keeps_bounds=True,
        ),
        "llamacpp": Preset(
            base_url="http://127.0.0.1:8080/v1",
            default_model="default",  # it answers with the one that it was started with
            needs_key=False,
            keeps_bounds=True,
        ),
        "custom_http": Preset(base_url=None, default_model=None, needs_key=False),
    }
)
