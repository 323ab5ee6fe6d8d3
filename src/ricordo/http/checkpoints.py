"""Checkpoints: states that programs save per conversation."""

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Request
from fastapi.responses import Response

from ricordo.errors import CheckpointNotFound, Conflict
from ricordo.http.auth import Acting
from ricordo.http.examples import NOT_CHANGED, showing
from ricordo.http.operations import read_json
from ricordo.http.problems import PreconditionFailed, documented
from ricordo.http.responses import answer, check_match, is_among, nothing, tag, unchanged
from ricordo.http.routing import IfMatch, IfNoneMatch, ThreadName, router_for
from ricordo.model.thread import Checkpoint, CheckpointInfo
from ricordo.user_memory import UserMemory

router = router_for("Checkpoints", "/v1/checkpoints")

_EXAMPLE: Final = {
    "thread_id": "monday",
    "version": 1,
    "state": {"step": 3},
    "created_at": "2026-05-01T09:30:00.000000+00:00",
    "updated_at": "2026-05-01T09:30:00.000000+00:00",
}
_SAVED: Final = showing(_EXAMPLE, tagged=True)
_CONDITIONAL: Final = documented(HTTPStatus.PRECONDITION_FAILED)
_ANY_JSON: Final = {
    "requestBody": {
        "required": True,
        "description": "The state: any JSON value.",
        "content": {"application/json": {"schema": {}, "example": {"step": 3}}},
    }
}
UnlessThere = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        description="Save only while the state does not have this ETag; *: while there is none.",
    ),
]


async def _state(request: Request) -> object:
    """The body. FastAPI takes a JSON null for a missing body, but null is a valid state."""
    return read_json(request, await request.body())


State = Annotated[Any, Depends(_state)]


@router.get("/{thread:path}", response_model=Checkpoint, responses={**_SAVED, **NOT_CHANGED})
def load_checkpoint(
    thread: ThreadName, user: Acting, if_none_match: IfNoneMatch = None
) -> Response:
    """Read the state of a conversation that was saved last."""
    found = user.load_checkpoint(thread)
    etag = tag_of(found)
    return unchanged(etag, if_none_match) or answer(found, etag=etag)


@router.put(
    "/{thread:path}",
    response_model=Checkpoint,
    responses={
        **_SAVED,
        **showing(_EXAMPLE, 201, "The first state.", model=Checkpoint, tagged=True),
        **_CONDITIONAL,
    },
    openapi_extra=_ANY_JSON,
)
def save_checkpoint(
    thread: ThreadName,
    user: Acting,
    state: State,
    if_match: IfMatch = None,
    if_none_match: UnlessThere = None,
) -> Response:
    """Keep a program's state of a conversation, in the place of what was saved before.

    Any JSON value comes back exactly as it was given. With `If-Match` (or `If-None-Match: *` for
    the first one), a state that somebody else has saved in the meantime is not overwritten.
    """
    expected = _expected_version(user, thread, if_match, if_none_match)
    try:
        saved = user.save_checkpoint(thread, state, expected_version=expected)
    except Conflict as conflict:
        raise PreconditionFailed(str(conflict)) from None
    status = HTTPStatus.CREATED if saved.version == 1 else HTTPStatus.OK
    return answer(saved, status, etag=tag_of(saved))


@router.delete(
    "/{thread:path}", status_code=HTTPStatus.NO_CONTENT, response_model=None, responses=_CONDITIONAL
)
def delete_checkpoint(thread: ThreadName, user: Acting, if_match: IfMatch = None) -> Response:
    """Remove what was saved for a conversation."""
    expected = _expected_version(user, thread, if_match, None)
    try:
        deleted = user.delete_checkpoint(thread, expected_version=expected)
    except Conflict as conflict:
        raise PreconditionFailed(str(conflict)) from None
    if not deleted:
        raise CheckpointNotFound(thread)
    return nothing()


def tag_of(state: Checkpoint | CheckpointInfo) -> str:
    """The entity tag of a state. Versions restart after a deletion, so the creation time is part of
    it."""
    return tag(state.version, int(state.created_at.timestamp() * 1_000_000))


def _expected_version(
    user: UserMemory, thread: str, if_match: str | None, if_none_match: str | None
) -> int | None:
    """The version that the conditions allow to be replaced; None without conditions. Raises
    PreconditionFailed: the conditions do not allow the current state."""
    if if_match is None and if_none_match is None:
        return None
    present = next(iter(user.narrow(thread=thread).checkpoints(limit=1)), None)
    if present is None:
        if if_match is not None:
            raise PreconditionFailed("nothing is saved here")
        return 0
    etag = tag_of(present)
    check_match(etag, if_match)
    if is_among(etag, if_none_match):
        raise PreconditionFailed("a state is saved here already")
    return present.version
