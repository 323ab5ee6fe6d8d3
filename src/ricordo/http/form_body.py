"""The fields of an urlencoded form in the body of a request."""

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from ricordo.errors import InvalidInput
from ricordo.http.problems import RequestTooLarge
from ricordo.limits import MAX_FORM_BYTES, MAX_FORM_FIELDS

_TYPE: Final = "application/x-www-form-urlencoded"


async def urlencoded_fields(
    request: Request, max_bytes: int = MAX_FORM_BYTES
) -> list[tuple[str, str]]:
    """The fields in order.

    Only urlencoded forms: multipart ones could fill the disk, and none of our pages sends them.
    Starlette's parser is slow on large bodies and would block the event loop. Raises InvalidInput:
    it is no such form, or too large.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise InvalidInput(f"send the form as {_TYPE}")
    body = await limited_body(request, max_bytes, "the form")
    try:
        return parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise InvalidInput(f"the form has too many fields; allowed: {MAX_FORM_FIELDS}") from None


async def limited_body(request: Request, max_bytes: int, what: str) -> bytes:
    """The body of a request. Raises RequestTooLarge: it is larger than allowed; InvalidInput: it
    ended too early."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > max_bytes:
                raise RequestTooLarge(f"{what} is too large; allowed: {max_bytes} bytes")
    except ClientDisconnect:
        raise InvalidInput("the request ended before its body did") from None
    return bytes(body)
