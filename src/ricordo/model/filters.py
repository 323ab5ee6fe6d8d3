"""Filters and sort orders of reads; ``storage/where.py`` turns them into SQL."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Self, TypeAlias, TypedDict, get_type_hints

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, replace
from ricordo.model import checks
from ricordo.model.fields import (
    Choice,
    Flag,
    Folded,
    Integer,
    Moment,
    Parameter,
    Reference,
    Several,
    Text,
    Theme,
    When,
    by_alias,
    described_fields,
)
from ricordo.model.vocabulary import MemoryType, Ownership, Source, Status

_PLURAL: Final = {"status": "statuses", "type": "types", "source": "sources"}
_ANY_STATUS: Final = (Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED)

Words: TypeAlias = Iterable[str] | str | None


class Filters(TypedDict, total=False):
    """Conditions on memories, as callers give them; all that are given must hold."""

    status: Annotated[
        Words,
        Several(
            Choice(Status),
            any_means=_ANY_STATUS,
            about="Any of these; default: active.",
            aliases=("statuses",),
            metavar="STATUS",
        ),
    ]
    theme: Annotated[
        Words,
        Several(
            Theme(),
            about="Any of these headings.",
            aliases=("category",),
            metavar="NAME",
            completes="theme",
        ),
    ]
    type: Annotated[
        Words,
        Several(Choice(MemoryType), about="Any of these.", aliases=("types",), metavar="TYPE"),
    ]
    source: Annotated[
        Words,
        Several(Choice(Source), about="Any of these.", aliases=("sources",), metavar="SOURCE"),
    ]
    tags: Annotated[
        Words, Several(Text(limits.MAX_TAG_CHARS), about="Has all of these tags.", metavar="TAG")
    ]
    key: Annotated[str | None, Text(limits.MAX_KEY_CHARS, about="Has this key.", metavar="NAME")]
    source_context: Annotated[
        str | None, Text(limits.MAX_SOURCE_CONTEXT_CHARS, about="Was learnt exactly there.")
    ]
    contains: Annotated[
        str | None, Folded(about="Has this text in it, in any case, accents or not.")
    ]
    thread_id: Annotated[
        str | None, Reference(about="Comes from this conversation.", completes="thread")
    ]
    message_id: Annotated[str | None, Reference(about="Comes from this message.")]
    agent_id: Annotated[str | None, Reference(about="Was learnt by this agent.")]
    run_id: Annotated[str | None, Reference(about="Was learnt in this run.")]
    actor_id: Annotated[str | None, Reference(about="Was said by them.", metavar="NAME")]
    role: Annotated[str | None, Reference(about="Was said in this role.", metavar="NAME")]
    project_id: Annotated[
        str | None,
        Reference(about="Is about this project.", metavar="PROJECT", completes="project"),
    ]
    ownership: Annotated[
        Words,
        Several(
            Choice(Ownership),
            about="Any of these: own; shared, of the own with other users; received from another"
            " user; a group's; global.",
            metavar="WHOSE",
        ),
    ]
    pinned: Annotated[bool | None, Flag(about="Only pinned ones, or only others.")]
    importance_min: Annotated[int | None, Integer(1, 5, about="At least this important: 1 to 5.")]
    importance_max: Annotated[int | None, Integer(1, 5, about="At most this important: 1 to 5.")]
    confidence_min: Annotated[int | None, Integer(0, 100, about="At least this sure: 0 to 100.")]
    created_after: Annotated[When | None, Moment(about="Noted at or after this time.")]
    created_before: Annotated[When | None, Moment(about="Noted before this time.")]
    updated_after: Annotated[When | None, Moment(about="Changed at or after this time.")]
    updated_before: Annotated[When | None, Moment(about="Changed before this time.")]
    as_of: Annotated[When | None, Moment(about="What was true at this time.")]


FILTERS: Final[Mapping[str, Parameter]] = described_fields(
    get_type_hints(Filters, include_extras=True), dict.fromkeys(Filters.__annotations__)
)
"""Every filter, by name."""
_ALIASES: Final = by_alias(FILTERS.values())
FILTER_NAMES: Final = frozenset(FILTERS) | frozenset(_ALIASES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Conditions on memories; all that are given must hold.

    ``theme``, ``types`` and the like match any of their values; ``tags`` must all be present.
    ``contains`` is a substring, case- and diacritic-insensitive. ``as_of`` selects what was true at
    that time. The ``_after`` bounds are inclusive, the ``_before`` bounds exclusive.

    ``in_project`` is the bound of a scope: of the user's own memories none of another project.
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
    project_id: str | None = None
    ownership: tuple[Ownership, ...] | None = None
    pinned: bool | None = None
    importance_min: int | None = None
    importance_max: int | None = None
    confidence_min: int | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    as_of: datetime | None = None
    in_project: str | None = None

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
        for spelt, value in given.items():
            name = _ALIASES.get(spelt, spelt)
            if value is None:
                continue
            if name in values:
                raise InvalidValue(spelt, f"is given twice (also as {name!r})")
            values[name] = FILTERS[name].check(value)
        return cls.of(values)

    @classmethod
    def of(cls, clean: Mapping[str, Any]) -> Self:
        """A filter from values that were checked."""
        return cls(**{_PLURAL.get(name, name): value for name, value in clean.items()})


IN_NO_PROJECT: Final = ""
"""As the bound of a filter: of the user's own, only what is of no project."""


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
        """A sort from a column's name and ``asc`` or ``desc``. Raises InvalidValue: no such column
        or order."""
        direction = checks.choice("order", order, Order)
        chosen = checks.choice("sort", column, SortColumn)
        return cls(chosen, direction is Order.DESCENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFilter:
    """Conditions on turns; all that are given must hold. ``until`` is exclusive.

    ``in_project`` is the bound of a scope: no conversation of another project.
    """

    thread: str | None = None
    role: str | None = None
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    project_id: str | None = None
    in_project: str | None = None
