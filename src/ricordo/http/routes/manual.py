"""What the service offers, for people to read."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from ricordo.http import manual
from ricordo.http.routing import operation_id

router = APIRouter(tags=["Service"], generate_unique_id_function=operation_id)


@router.get("/docs", response_class=HTMLResponse)
def read_docs(request: Request) -> Response:
    """Read this document as a page. Needs no key; `/openapi.json` is the same for programs."""
    return HTMLResponse(manual.page(request.app.openapi()), headers=manual.HEADERS)


@router.get("/openapi.json", include_in_schema=False)
def read_openapi(request: Request) -> Response:
    """Read what the service offers as an OpenAPI document."""
    return JSONResponse(request.app.openapi())
