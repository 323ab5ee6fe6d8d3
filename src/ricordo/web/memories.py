"""The list of memories with filters and search."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final, NamedTuple, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from starlette.responses import RedirectResponse, Response

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass
from ricordo.memories.ratings import rating_by
from ricordo.model.filters import SortColumn
from ricordo.model.item import Item, Rating
from ricordo.model.proposal import Link
from ricordo.model.vocabulary import MemoryType, Status
from ricordo.web.forms import Posted, tags_in
from ricordo.web.page_request import Page, PageRequest
from ricordo.web.projects import chosen_projects
from ricordo.web.rendering import PRIVATE, address, next_page
from ricordo.web.routing import page_router
from ricordo.web.wording import ownerships

STATUSES: Final = {
    "": "Active",
    Status.ARCHIVED.value: "Archived",
    Status.SUPERSEDED.value: "Replaced",
    Status.DELETED.value: "Forgotten",
    "any": "All but forgotten",
}
"""The statuses to choose from, and their labels."""

SORTS: Final = {
    "": "Newest first",
    "created_at-asc": "Oldest first",
    "updated_at-desc": "Recently changed",
    "importance-desc": "Most important",
    "access_count-desc": "Most recalled",
    "last_accessed_at-desc": "Recently recalled",
    "confidence-asc": "Least certain",
    "theme-asc": "By theme",
    "expires_at-asc": "Expiring first",
}
"""The sort orders. None by content: the cursor in the URL would quote it."""
_DEFAULT_SORT: Final = "created_at-desc"
_PATH: Final = "/ui/memories"
_LIKELY: Final = 0.05
_BESIDE_BEST: Final = 0.1  # of what the best is likely: less is hidden at first


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """The filters of the form; empty strings are not set."""

    theme: str = ""
    ownership: str = ""
    project: str = ""
    type: str = ""
    status: str = ""
    tags: str = ""
    since: str = ""
    until: str = ""
    zone: str = ""
    archived: str = ""
    sort: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        return cls(**{name: given.get(name, "").strip() for name in cls.__slots__})

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter is set."""
        return any(
            (
                *(self.theme, self.ownership, self.project, self.type, self.status, self.tags),
                *(self.since, self.until),
            )
        )

    @property
    def is_by_day(self) -> bool:
        """Whether the order is that of days."""
        return self.sort in ("", _DEFAULT_SORT, "created_at-asc")

    def parameters(self) -> dict[str, str]:
        values = {name: str(getattr(self, name)) for name in type(self).__slots__}
        if not (self.since or self.until):
            del values["zone"]
        return {name: value for name, value in values.items() if value}

    def for_search(self) -> dict[str, Any]:
        """The filters as the library takes them.

        Raises:
            InvalidValue: a date is malformed.
        """
        return {
            "theme": self.theme or None,
            "ownership": self.ownership or None,
            "project_id": self.project or None,
            "type": self.type or None,
            "status": self._statuses(),
            "tags": tags_in(self.tags) or None,
            "created_after": self._moment("since", self.since),
            "created_before": self._moment("until", self.until, days=1),
        }

    def for_list(self) -> dict[str, Any]:
        """The filters and the order as the library takes them.

        Raises:
            InvalidValue: a date is malformed, or the order is unknown.
        """
        if self.sort not in (*SORTS, _DEFAULT_SORT):
            raise InvalidValue("sort", f"is not one of: {', '.join(filter(None, SORTS))}")
        column, _, order = (self.sort or _DEFAULT_SORT).partition("-")
        return {**self.for_search(), "sort": SortColumn(column), "order": order}

    def _statuses(self) -> object:
        if not self.archived or self.status in ("any", Status.ARCHIVED.value):
            return self.status or None
        return [self.status or Status.ACTIVE.value, Status.ARCHIVED.value]

    def _moment(self, name: str, day: str, *, days: int = 0) -> datetime | None:
        """The start of a day in the reader's time zone, plus some days."""
        if not day:
            return None
        try:
            begins = date.fromisoformat(day) + timedelta(days=days)
        except (ValueError, OverflowError):
            raise InvalidValue(name, "is not a date such as 2026-01-31") from None
        return datetime.combine(begins, time(), _zone(self.zone))


