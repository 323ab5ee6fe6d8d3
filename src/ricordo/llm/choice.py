"""Which language model the operator wants."""

from dataclasses import dataclass, field
from typing import Final, Self

from ricordo.endpoints import choice_checks
from ricordo.errors import InvalidValue
from ricordo.llm.presets import PRESETS, Preset

PROVIDERS: Final = tuple(PRESETS)


@dataclass(frozen=True)
class ModelChoice:
    """A provider with everything that it needs. Make it with :meth:`parse`."""

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
        """Check what was given, and fill in what the provider is known for.

        Raises:
            InvalidValue: names the setting and says what is allowed.
        """
        preset = PRESETS.get(provider)
        if preset is None:
            allowed = ", ".join(PROVIDERS)
            raise InvalidValue("provider", f"{provider[:60]!r} is not one of: {allowed}")
        return cls(
            provider,
            model=choice_checks.model(provider, model, preset.default_model),
            base_url=choice_checks.base_url(
                provider, base_url, preset.base_url, path="/chat/completions"
            ),
            api_key=choice_checks.api_key(provider, api_key, is_needed=preset.needs_key),
        )

    @property
    def preset(self) -> Preset:
        """What is known of the provider."""
        return PRESETS[self.provider]

    @property
    def place(self) -> str:
        """How messages name the endpoint."""
        return f"{self.provider} ({self.base_url})"
