"""The choice of a language model, its endpoint's dialect, and messages."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Literal, Self

from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, field, replace
from ricordo.providers import endpoint
from ricordo.providers.endpoint import Endpoint
from ricordo.text.tokens import estimate_tokens

_TOKENS_FIELDS: Final = ("max_tokens", "max_completion_tokens")
_SAYS_STRUCTURE = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|json[_ ]mode|structured[_ ]output"
    r"|\bgrammar\b|invalid schema",
    re.IGNORECASE,
)
_SAYS_TEMPERATURE = re.compile(r"\btemperature\b", re.IGNORECASE)
_SAYS_TOKENS_FIELD = re.compile(r"\bmax_(completion_)?tokens\b", re.IGNORECASE)
_MESSAGE_COST: Final = 5  # the separators around a message and its role
_ANSWER_START_COST: Final = 3


class Structure(StrEnum):
    """How an answer is structured, from the strictest way to the loosest."""

    JSON_SCHEMA = "json_schema"  # the endpoint enforces the schema
    JSON_OBJECT = "json_object"  # the endpoint enforces JSON
    PLAIN = "plain"  # the model is asked for JSON


@dataclass(frozen=True)
class ChatPreset:
    base_url: str | None
    default_model: str | None
    needs_key: bool
    structure: Structure = Structure.JSON_SCHEMA
    """The best that it may support; what it really does is found out by asking."""
    max_tokens_field: str = "max_tokens"
    keeps_bounds: bool = False
    """Whether a schema may have bounds of numbers and lists."""


PRESETS: Final[Mapping[str, ChatPreset]] = MappingProxyType(
    {
        "openai": ChatPreset(
            base_url="https://api.openai.com/v1",
            default_model="gpt-4.1-mini",
            needs_key=True,
            max_tokens_field="max_completion_tokens",
        ),
        "mistral": ChatPreset(
            base_url="https://api.mistral.ai/v1",
            default_model="mistral-small-latest",
            needs_key=True,
        ),
        "gemini": ChatPreset(
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            default_model="gemini-2.5-flash-lite",
            needs_key=True,
        ),
        "ollama": ChatPreset(
            base_url="http://127.0.0.1:11434/v1",
            default_model="llama3.2",
            needs_key=False,
            keeps_bounds=True,
        ),
        "llamacpp": ChatPreset(
            base_url="http://127.0.0.1:8080/v1",
            default_model="default",  # it answers with the model that it was started with
            needs_key=False,
            keeps_bounds=True,
        ),
        "custom_http": ChatPreset(base_url=None, default_model=None, needs_key=False),
    }
)

PROVIDERS: Final = tuple(PRESETS)


@dataclass(frozen=True)
class ModelChoice:
    """A provider with its settings. Create it with :meth:`parse`."""

    provider: str
    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)

    @classmethod
    def parse(
        cls,
        provider: str,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
    ) -> Self:
        """Check the settings, and fill in the provider's defaults. Raises InvalidValue."""
        preset = PRESETS.get(provider)
        if preset is None:
            allowed = ", ".join(PROVIDERS)
            raise InvalidValue("provider", f"{provider[:60]!r} is not one of: {allowed}")
        return cls(
            provider,
            model=endpoint.checked_model(provider, model, preset.default_model),
            base_url=endpoint.checked_base_url(
                provider, base_url, preset.base_url, path="/chat/completions"
            ),
            api_key=endpoint.checked_api_key(provider, api_key, is_needed=preset.needs_key),
        )

    @property
    def preset(self) -> ChatPreset:
        return PRESETS[self.provider]

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.provider, self.base_url, self.api_key)


_LOOSER: Final = {
    Structure.JSON_SCHEMA: Structure.JSON_OBJECT,
    Structure.JSON_OBJECT: Structure.PLAIN,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a request is phrased for this endpoint."""

    structure: Structure
    max_tokens_field: str
    sends_temperature: bool = True
    tried_both_fields: bool = False
    thinks: bool = False
    """Whether the model thinks before it answers, and needs tokens for that, too."""

    @classmethod
    def of(cls, preset: ChatPreset) -> "Dialect":
        """The dialect to start with."""
        return cls(preset.structure, preset.max_tokens_field)

    def after_refusal(self, status: int, said: str, *, is_structured: bool) -> "Dialect | None":
        """What to try next; None when the refusal is about something else.

        Every step goes one way, so there are four at most.
        """
        if status not in {400, 404, 422, 501}:
            return None
        looser = _LOOSER.get(self.structure) if is_structured else None
        if looser is not None and _SAYS_STRUCTURE.search(said):
            return replace(self, structure=looser)
        # Reasoning models take no temperature.
        if self.sends_temperature and _SAYS_TEMPERATURE.search(said):
            return replace(self, sends_temperature=False)
        if not self.tried_both_fields and _SAYS_TOKENS_FIELD.search(said):
            (other,) = (name for name in _TOKENS_FIELDS if name != self.max_tokens_field)
            return replace(self, max_tokens_field=other, tried_both_fields=True)
        return None


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one request that was sent.

    ``failed``: without a usable answer. It counts as well, because the endpoint may have charged
    for it.
    """

    prompt_tokens: int
    completion_tokens: int
    failed: bool


OnUsage = Callable[[Usage], None]
BeforeRequest = Callable[[int], None]
"""Called with the most tokens that a request can take, before it is sent. Raising ends the call."""


def no_limit(_tokens: int) -> None:
    """For calls without a limit."""


def estimated_tokens(messages: Sequence[Message]) -> int:
    """An upper estimate of the prompt tokens."""
    texts = sum(estimate_tokens(message.content) for message in messages)
    return texts + _MESSAGE_COST * len(messages) + _ANSWER_START_COST
