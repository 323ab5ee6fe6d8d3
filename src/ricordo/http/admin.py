"""For operators, and not derived: whole files, keys with their secrets, health and metrics."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from ricordo import limits
from ricordo.http.auth import Calling, GatedRoute, Managing, ReadingAll, check_may_give
from ricordo.http.files import LinesResponse, received_file
from ricordo.http.problems import documented
from ricordo.http.responses import answer
from ricordo.http.routing import LENGTHY, RequestBody, operation_id, router_for
from ricordo.http.transfer import FILE, LINES, ImportRequest
from ricordo.memory import Memory
from ricordo.model.reports import ImportReport
from ricordo.model.scope import CreatedKey
from ricordo.model.vocabulary import GLOBAL_OWNER, Permission
from ricordo.version import __version__

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


health_router = APIRouter(tags=["Service"], generate_unique_id_function=operation_id)


class Health(BaseModel):
    """A sign of life."""

    status: str
    version: str


@health_router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Tell that the process lives. Needs no key and touches nothing."""
    return answer({"status": "ok", "version": __version__})


@health_router.get(
    "/readyz", response_model=Health, responses=documented(HTTPStatus.SERVICE_UNAVAILABLE)
)
def readyz(request: Request) -> Response:
    """Tell whether the database answers, so that requests may be sent here. Needs no key."""
    memory: Memory = request.app.state.memory
    memory.users(limit=1)
    return answer({"status": "ready", "version": __version__})


@health_router.get(
    "/metrics",
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics."},
        **documented(HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS),
    },
)
def metrics(request: Request, _store: ReadingAll) -> Response:
    """What Prometheus reads. Where keys are required, it needs one with ``read_all``."""
    content, content_type = request.app.state.metrics.render()
    return Response(content, media_type=content_type)
