"""The projects that a user works on: their days, what was decided, and which files."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final

from fastapi import Query
from starlette.responses import Response

from ricordo import limits
from ricordo.formation.work import FILE_TAG, WorkKind
from ricordo.frozen import dataclass
from ricordo.model.item import Item
from ricordo.model.thread import Thread
from ricordo.user_memory import UserMemory
from ricordo.web.page_request import Page
from ricordo.web.rendering import address
from ricordo.web.routing import page_router
from ricordo.web.wording import HistoryStep, steps

PATH: Final = "/ui/projects"
_PROJECT: Final = f"{PATH}/project"
_THREADS: Final = 50
_SHOWN_OF_A_KIND: Final = 10
_FILES: Final = 40
_SHOWN_OF_A_FILE: Final = 6
_LABELS: Final = {
    WorkKind.DECISION: "Decisions",
    WorkKind.CONVENTION: "Conventions",
    WorkKind.COMMAND: "Commands",
    WorkKind.PITFALL: "Pitfalls",
    WorkKind.FAILED: "Tried in vain",
    WorkKind.OPEN: "Open ends",
}

Revision = Annotated[int, Query(ge=1, le=limits.MAX_ID)]

router = page_router()


@router.get("/projects")
def list_projects(page: Page) -> Response:
    return page.render("projects.html", projects=page.memory.projects())


@router.get("/projects/project")
def show_project(page: Page, id: str, before: Revision | None = None) -> Response:
    """The id is a query parameter because it has slashes, which a path cannot carry."""
    memory = page.memory.narrow(project=id)
    days, older = _timeline(memory, id, before)
    if page.is_partial:
        return page.fragment("_project_days.html", days=days, older=older)
    known = next(iter(memory.projects()), None)
    return page.render(
        "project.html",
        id=id,
        project=known,
        days=days,
        older=older,
        is_newest=before is None,
        kinds=_kinds(memory, id),
        files=_files(memory, id),
    )


@dataclass(frozen=True, slots=True)
class Day:
    """What was said and what changed on a day (UTC)."""

    day: date
    threads: Sequence[Thread]
    steps: Sequence[HistoryStep]


@dataclass(frozen=True, slots=True)
class KindOfWork:
    """Memories of a kind, the newest first, as many as are shown."""

    kind: str
    label: str
    items: Sequence[Item]
    has_more: bool


@dataclass(frozen=True, slots=True)
class File:
    """A file, and what is remembered of it, the newest first."""

    path: str
    items: Sequence[Item]
    left_out: int


def _timeline(memory: UserMemory, project: str, before: int | None) -> tuple[list[Day], str | None]:
    """The days of some changes, the newest first, and where those before them are. The latest
    conversations are among the newest."""
    found = memory.changes(before=before, project_id=project, order="desc", limit=limits.PAGE_ROWS)
    about = steps(memory, found.changes)
    spoken = () if before is not None else memory.threads(project_id=project, limit=_THREADS)
    days: dict[date, tuple[list[Thread], list[HistoryStep]]] = defaultdict(lambda: ([], []))
    for thread in spoken:
        days[_day(thread.updated_at)][0].append(thread)
    for step in about:
        days[_day(step.change.at)][1].append(step)
    last = found.changes[-1].revision if found.more else None
    older = address(_PROJECT, id=project, before=last) if last else None
    return [Day(day, *days[day]) for day in sorted(days, reverse=True)], older


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _kinds(memory: UserMemory, project: str) -> list[KindOfWork]:
    found = []
    for kind, label in _LABELS.items():
        of_kind = {"project_id": project, "tags": [kind.value], "limit": _SHOWN_OF_A_KIND}
        page = memory.list(**of_kind)  # type: ignore[arg-type]
        if page.items:
            found.append(KindOfWork(kind.value, label, page.items, page.next_cursor is not None))
    return found


def _files(memory: UserMemory, project: str) -> list[File]:
    """The files that the latest memories are about, those with the latest first."""
    found: dict[str, list[Item]] = defaultdict(list)
    for item in memory.list(project_id=project, limit=limits.MAX_PAGE_ITEMS):
        for tag in item.tags:
            if tag.startswith(FILE_TAG):
                found[tag.removeprefix(FILE_TAG)].append(item)
    return [
        File(path, of_file[:_SHOWN_OF_A_FILE], max(0, len(of_file) - _SHOWN_OF_A_FILE))
        for path, of_file in list(found.items())[:_FILES]
    ]


def chosen_projects(page: Page) -> Sequence[Any]:
    """The projects to choose from; none for a key of some categories, which does not see them."""
    return () if page.is_confined else page.memory.projects()
