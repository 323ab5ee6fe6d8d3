"""Which memories somebody looks for, as the form and the address of the page say it."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final, Protocol, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ricordo.errors import InvalidValue
from ricordo.model.filters import SortColumn
from ricordo.model.vocabulary import Status

STATUSES: Final = {
    "": "Active",
    Status.ARCHIVED.value: "Archived",
    Status.SUPERSEDED.value: "Superseded",
    Status.DELETED.value: "Forgotten",
    "any": "All but forgotten",
}
"""What can be chosen of statuses, and what the page calls each."""

SORTS: Final = {
    "": "Newest first",
    "created_at-asc": "Oldest first",
    "updated_at-desc": "Changed last",
    "importance-desc": "Most important",
    "access_count-desc": "Recalled most",
    "last_accessed_at-desc": "Recalled last",
    "confidence-asc": "Least sure",
    "theme-asc": "By theme",
    "expires_at-asc": "Expiring next",
}
"""Orders of the list. None by what memories say: the address of the next page would quote it."""
_DEFAULT_SORT: Final = "created_at-desc"
_LISTED: Final = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:,|$)|([^,]+)')


class _Values(Protocol):
    """Query parameters or fields of a form."""

    def get(self, name: str, /) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """The choices of the form; an empty text stands for what was not chosen."""

    theme: str = ""
    type: str = ""
    status: str = ""
    tags: str = ""
    since: str = ""
    until: str = ""
    zone: str = ""
    archived: str = ""
    sort: str = ""

    @classmethod
    def of(cls, given: _Values) -> Self:
        """The choices that were made."""
        return cls(**{name: (given.get(name) or "").strip() for name in cls.__slots__})

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is left out that would be listed otherwise."""
        return any((self.theme, self.type, self.status, self.tags, self.since, self.until))

    def parameters(self) -> dict[str, str]:
        """What the address of this choice says."""
        said = {name: str(getattr(self, name)) for name in type(self).__slots__}
        if not (self.since or self.until):
            del said["zone"]
        return {name: value for name, value in said.items() if value}

    def for_search(self) -> dict[str, Any]:
        """The filters as the library takes them.

        Raises:
            InvalidValue: a date cannot be read.
        """
        tags = [tag.strip() for tag in _split(self.tags) if tag.strip()]
        return {
            "theme": self.theme or None,
            "type": self.type or None,
            "status": self._statuses(),
            "tags": tags or None,
            "created_after": self._moment("since", self.since),
            "created_before": self._moment("until", self.until, days=1),
        }

    def for_list(self) -> dict[str, Any]:
        """The filters and the order as the library takes them.

        Raises:
            InvalidValue: a date cannot be read, or there is no such order.
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
        """When a day begins where the reader is, or some days later."""
        if not day:
            return None
        try:
            begins = date.fromisoformat(day) + timedelta(days=days)
        except (ValueError, OverflowError):
            raise InvalidValue(name, "is no date; allowed: such as 2026-01-31") from None
        return datetime.combine(begins, time(), _zone(self.zone))


def _split(text: str) -> list[str]:
    """The parts of a list with commas; one that has a comma itself stands in quotes."""
    return [quoted.replace('""', '"') or plain for quoted, plain in _LISTED.findall(text)]


def _zone(name: str) -> tzinfo:
    """The reader's zone as the browser names it; UTC where that is unknown here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
