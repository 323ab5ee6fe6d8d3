"""Administration of all users that is not derived: whole files, and keys with their secrets."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from ricordo import limits
from ricordo.http.auth import Calling, GatedRoute, Managing, ReadingAll, check_may_give
from ricordo.http.files import LinesResponse, received_file
from ricordo.http.responses import answer
from ricordo.http.routing import LENGTHY, RequestBody, router_for
from ricordo.http.transfer import FILE, LINES, ImportRequest
from ricordo.model.reports import ImportReport
from ricordo.model.scope import CreatedKey
from ricordo.model.vocabulary import GLOBAL_OWNER, Permission

router = router_for("Administration", "/v1/admin", route_class=GatedRoute)


@router.get("/export", response_class=StreamingResponse, responses=LINES)
def export_store(request: Request, store: ReadingAll) -> Response:
    """Read every user's data as JSON Lines."""
    slots = request.app.state.exports
    return LinesResponse(store.export_lines(), "ricordo-store.jsonl", GLOBAL_OWNER, slots)


@router.post("/import", response_model=ImportReport, openapi_extra=FILE)
async def import_store(
    request: Request, query: Annotated[ImportRequest, Query()], store: Managing
) -> Response:
    """Bring in a file of any number of users, each under their own name: an export of ricordo, or
    of another system, where it names the user of each memory."""
    async with received_file(request, GLOBAL_OWNER) as path:
        report = await LENGTHY.run(store.import_file, path, **query.given())
    return answer(report)


# No idempotency keys: their responses are stored, and secrets must not be.
keys_router = router_for("Administration: keys", "/v1/admin/keys", route_class=GatedRoute)


class NewKeyRequest(RequestBody):
    """A key of a user, of an agent of one (with `agent`), or of a service (without `user`)."""

    name: str = Field(
        max_length=limits.MAX_KEY_NAME_CHARS, description="For people.", examples=["chat front end"]
    )
    user: str | None = Field(default=None, description="The one user whom it acts for.")
    agent: str | None = Field(default=None, description="The agent of that user whose key it is.")
    categories: list[str] | None = Field(
        default=None, description="All that an agent's key can read and write."
    )
    permissions: list[str] = Field(
        default=[],
        description=f"Of a service's key: {', '.join(Permission)}; of an agent's: share.",
    )
    expires_days: int | None = Field(
        default=None, ge=1, le=limits.MAX_KEY_DAYS, description="How long it is good."
    )


@keys_router.post("", status_code=HTTPStatus.CREATED, response_model=CreatedKey)
def create_key(body: NewKeyRequest, store: Managing, caller: Calling) -> Response:
    """Make a key. Its secret is in this answer, and nowhere else ever after.

    Nobody can give a permission that they do not have.
    """
    check_may_give(caller, body.permissions)
    created = store.create_key(**body.given())
    return answer(created, HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})
