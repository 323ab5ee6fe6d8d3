"""What OpenAPI shows of answers beside their shape: examples, and the headers that they have."""

from typing import Any, Final

Shown = dict[int | str, dict[str, Any]]

_TAGGED: Final = {
    "ETag": {"description": "The state that it is in.", "schema": {"type": "string"}},
}
_PLACED: Final = {"Location": {"description": "Where it is.", "schema": {"type": "string"}}}

NOT_CHANGED: Final[Shown] = {304: {"description": "Not changed since.", "headers": _TAGGED}}
"""The answer to who has the present state already."""


def showing(
    example: object,
    status: int = 200,
    description: str | None = None,
    *,
    model: object = None,
    tagged: bool = False,
    placed: bool = False,
) -> Shown:
    """An answer with an example, and an ETag or a Location where it has one.

    ``model`` is only needed where a route has a second kind of answer.
    """
    shown: dict[str, Any] = {"content": {"application/json": {"example": example}}}
    headers = (_TAGGED if tagged else {}) | (_PLACED if placed else {})
    if headers:
        shown["headers"] = headers
    if description is not None:
        shown["description"] = description
    if model is not None:
        shown["model"] = model
    return {status: shown}
