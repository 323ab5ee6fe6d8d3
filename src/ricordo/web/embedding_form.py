"""The form that says where vectors are to be made: what it offers, and what was filled in."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from ricordo.errors import InvalidValue
from ricordo.providers.embedding_choice import LOCAL, NONE, PRESETS, PROVIDERS

_NAMES: Final = {
    LOCAL: "On this server, with the shipped model",
    "llamacpp": "llama.cpp server",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "mistral": "Mistral",
    "gemini": "Google Gemini",
    "custom_http": "Another endpoint that speaks like OpenAI's",
    NONE: "Nobody: find memories by their words alone",
}
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_USUAL_ADDRESS: Final = "https://…/v1"

FIELD_NAMES: Final = {
    "provider": "Provider",
    "model": "Model",
    "base_url": "Address",
    "api_key": "API key",
    "dimensions": "Dimensions",
}
"""The fields, and what the page calls them."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One that can be chosen. Where it ``is_remote``, the other fields say how to reach it;
    ``model`` and ``base_url`` are what is taken where they are left empty."""

    value: str
    name: str
    is_remote: bool
    model: str
    base_url: str
    needs_key: bool


def providers() -> tuple[Provider, ...]:
    """All that can be chosen."""
    return tuple(_provider(value) for value in PROVIDERS)


def provider_name(value: str) -> str:
    """What the page calls a provider; a folder of the operator's is told as it is."""
    return _NAMES.get(value, value)


def _provider(value: str) -> Provider:
    preset = PRESETS.get(value)
    if preset is None:
        return Provider(value, provider_name(value), False, "", "", False)
    return Provider(
        value,
        provider_name(value),
        True,
        preset.default_model or "",
        preset.base_url or _USUAL_ADDRESS,
        preset.needs_key,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingForm:
    """What somebody has typed; an empty text stands for what was left empty.

    The key is kept out of what is shown again.
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    dimensions: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """What was typed."""
        return cls(**{one.name: given.get(one.name, "") for one in fields(cls)})

    def choice(self) -> dict[str, Any]:
        """The fields as the library takes them.

        Raises:
            InvalidValue: the dimensions are no number.
        """
        if self.dimensions and not _NUMBER.fullmatch(self.dimensions):
            raise InvalidValue("dimensions", "is no whole number; leave it empty for the usual one")
        return {
            "provider": self.provider,
            "model": self.model or None,
            "base_url": self.base_url or None,
            "api_key": self.api_key or None,
            "dimensions": int(self.dimensions) if self.dimensions else None,
        }

    @property
    def seal(self) -> str:
        """Stands for what was typed, but for the key: who confirms something confirms what the
        answer before was about."""
        typed = (self.provider, self.model, self.base_url, self.dimensions)
        return hashlib.sha256(repr(typed).encode("utf-8", "replace")).hexdigest()[:32]
