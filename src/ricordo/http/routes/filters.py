"""Which memories a request is about."""

from typing import Any

from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.model.filters import FILTER_NAMES
from ricordo.model.vocabulary import MemoryType, Source, Status

Several = list[str] | str | None
"""One value, or a list of them."""


def _several(description: str) -> Any:
    return Field(
        default=None,
        min_length=1,
        max_length=limits.MAX_FILTER_VALUES,
        description=description,
    )


def _reference(description: str) -> Any:
    return Field(default=None, max_length=limits.MAX_REFERENCE_CHARS, description=description)


class FiltersAsked(BaseModel):
    """Every filter of the library, under its own name; all that are given must hold."""

    status: Several = _several(f"Any of: {', '.join(Status)}; or any. Default: active.")
    theme: Several = _several("Any of these headings.")
    category: Several = _several("Another name for theme.")
    type: Several = _several(f"Any of: {', '.join(MemoryType)}.")
    source: Several = _several(f"Any of: {', '.join(Source)}.")
    tags: Several = _several("Has all of these tags.")
    key: str | None = Field(
        default=None, max_length=limits.MAX_KEY_CHARS, description="Has this key."
    )
    source_context: str | None = Field(
        default=None,
        max_length=limits.MAX_SOURCE_CONTEXT_CHARS,
        description="Was learnt exactly there.",
    )
    contains: str | None = Field(
        default=None,
        max_length=limits.MAX_QUERY_CHARS,
        description="Has this text in it, in any case, accents or not.",
    )
    thread_id: str | None = _reference("Comes from this conversation.")
    message_id: str | None = _reference("Comes from this message.")
    agent_id: str | None = _reference("Was learnt by this agent.")
    run_id: str | None = _reference("Was learnt in this run.")
    actor_id: str | None = _reference("Was said by them.")
    role: str | None = _reference("Was said in this role.")
    pinned: bool | None = Field(default=None, description="Only pinned ones, or only others.")
    importance_min: int | None = Field(default=None, ge=1, le=5)
    importance_max: int | None = Field(default=None, ge=1, le=5)
    confidence_min: int | None = Field(default=None, ge=0, le=100)
    created_after: str | None = Field(default=None, description="Noted at or after this time.")
    created_before: str | None = Field(default=None, description="Noted before this time.")
    updated_after: str | None = Field(default=None, description="Changed at or after this time.")
    updated_before: str | None = Field(default=None, description="Changed before this time.")
    as_of: str | None = Field(default=None, description="What was true at this time.")

    def filters(self) -> dict[str, Any]:
        """What was given, as the library takes it."""
        values = self.model_dump(include=set(FILTER_NAMES), exclude_none=True)
        return {name: one_or_all(value) for name, value in values.items()}


def one_or_all(value: object) -> object:
    """A single value by itself, because ``any`` is a status only when it stands alone."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
