"""What requests bring along: the shapes that the OpenAPI document shows.

They say which fields there are and of which type. What values are allowed is checked by the
library, so that the same mistake gets the same answer on every surface.
"""

from typing import Annotated, Any

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field

from ricordo import limits


class Asked(BaseModel):
    """A body or a query string. Fields that do not exist are refused, never ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """What the caller sent, by the names of the library's parameters."""
        return self.model_dump(exclude_unset=True)


class QueryAsked(Asked):
    """A query string, in which everything comes as text."""

    model_config = ConfigDict(extra="forbid", strict=False)


MemoryId = Annotated[int, Path(ge=1, le=limits.MAX_ID, description="The memory.", examples=[7])]
IfMatch = Annotated[
    str | None,
    Header(description="Do it only while the thing still has this ETag; 412 otherwise."),
]
IfNoneMatch = Annotated[
    str | None, Header(description="Answer 304 while the thing still has this ETag.")
]
ThreadName = Annotated[str, Path(description="The conversation.", examples=["monday"])]


class PageAsked(QueryAsked):
    """Which page of a list."""

    limit: int = Field(
        default=limits.DEFAULT_PAGE_ITEMS,
        ge=1,
        le=limits.MAX_PAGE_ITEMS,
        description="How many entries at most.",
    )
    cursor: str | None = Field(
        default=None, description="Where to go on: next_cursor of the page before."
    )


class ReasonAsked(Asked):
    """Why it is done."""

    reason: str | None = Field(
        default=None,
        max_length=limits.MAX_REASON_CHARS,
        description="For the history.",
        examples=["asked for it"],
    )


def given_by(asked: Asked | None) -> dict[str, Any]:
    """What the caller sent in a body that may be left out."""
    return {} if asked is None else asked.given()
