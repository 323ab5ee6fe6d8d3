"""Addresses under which there is no page."""

from starlette.exceptions import HTTPException
from starlette.responses import Response

from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting

router = page_router()


@router.get("/{path:path}")
def get_nothing(visit: Visiting, path: str) -> Response:  # noqa: ARG001 - any path, any visitor
    """Say so, to who may come in at all."""
    raise HTTPException(404)