def _zone(name: str) -> tzinfo:
    """The time zone that the browser names; UTC if unknown."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


router = page_router()


@router.get("/memories")
def list_memories(page: Page, cursor: str | None = None) -> Response:
    filters = MemoryFilter.of(page.request.query_params)
    listed = _listed(page, filters, cursor)
    if page.is_partial:
        return page.fragment("_memories.html", **listed)
    return page.render("memories.html", **listed, **_around(page, filters))


@router.post("/memories")
def search_memories(page: Page, form: Posted) -> Response:
    """Search by POST, so that the question is in no URL and no log.

    Without a question only the filters are applied, which have a URL of their own.
    """
    filters = MemoryFilter.of(form)
    where = address(_PATH, **filters.parameters())
    question = form.get("q")
    if question is None and not page.is_partial:
        return RedirectResponse(where, 303, PRIVATE)
    if question is None:
        shown = _listed(page, filters)
    else:
        shows_unlikely = "unlikely" in form
        results = page.memory.search(
            question,
            **filters.for_search(),
            limit=limits.PAGE_RESULTS,
            threshold=0.0 if shows_unlikely else None,
            explain=True,
        )
        known = _known(page, [hit.id for hit in results.results])
        hits = [hit for hit in results.results if hit.id in known["shown"]]
        best = max((hit.confidence for hit in hits), default=0.0)
        least = max(_LIKELY, _BESIDE_BEST * best)
        shown = {
            **known,
            "results": results,
            "likely": [hit for hit in hits if hit.confidence >= least],
            "unlikely": [hit for hit in hits if hit.confidence < least],
            "question": question,
            "is_narrowed": filters.is_narrowed,
            "shows_unlikely": shows_unlikely,
        }
    if not page.is_partial:
        return page.render("memories.html", **{**shown, **_around(page, filters, question or "")})
    response = page.fragment("_memories.html", **shown)
    # htmx puts the URL of the filters into the address bar, unless it is there already.
    current = page.request.headers.get("hx-current-url", "").partition("#")[0]
    if not current.endswith(where):
        response.headers["HX-Push-Url" if question is None else "HX-Replace-Url"] = where
    return response


def _listed(page: PageRequest, filters: MemoryFilter, cursor: str | None = None) -> dict[str, Any]:
    found = page.memory.list(**filters.for_list(), limit=limits.PAGE_ROWS, cursor=cursor or None)
    return {
        "results": None,
        "items": found.items,
        "more": next_page(_PATH, found.next_cursor, **filters.parameters()),
        **_known(page, [item.id for item in found.items], found.items),
        "is_first": not cursor,
        "is_by_day": filters.is_by_day,
        "is_narrowed": filters.is_narrowed,
    }


def _around(page: PageRequest, filters: MemoryFilter, question: str = "") -> dict[str, Any]:
    themes = page.memory.themes()
    return {
        "question": question,
        "filters": filters,
        "themes": themes,
        "projects": chosen_projects(page),
        "ownerships": {} if page.is_global else ownerships(page.whose),
        "active_count": sum(theme.active_count for theme in themes),
        "types": tuple(MemoryType),
        "statuses": STATUSES,
        "sorts": SORTS,
    }


class _Rated(NamedTuple):
    item: Item
    mine: Rating | None


def _known(
    page: PageRequest, ids: Sequence[int], items: Sequence[Item] | None = None
) -> dict[str, Any]:
    """What the list says of each memory beside its text."""
    if items is None:
        items = page.memory.get_many(ids) if ids else ()
    scope = page.memory.scope
    own = [item for item in items if item.user_id == scope.user_id]
    states = page.memory.embedding_states(ids) if ids else ()
    return {
        "shown": {item.id: item for item in items},
        "vectors": {state.id: state for state in states},
        "viewers": viewers_of(page, [item.id for item in own]),
        "rated": {item.id: _Rated(item, rating_by(scope, item)) for item in own},
    }


def viewers_of(page: PageRequest, ids: Sequence[int]) -> dict[int, list[Link]]:
    """Whom some of the shown user's own memories are shared with, or offered to."""
    found: dict[int, list[Link]] = {}
    for one in page.memory.links_of(ids) if ids else ():
        found.setdefault(one.id, []).append(one)
    return found
