"""Request models, as the OpenAPI document shows them.

They define fields and types. The library checks values, so that the same mistake gets the same
message everywhere.
"""

from typing import Annotated, Any

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict


class RequestBody(BaseModel):
    """A body or a query string. Fields that do not exist are refused, never ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self) -> dict[str, Any]:
        """The fields that the client sent, by the names of the library's parameters."""
        return self.model_dump(exclude_unset=True)


class QueryParameters(RequestBody):
    """A query string, in which everything comes as text."""

    model_config = ConfigDict(extra="forbid", strict=False)


IfMatch = Annotated[
    str | None, Header(description="Do it only while the thing still has this ETag; 412 otherwise.")
]
IfNoneMatch = Annotated[
    str | None, Header(description="Answer 304 while the thing still has this ETag.")
]
ThreadName = Annotated[str, Path(description="The conversation.", examples=["monday"])]
