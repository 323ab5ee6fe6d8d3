"""Filters and sort orders of reads; ``storage/where.py`` turns them into SQL."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.vocabulary import MemoryType, Source, Status
from ricordo.text.normalise import folded

_SYNONYMS = {"category": "theme", "status": "statuses", "type": "types", "source": "sources"}
_ANY_STATUS = (Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Conditions on memories; all that are given must hold.

    ``theme``, ``types`` and the like match any of their values; ``tags`` must all be present.
    ``contains`` is a substring, case- and diacritic-insensitive. ``as_of`` selects what was true at
    that time. The ``_after`` bounds are inclusive, the ``_before`` bounds exclusive.
    """

    statuses: tuple[Status, ...] | None = None
    theme: tuple[str, ...] | None = None
    types: tuple[MemoryType, ...] | None = None
    sources: tuple[Source, ...] | None = None
    tags: tuple[str, ...] | None = None
    key: str | None = None
    source_context: str | None = None
    contains: str | None = None
    thread_id: str | None = None
    message_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    pinned: bool | None = None
    importance_min: int | None = None
    importance_max: int | None = None
    confidence_min: int | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    as_of: datetime | None = None

    @property
    def effective_statuses(self) -> tuple[Status, ...]:
        """The requested statuses; by default active, with ``as_of`` also superseded ones."""
        if self.statuses is not None:
            return self.statuses
        return (Status.ACTIVE,) if self.as_of is None else (Status.ACTIVE, Status.SUPERSEDED)

    def newer_than(self, moment: datetime) -> Self:
        """The same filter, without what was stored before."""
        return replace(self, created_after=moment)

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """A filter from plain values.

        A value of None means "not given". ``status`` takes a status, several, or ``any`` (active,
        archived and superseded; never soft-deleted). ``category`` is accepted for ``theme``.

        Raises:
            UnknownField: a key does not exist; it is never ignored.
            InvalidValue: a value is not allowed.
        """
        checks.known_fields("filter", given, FILTER_NAMES)
        values: dict[str, Any] = {}
        for name, value in given.items():
            if value is None:
                continue
            field = _SYNONYMS.get(name, name)
            if field in values:
                raise InvalidValue(name, f"is given twice (also as {field!r})")
            values[field] = _CHECKS[field](name, value)
        return cls(**values)


class SortColumn(StrEnum):
    ID = "id"
    THEME = "theme"
    TYPE = "type"
    KEY = "key"
    CONTENT = "content"
    SOURCE = "source"
    STATUS = "status"
    CONFIDENCE = "confidence"
    IMPORTANCE = "importance"
    PINNED = "pinned"
    VALID_FROM = "valid_from"
    VALID_TO = "valid_to"
    EXPIRES_AT = "expires_at"
    PURGE_AT = "purge_at"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    LAST_ACCESSED_AT = "last_accessed_at"
    LAST_VERIFIED_AT = "last_verified_at"
    ACCESS_COUNT = "access_count"


class Order(StrEnum):
    ASCENDING = "asc"
    DESCENDING = "desc"


@dataclass(frozen=True, slots=True)
class Sort:
    """A column and a direction; ties are broken by id in the same direction.

    Memories without a value come last in either direction.
    """

    column: SortColumn = SortColumn.CREATED_AT
    descending: bool = True

    @classmethod
    def parse(cls, column: object, order: object) -> Self:
        """A sort from a column's name and ``asc`` or ``desc``.

        Raises:
            InvalidValue: no such column or order.
        """
        direction = checks.choice("order", order, Order)
        chosen = checks.choice("sort", column, SortColumn)
        return cls(chosen, direction is Order.DESCENDING)


def _statuses(field: str, value: Any) -> tuple[Status, ...]:
    if value == "any":
        return _ANY_STATUS
    try:
        return checks.choices(field, value, Status)
    except InvalidValue as problem:
        raise InvalidValue(field, f"{problem.problem}, any") from None


def _themes(field: str, value: Any) -> tuple[str, ...]:
    return tuple(theme_slug(name) for name in checks.texts(field, value, limits.MAX_THEME_CHARS))


def _contained(field: str, value: Any) -> str:
    needle = folded(checks.text(field, value, limits.MAX_QUERY_CHARS))
    if not needle:
        raise InvalidValue(field, "has no character that can be searched for")
    return needle


_CHECKS: dict[str, Any] = {
    "statuses": _statuses,
    "theme": _themes,
    "types": lambda field, value: checks.choices(field, value, MemoryType),
    "sources": lambda field, value: checks.choices(field, value, Source),
    "tags": lambda field, value: checks.texts(field, value, limits.MAX_TAG_CHARS),
    "key": lambda field, value: checks.text(field, value, limits.MAX_KEY_CHARS),
    "source_context": lambda field, value: checks.text(
        field, value, limits.MAX_SOURCE_CONTEXT_CHARS
    ),
    "contains": _contained,
    "pinned": checks.flag,
    "importance_min": lambda field, value: checks.integer(field, value, 1, 5),
    "importance_max": lambda field, value: checks.integer(field, value, 1, 5),
    "confidence_min": lambda field, value: checks.integer(field, value, 0, 100),
    **dict.fromkeys(
        ("thread_id", "message_id", "agent_id", "run_id", "actor_id", "role"), checks.reference
    ),
    **dict.fromkeys(
        ("created_after", "created_before", "updated_after", "updated_before", "as_of"),
        checks.optional_moment,
    ),
}

FILTER_NAMES = frozenset(field.name for field in fields(ItemFilter)) | frozenset(_SYNONYMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFilter:
    """Conditions on turns; all that are given must hold. ``until`` is exclusive."""

    thread: str | None = None
    role: str | None = None
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def parse(
        cls,
        thread: object,
        role: object,
        actor: object,
        since: datetime | date | str | None,
        until: datetime | date | str | None,
    ) -> Self:
        """A filter from plain values; None means "not given".

        Raises:
            InvalidValue: a value is not allowed.
        """
        return cls(
            thread=checks.optional_reference("thread", thread),
            role=checks.optional_reference("role", role),
            actor=checks.optional_reference("actor", actor),
            since=checks.optional_moment("since", since),
            until=checks.optional_moment("until", until),
        )
