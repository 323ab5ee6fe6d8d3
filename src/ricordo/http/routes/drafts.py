"""The fields of a memory that is to be kept."""

from typing import Any

from pydantic import Field

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.http.asked import Asked
from ricordo.model.vocabulary import MemoryType, Source


def _reference(description: str, example: str | None = None) -> Any:
    return Field(
        default=None,
        max_length=limits.MAX_REFERENCE_CHARS,
        description=description,
        examples=None if example is None else [example],
    )


def _moment(description: str) -> Any:
    return Field(default=None, description=f"{description} ISO 8601; without an offset: UTC.")


class DraftAsked(Asked):
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
        """What the caller sent, by the names of the library's parameters.

        Raises:
            InvalidValue: the heading is given under both of its names.
        """
        values = super().given()
        if "category" in values:
            if "theme" in values:
                raise InvalidValue("category", "is given twice (also as 'theme')")
            values["theme"] = values.pop("category")
        return values
