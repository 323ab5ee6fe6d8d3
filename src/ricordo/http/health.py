"""Health, readiness and metrics."""

from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from ricordo.http.auth import ReadingAll
from ricordo.http.problems import documented
from ricordo.http.responses import answer
from ricordo.http.routing import operation_id
from ricordo.memory import Memory
from ricordo.version import __version__

router = APIRouter(tags=["Service"], generate_unique_id_function=operation_id)


class Health(BaseModel):
    """A sign of life."""

    status: str
    version: str


@router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Tell that the process lives. Needs no key and touches nothing."""
    return answer({"status": "ok", "version": __version__})


@router.get("/readyz", response_model=Health, responses=documented(HTTPStatus.SERVICE_UNAVAILABLE))
def readyz(request: Request) -> Response:
    """Tell whether the database answers, so that requests may be sent here. Needs no key."""
    memory: Memory = request.app.state.memory
    memory.users(limit=1)
    return answer({"status": "ready", "version": __version__})


@router.get(
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
