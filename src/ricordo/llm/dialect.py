"""What an endpoint was found to understand, and what to try when it says no."""

import re
from dataclasses import dataclass, replace
from typing import Final

from ricordo.llm.presets import Preset, Structure

_STATUSES: Final = frozenset({400, 404, 422, 501})
_LOOSER: Final = {
    Structure.JSON_SCHEMA: Structure.JSON_OBJECT,
    Structure.JSON_OBJECT: Structure.PLAIN,
}
_TOKENS_FIELDS: Final = ("max_tokens", "max_completion_tokens")

_SAYS_STRUCTURE = re.compile(
    r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|json[_ ]mode|structured[_ ]output"
    r"|\bgrammar\b|invalid schema",
    re.IGNORECASE,
)
_SAYS_TEMPERATURE = re.compile(r"\btemperature\b", re.IGNORECASE)
_SAYS_TOKENS_FIELD = re.compile(r"\bmax_(completion_)?tokens\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a request is put to this endpoint."""

    structure: Structure
    max_tokens_field: str
    sends_temperature: bool = True
    tried_both_fields: bool = False

    @classmethod
    def of(cls, preset: Preset) -> "Dialect":
        """What to begin with."""
        return cls(preset.structure, preset.max_tokens_field)

    def after_refusal(self, status: int, said: str, *, is_structured: bool) -> "Dialect | None":
        """What to try next; None when the refusal is about something else.

        Every step goes one way, so that there are four at most.
        """
        if status not in _STATUSES:
            return None
        looser = _LOOSER.get(self.structure) if is_structured else None
        if looser is not None and _SAYS_STRUCTURE.search(said):
            return replace(self, structure=looser)
        # Models that reason before they answer take no temperature.
        if self.sends_temperature and _SAYS_TEMPERATURE.search(said):
            return replace(self, sends_temperature=False)
        if not self.tried_both_fields and _SAYS_TOKENS_FIELD.search(said):
            (other,) = (name for name in _TOKENS_FIELDS if name != self.max_tokens_field)
            return replace(self, max_tokens_field=other, tried_both_fields=True)
        return None
