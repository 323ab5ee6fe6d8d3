"""The change feed: what happened to the memories, newest first, with live updates."""

from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from ricordo import limits
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.rendering import PRIVATE, address
from ricordo.web.routing import page_router
from ricordo.web.wording import steps

_PATH: Final = "/ui/changes"

Revision = Annotated[int, Query(ge=0, le=limits.MAX_ID)]

router = page_router()


@router.get("/changes")
def list_changes(page: Page, before: Revision | None = None) -> Response:
    revision = page.memory.revision()
    shown = _before(page, revision + 1 if before is None else min(before, revision + 1))
    if page.is_partial:
        return page.fragment("_changes.html", **shown)
    return page.render("changes.html", **shown, revision=revision, is_newest=before is None)


@router.get("/changes/newer")
def list_newer(page: Page, after: Revision) -> Response:
    """What happened since ``after``, for an open page; 204 No Content where nothing did."""
    memory = page.memory
    revision = memory.revision()
    if after >= revision:  # also where the user was erased meanwhile
        return Response(status_code=204, headers=PRIVATE)
    since = max(after, revision - limits.PAGE_ROWS)
    newest = memory.changes(since, limit=limits.PAGE_ROWS).changes[::-1]
    return page.fragment(
        "_change_news.html",
        steps=steps(memory, newest),
        is_fresh=True,
        revision=newest[0].revision,
        count=newest[0].revision - after,
        left_out=since - after,
        left_out_at=address(_PATH, before=since + 1),
    )


def _before(page: PageRequest, end: int) -> dict[str, Any]:
    """A page of the feed. Revisions have no gaps, so its start is known."""
    since = max(0, end - 1 - limits.PAGE_ROWS)
    size = end - 1 - since
    found = page.memory.changes(since, limit=size).changes if size > 0 else ()
    return {
        "steps": steps(page.memory, found[::-1]),
        "older": address(_PATH, before=since + 1) if since > 0 else None,
    }
