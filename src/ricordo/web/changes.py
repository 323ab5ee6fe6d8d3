"""The change feed: what was learned, replaced and forgotten, newest first, with live updates."""

from typing import Annotated, Any, Final, Self

from fastapi import Query
from starlette.responses import Response

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.model.item import Changes
from ricordo.model.vocabulary import Event
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.projects import chosen_projects
from ricordo.web.rendering import PRIVATE, address
from ricordo.web.routing import page_router
from ricordo.web.wording import steps

_PATH: Final = "/ui/changes"
_NEWER: Final = f"{_PATH}/newer"

KINDS: Final = {
    "learned": ("Learned", (Event.ADD,)),
    "replaced": ("Replaced", (Event.UPDATE, Event.SUPERSEDE)),
    "merged": ("Merged", (Event.MERGE,)),
    "forgotten": ("Forgotten", (Event.DELETE, Event.TTL, Event.PURGE)),
    "shared": ("Shared", (Event.LINK, Event.UNLINK)),
    "archived": ("Archived", (Event.ARCHIVE, Event.RESTORE, Event.UNDO)),
    "marked": ("Marked", (Event.PIN, Event.VERIFY, Event.RATE)),
    "proposed": ("Proposed", (Event.CONSENT,)),
}
"""What to choose from: its label, and the events that it is."""

Revision = Annotated[int, Query(ge=0, le=limits.MAX_ID)]

router = page_router()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which changes are shown."""

    kind: str = ""
    project: str = ""

    @classmethod
    def of(cls, page: PageRequest) -> Self:
        """As the address says.

        Raises:
            InvalidValue: there is no such kind.
        """
        given = page.request.query_params
        kind = given.get("kind", "").strip()
        if kind and kind not in KINDS:
            raise InvalidValue("kind", f"this is not one of: {', '.join(KINDS)}")
        return cls(kind, given.get("project", "").strip())

    @property
    def parameters(self) -> dict[str, str]:
        return {"kind": self.kind, "project": self.project}

    def read(self, page: PageRequest, limit: int, **given: int) -> Changes:
        return page.memory.changes(
            event=KINDS[self.kind][1] if self.kind else None,
            project_id=self.project or None,
            order="desc",
            limit=limit,
            **given,
        )


@router.get("/changes")
def list_changes(page: Page, before: Revision | None = None) -> Response:
    wanted = _Wanted.of(page)
    revision = page.memory.revision()
    shown = _before(page, wanted, revision + 1 if before is None else min(before, revision + 1))
    if page.is_partial:
        return page.fragment("_changes.html", **shown)
    return page.render(
        "changes.html",
        **shown,
        wanted=wanted,
        kinds=KINDS,
        projects=chosen_projects(page),
        revision=revision,
        newer=address(_NEWER, **wanted.parameters, after=revision),
        is_newest=before is None,
    )


@router.get("/changes/newer")
def list_newer(page: Page, after: Revision) -> Response:
    """What happened since ``after``, for an open page; 204 No Content where nothing did."""
    wanted = _Wanted.of(page)
    revision = page.memory.revision()
    if after >= revision:  # also where the user was erased meanwhile
        return Response(status_code=204, headers=PRIVATE)
    found = wanted.read(page, limits.PAGE_ROWS, since=after)
    if not found.changes:
        return Response(status_code=204, headers=PRIVATE)
    newest = found.changes
    return page.fragment(
        "_change_news.html",
        steps=steps(page.memory, newest),
        is_fresh=True,
        newer=address(_NEWER, **wanted.parameters, after=newest[0].revision),
        count=len(newest),
        has_more=found.more,
        rest=address(_PATH, **wanted.parameters, before=newest[-1].revision),
    )


def _before(page: PageRequest, wanted: _Wanted, end: int) -> dict[str, Any]:
    """A page of the feed."""
    if end < 1:
        return {"steps": (), "older": None}
    found = wanted.read(page, limits.PAGE_ROWS, before=end)
    older = None
    if found.more:
        older = address(_PATH, **wanted.parameters, before=found.changes[-1].revision)
    return {"steps": steps(page.memory, found.changes), "older": older}
