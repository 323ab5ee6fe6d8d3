"""Idempotent writes: requests with an ``Idempotency-Key``.

The first request with a key reserves it, and its response is stored. The same request sent again
gets that response; another request with the same key is refused. A failed request frees its key.
One that was cut off by a server crash keeps it for a minute and may then be sent again, so a write
happens once unless the server dies in the middle of it.
"""

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ricordo.errors import Conflict, InvalidInput, InvalidValue, NotAuthenticated
from ricordo.http.auth import Caller, Gate, GatedRoute, Handler
from ricordo.limits import IDEMPOTENCY_HOURS, MAX_IDEMPOTENCY_KEY_CHARS, MAX_KEPT_ANSWER_BYTES
from ricordo.model import checks
from ricordo.model.group import Acting, space_of
from ricordo.model.vocabulary import GLOBAL_OWNER, GroupRole
from ricordo.storage import idempotency
from ricordo.storage.database import Database
from ricordo.storage.idempotency import KeptAnswer

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotent-Replayed"
_KEPT_HEADERS: Final = ("content-type", "etag", "location")
_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_PARAMETER: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "Any text of your choice: who sends the same request with it again within"
    f" {IDEMPOTENCY_HOURS} hours gets the first answer, and it is done once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY_CHARS},
}


class IdempotentRoute(GatedRoute):
    """A route whose writes can be repeated safely."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if not _WRITES.isdisjoint(options.get("methods") or ()):
            extra = dict(options.get("openapi_extra") or {})
            extra["parameters"] = [*extra.get("parameters", ()), _PARAMETER]
            options["openapi_extra"] = extra
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_once(request: Request) -> Response:
            given = request.headers.get(HEADER)
            if given is None or request.method not in _WRITES:
                return await handle(request)
            gate: Gate = request.app.state.gate
            caller = await gate.caller_of(request)
            return await _once(gate.memory.database, caller, given, request, handle)

        return handle_once


async def _once(
    database: Database, caller: Caller, given: str, request: Request, handle: Handler
) -> Response:
    name = _name(caller, checks.text(HEADER, given, MAX_IDEMPOTENCY_KEY_CHARS))
    owner = caller.user or GLOBAL_OWNER
    if caller.group is not None:  # where it goes with what the group forgets, and with the group
        owner = space_of(caller.group)
        await run_in_threadpool(_check_member, database, caller)
    request_hash = await _fingerprint(request)
    before = await run_in_threadpool(idempotency.reserve, database, owner, name, request_hash)
    if before is not None:
        return _replay(before, request_hash)
    try:
        response = await handle(request)
    except BaseException:
        await run_in_threadpool(idempotency.release, database, owner, name, request_hash)
        raise
    kept = _storable(response, request_hash)
    if kept is None:
        await run_in_threadpool(idempotency.release, database, owner, name, request_hash)
    else:
        await run_in_threadpool(idempotency.keep, database, owner, name, kept)
    return response


def _check_member(database: Database, caller: Caller) -> None:
    """Repeat an answer about a group to its members only. Raises NotAuthenticated: the request
    names no user; GroupNotFound: they are no member."""
    if caller.user is None:
        raise NotAuthenticated("the request names no user, whose group it could be")
    space = space_of(str(caller.group))
    with database.as_member(Acting(space, caller.user, GroupRole.READ)), database.read(space):
        pass


def _name(caller: Caller, given: str) -> str:
    """The storage key of a response. Keys of different callers must not collide, and one agent's
    response is not for another, which may have fewer rights; nor is that in one project for another
    project."""
    who = caller.key.id if caller.key else "local"
    if caller.group is not None:
        who = f"{who}/{quote(caller.user or '', safe='')}"
    acting = quote(caller.agent or "", safe="")
    if caller.project is not None:
        acting = f"{acting}@{quote(caller.project, safe='')}"
    return f"{who}/{acting}/{given}"


async def _fingerprint(request: Request) -> str:
    digest = hashlib.sha256()
    for part in (request.method, request.url.path, request.url.query):
        digest.update(part.encode() + b"\0")
    try:
        digest.update(await request.body())
    except ClientDisconnect:
        raise InvalidInput("the request ended before its body did") from None
    return digest.hexdigest()


def _replay(before: KeptAnswer, request_hash: str) -> Response:
    """The stored response, for a repeated request. Raises InvalidValue: the key was used for
    another request; Conflict: the first request is still under way."""
    if before.request_hash != request_hash:
        raise InvalidValue(HEADER, "was used for another request; choose a new one for this")
    if before.status is None:
        raise Conflict("the first request with this Idempotency-Key is still under way")
    headers = {**before.headers, REPLAYED: "true"}
    return Response(before.body, before.status, headers)


def _storable(response: Response, request_hash: str) -> KeptAnswer | None:
    body = getattr(response, "body", None)  # None where the answer is streamed
    if not isinstance(body, bytes) or len(body) > MAX_KEPT_ANSWER_BYTES:
        return None
    if response.status_code >= HTTPStatus.BAD_REQUEST:
        return None
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return KeptAnswer(request_hash, response.status_code, headers, body)
