"""Request models, as the OpenAPI document shows them.

They define fields and types. The library checks values, so that the same mistake gets the same
message everywhere.
"""

from typing import Annotated, Any

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model.filters import FILTER_NAMES
from ricordo.model.vocabulary import MemoryType, Source, Status


class RequestBody(BaseModel):
    """A body or a query string. Fields that do not exist are refused, never ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """The fields that the client sent, by the names of the library's parameters."""
        return self.model_dump(exclude_unset=True)


class QueryParameters(RequestBody):
    """A query string, in which everything comes as text."""

    model_config = ConfigDict(extra="forbid", strict=False)


MemoryId = Annotated[int, Path(ge=1, le=limits.MAX_ID, description="The memory.", examples=[7])]
IfMatch = Annotated[
    str | None, Header(description="Do it only while the thing still has this ETag; 412 otherwise.")
]
IfNoneMatch = Annotated[
    str | None, Header(description="Answer 304 while the thing still has this ETag.")
]
ThreadName = Annotated[str, Path(description="The conversation.", examples=["monday"])]


def count_field(default: int, most: int, description: str = "How many entries at most.") -> Any:
    """A field for a number from 1 to ``most``."""
    return Field(default=default, ge=1, le=most, description=description)


class PageRequest(QueryParameters):
    """Which page of a list."""

    limit: int = count_field(limits.DEFAULT_PAGE_ITEMS, limits.MAX_PAGE_ITEMS)
    cursor: str | None = Field(
        default=None, description="Where to go on: next_cursor of the page before."
    )


class ReasonRequest(RequestBody):
    """Why it is done."""

    reason: str | None = Field(
        default=None,
        max_length=limits.MAX_REASON_CHARS,
        description="For the history.",
        examples=["asked for it"],
    )


def given_by(body: RequestBody | None) -> dict[str, Any]:
    """The fields of an optional body."""
    return {} if body is None else body.given()


def _reference(description: str, example: str | None = None) -> Any:
    return Field(
        default=None,
        max_length=limits.MAX_REFERENCE_CHARS,
        description=description,
        examples=None if example is None else [example],
    )


def _moment(description: str) -> Any:
    return Field(default=None, description=f"{description} ISO 8601; without an offset: UTC.")


class DraftRequest(RequestBody):
    """A memory to be kept; only its content is needed."""

    content: str = Field(
        max_length=limits.MAX_CONTENT_CHARS, examples=["Prefers tea to coffee in the afternoon"]
    )
    theme: str | None = Field(
        default=None, description="The heading it is filed under.", examples=["drinks"]
    )
    category: str | None = Field(default=None, description="Another name for theme.")
    type: str | None = Field(
        default=None,
        description=f"One of: {', '.join(MemoryType)}.",
        examples=[MemoryType.PREFERENCE.value],
    )
    key: str | None = Field(
        default=None,
        max_length=limits.MAX_KEY_CHARS,
        description="What this is the value of: a new one updates the old one.",
        examples=["favourite drink"],
    )
    tags: list[str] | None = Field(default=None, examples=[["hot", "daily"]])
    source: str | None = Field(default=None, description=f"One of: {', '.join(Source)}.")
    source_context: str | None = Field(
        default=None,
        max_length=limits.MAX_SOURCE_CONTEXT_CHARS,
        description="Where it was learnt, in words.",
    )
    thread_id: str | None = _reference("The conversation it comes from.")
    message_id: str | None = _reference("The message it comes from.")
    agent_id: str | None = _reference("The agent that learnt it.")
    run_id: str | None = _reference("The run of that agent.")
    actor_id: str | None = _reference("Who said it.")
    role: str | None = _reference("In which role it was said.", "user")
    confidence: int | None = Field(default=None, ge=0, le=100)
    importance: int | None = Field(default=None, ge=1, le=5)
    pinned: bool | None = Field(default=None, description="One to keep, whatever happens.")
    valid_from: str | None = _moment("Since when it holds.")
    valid_to: str | None = _moment("Until when it holds.")
    expires_at: str | None = _moment("When it is to be forgotten.")
    created_at: str | None = _moment("When it was noted, where that was earlier.")

    def given(self) -> dict[str, Any]:
        """The fields that the client sent, by the names of the library's parameters.

        Raises:
            InvalidValue: both ``theme`` and its alias ``category`` are given.
        """
        values = super().given()
        if "category" in values:
            if "theme" in values:
                raise InvalidValue("category", "is given twice (also as 'theme')")
            values["theme"] = values.pop("category")
        return values


Several = list[str] | str | None


def _several(description: str) -> Any:
    return Field(
        default=None, min_length=1, max_length=limits.MAX_FILTER_VALUES, description=description
    )


class FiltersRequest(BaseModel):
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
        """The given filters, as the library takes them."""
        values = self.model_dump(include=set(FILTER_NAMES), exclude_none=True)
        return {name: one_or_all(value) for name, value in values.items()}


def one_or_all(value: object) -> object:
    """Unwrap a list of one value, because the status ``any`` is only allowed alone."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
