"""Records as JSON responses, their ETags, and headers that forbid caching."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from fastapi.responses import JSONResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.errors import InvalidValue
from ricordo.http.problems import PreconditionFailed
from ricordo.model.item import Item
from ricordo.model.record import Record, plain

ANY: Final = "*"
_PRIVATE: Final = ("/v1/", "/mcp", "/tools/")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STEP: Final = timedelta(microseconds=1)
_DIGEST_CHARS: Final = 16
_TAG: Final = re.compile(rf'(?:W/)?"(-?\d{{1,18}})-[0-9a-f]{{{_DIGEST_CHARS}}}"')


def answer(
    value: Record | Mapping[str, object] | tuple[object, ...],
    status: HTTPStatus = HTTPStatus.OK,
    *,
    etag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A record, or a structure of records, as JSON."""
    sent = dict(headers or {})
    if etag is not None:
        sent["ETag"] = etag
    return JSONResponse(plain(value), int(status), sent)


def nothing() -> Response:
    """204 No Content."""
    return Response(status_code=int(HTTPStatus.NO_CONTENT))


def tag(*parts: object) -> str:
    """A strong entity tag."""
    return '"' + "-".join(str(part) for part in parts) + '"'


def is_among(etag: str, given: str | None) -> bool:
    """Whether an ``If-Match`` or ``If-None-Match`` header names this tag."""
    if given is None:
        return False
    named = [entry.strip().removeprefix("W/") for entry in given.split(",")]
    return ANY in named or etag in named


def unchanged(etag: str, if_none_match: str | None) -> Response | None:
    """304 Not Modified for a client that has this state already, else None."""
    if not is_among(etag, if_none_match):
        return None
    return Response(status_code=int(HTTPStatus.NOT_MODIFIED), headers={"ETag": etag})


def check_match(etag: str, if_match: str | None) -> None:
    """Raise PreconditionFailed unless ``If-Match`` is absent or names this state."""
    if if_match is not None and not is_among(etag, if_match):
        raise PreconditionFailed("it was changed since; read it again, then decide")


class Uncached:
    """Forbids caches to store responses about a user, also those made by other middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
            await send(message)

        is_private = scope["type"] == "http" and scope["path"].startswith(_PRIVATE)
        await self._app(scope, receive, sending if is_private else send)


def tag_of(item: Item) -> str:
    """The entity tag of a memory: when it was last changed, and a digest of all that is shown.

    A write with ``If-Match`` compares the first part, a read with ``If-None-Match`` both, since the
    digest also covers recall counts. How far the vector is does not count.
    """
    fields = {name: value for name, value in item.to_dict().items() if name != "embedding"}
    shown = json.dumps(fields, sort_keys=True).encode()
    digest = hashlib.sha256(shown).hexdigest()[:_DIGEST_CHARS]
    return tag((item.updated_at - _EPOCH) // _STEP, digest)


def expected_by(if_match: str | None) -> datetime | None:
    """When the memory that ``If-Match`` names was last changed; None where any state will do.
    Raises PreconditionFailed: no state of a memory has this tag; InvalidValue: it names several."""
    if if_match is None or if_match.strip() == ANY:
        return None
    if "," in if_match:
        raise InvalidValue("If-Match", "takes one ETag, or *")
    named = _TAG.fullmatch(if_match.strip())
    try:
        if named is not None:
            return _EPOCH + int(named[1]) * _STEP
    except OverflowError:
        pass
    raise PreconditionFailed("no memory is in the state that If-Match names; read it again")
