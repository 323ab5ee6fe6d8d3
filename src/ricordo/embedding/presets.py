"""What is known of the endpoints that people use. All of them speak the OpenAI wire format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from ricordo.limits import MAX_EMBEDDED_CHARS


@dataclass(frozen=True)
class Preset:
    """The defaults of one kind of endpoint."""

    base_url: str | None
    default_model: str | None
    needs_key: bool
    max_batch_texts: int
    max_text_chars: int = MAX_EMBEDDED_CHARS
    dimensions_field: str = "dimensions"
    widths: Mapping[str, int] = field(default_factory=dict)
    shortens: frozenset[str] = frozenset()
    """Models trained so that a shorter vector can be asked for."""


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "llamacpp": Preset(
            base_url="http://127.0.0.1:8080/v1",
            default_model=None,  # whatever it was started with
            needs_key=False,
            max_batch_texts=32,
            max_text_chars=2_000,  # one text must fit its physical batch, 512 tokens by default
        ),
        "ollama": Preset(
            base_url="http://127.0.0.1:11434/v1",
            default_model="nomic-embed-text",
            needs_key=False,
            max_batch_texts=32,
            widths={"nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384},
        ),
        "openai": Preset(
            base_url="https://api.openai.com/v1",
            default_model="text-embedding-3-small",
            needs_key=True,
            max_batch_texts=128,
            widths={
                "text-embedding-3-small": 1536,
                "text-embedding-3-large": 3072,
                "text-embedding-ada-002": 1536,
            },
            shortens=frozenset({"text-embedding-3-small", "text-embedding-3-large"}),
        ),
        "mistral": Preset(
            base_url="https://api.mistral.ai/v1",
            default_model="mistral-embed",
            needs_key=True,
            max_batch_texts=64,
            dimensions_field="output_dimension",
            widths={"mistral-embed": 1024},
        ),
        "gemini": Preset(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            default_model="gemini-embedding-001",
            needs_key=True,
            max_batch_texts=64,
            widths={"gemini-embedding-001": 3072},
            shortens=frozenset({"gemini-embedding-001"}),
        ),
        "custom_http": Preset(
            base_url=None, default_model=None, needs_key=False, max_batch_texts=32
        ),
    }
)
