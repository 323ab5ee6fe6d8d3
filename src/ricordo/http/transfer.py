"""Export and import of a user."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field

from ricordo.http.auth import Acting, GatedRoute
from ricordo.http.files import JSON_LINES, LinesResponse, received_file
from ricordo.http.responses import answer
from ricordo.http.routing import LENGTHY, QueryParameters, router_for
from ricordo.model.reports import ImportReport
from ricordo.transfer.imports import AUTO, FORMATS

router = router_for("Export and import", "/v1", route_class=GatedRoute)

LINES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "JSON Lines, from one consistent state. The last line says how many came"
        " before it, so that a file that was cut off shows.",
        "content": {JSON_LINES: {"schema": {"type": "string"}}},
    }
}
FILE: Final = {
    "requestBody": {
        "required": True,
        "description": "The file as it is.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class ImportRequest(QueryParameters):
    """How to read the file."""

    format: str = Field(
        default=AUTO, description=f"One of: {', '.join(FORMATS)}.", examples=["auto"]
    )
    consented: bool = Field(
        default=False,
        description="The users agree to every memory in it, sensitive ones included.",
    )
    dry_run: bool = Field(default=False, description="Only count what there is, and write nothing.")


class UserImportRequest(ImportRequest):
    """How to read the file, and of whom."""

    source_user: str | None = Field(
        default=None,
        description="Whose memories to take, where a file of another system has several users'.",
        examples=["ana-42"],
    )


@router.get("/export", response_class=StreamingResponse, responses=LINES)
def export_user(request: Request, user: Acting) -> Response:
    """Read everything of the user's as JSON Lines, which `POST /v1/import` takes back."""
    slots = request.app.state.exports
    return LinesResponse(user.export_lines(), "ricordo-export.jsonl", user.scope.user_id, slots)


@router.post("/import", response_model=ImportReport, openapi_extra=FILE)
async def import_user(
    request: Request, query: Annotated[UserImportRequest, Query()], user: Acting
) -> Response:
    """Bring in an export of ricordo, or what another system exported.

    The whole file is checked before anything is written. One import of a user runs at a time, and a
    few of all users; another one is refused with 429. Bringing in the same file again changes
    nothing, so it needs no `Idempotency-Key`.
    """
    async with received_file(request, user.scope.user_id) as path:
        report = await LENGTHY.run(user.import_file, path, **query.given())
    return answer(report)
