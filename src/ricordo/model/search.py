"""Results of searches, queries and relation graphs."""

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, Final, Generic, Self, TypeVar

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, field
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.item import Item
from ricordo.model.record import Record
from ricordo.model.vocabulary import MemoryType, Status
from ricordo.text.dates import spelled


@dataclass(frozen=True, slots=True)
class Signals(Record):
    """The score of each signal for a hit, 0 to 1 relative to all results; None without one."""

    fts: float | None
    semantic: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Record):
    """One result. ``confidence`` says how likely it is an answer at all, 0 to 1.

    ``explanation`` has every part of the score where it was asked for.
    """

    id: int
    content_snippet: str
    score: float
    confidence: float
    signals: Signals
    explanation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit(Hit):
    """A found memory. ``owner_id`` is None for the user's own, whose ``project_id`` it shows."""

    theme: str
    type: MemoryType
    status: Status
    created_at: datetime
    owner_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededStatement(Record):
    """What a turn said that is no longer so: as a superseded memory, its id, content and words in
    the turn; or the turn itself, without an id.

    ``now`` is what is current instead and ``by`` the id of that memory; None where it is unknown.
    """

    id: int | None
    content: str
    quote: str | None
    since: datetime
    by: int | None
    now: str | None

    def note(self, zone: tzinfo) -> str:
        """For a model or a person, beside the turn."""
        instead = "" if self.now is None else f"; now: “{self.now}” #{self.by}"
        return f"[no longer current since {self._day(zone)}: “{self.content}”{instead}]"

    def note_without_memories(self, zone: tzinfo) -> str:
        """The same with words of the turn only."""
        if self.quote is None:
            return f"[something said here is no longer current since {self._day(zone)}]"
        return f"[no longer current since {self._day(zone)}: “{self.quote}”]"

    def _day(self, zone: tzinfo) -> str:
        return spelled(self.since.astimezone(zone))


@dataclass(frozen=True, slots=True)
class TurnPart(Record):
    """The characters of a turn from ``start`` to before ``end``."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHit(Hit):
    """A found turn. ``superseded`` has what it said that is no longer current.

    Of a long turn ``part`` is the place of the piece that was found, which the snippet is of; None
    for a whole turn.
    """

    thread_id: str
    message_id: str | None
    actor: str | None
    role: str
    at: datetime
    superseded: tuple[SupersededStatement, ...] = ()
    part: TurnPart | None = None


Found = TypeVar("Found", bound=Hit)


@dataclass(frozen=True, slots=True)
class SearchResults(Record, Generic[Found]):
    """The hits, the best first.

    ``confidence`` is that of the best one, also where it is so unlikely that there are no results;
    None where nothing was found. ``degraded`` says why the
    search used words only, None where it did not. ``timings`` are milliseconds: ``embed_ms`` for
    the query's vector, ``search_ms`` for the rest.
    """

    results: tuple[Found, ...]
    confidence: float | None = None
    degraded: str | None = None
    timings: Mapping[str, float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Found]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> Found:
        return self.results[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related(Record):
    """A memory related to another one. ``names`` are of those whom both mention."""

    id: int
    theme: str
    type: MemoryType
    content: str
    similarity: float
    names: tuple[str, ...] = ()


QUERY_FILTERS: Final = frozenset(
    {
        "user_id",
        "agent_id",
        "run_id",
        "actor_id",
        "role",
        "category",
        "pinned",
        "importance_min",
        "importance_max",
        "updated_after",
        "updated_before",
        "tags",
        "type",
    }
)


class Returns(StrEnum):
    """What a query gives back: short bullets, or the whole memories."""

    BULLETS = "bullets"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Bullet(Record):
    """A memory as a line for a model: ``[category] text``. ``owner_id`` is None for the user's own;
    another user's text is quoted.
    """

    id: int
    category: str
    text: str
    owner_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer(Record):
    """The results of a query within its budget of ``tokens``.

    ``confidence`` is that of the best one, None where nothing was found; ``degraded`` says why the
    search used words only, if it did.
    """

    bullets: tuple[Bullet, ...] = ()
    items: tuple[Item, ...] = ()
    related: tuple[Bullet, ...] = ()
    tokens: int
    confidence: float | None
    degraded: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """A validated query. ``categories`` are the requested ones, None for all; ``within`` those that
    the scope may see, None for all.
    """

    text: str
    agent: str | None
    categories: tuple[str, ...] | None
    filters: Mapping[str, Any]
    top_k: int
    returns: Returns
    budget_tokens: int
    threshold: float | None
    related: int
    within: frozenset[str] | None = None
    project: str | None = None
    """The bound of the scope: no other project's memories."""

    @classmethod
    def of(
        cls,
        *,
        query: str,
        categories: tuple[str, ...] | None,
        filters: Mapping[str, Any] | None,
        **given: Any,
    ) -> Self:
        """A query from values that were checked, and filters that were not.

        Raises:
            UnknownField: a filter does not exist; it is never ignored.
            InvalidValue: a value is not allowed.
        """
        if filters is not None and not isinstance(filters, Mapping):
            raise InvalidValue("filters", f"expected an object, got {type(filters).__name__}")
        wanted = {name: value for name, value in (filters or {}).items() if value is not None}
        checks.known_fields("filter of a query", wanted, QUERY_FILTERS)
        by_filter = wanted.pop("category", None)
        if by_filter is not None:
            if categories is not None:
                raise InvalidValue("category", "is given twice (also as 'categories')")
            named = checks.texts("categories", by_filter, limits.MAX_THEME_CHARS)
            categories = tuple(dict.fromkeys(theme_slug(name) for name in named))
        return cls(text=query, categories=categories, filters=wanted, **given)


@dataclass(frozen=True, slots=True)
class RelationEdge(Record):
    """Two related memories, the lower id first, their similarity, and the ``names`` of those whom
    both mention.
    """

    one: int
    other: int
    similarity: float
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedEntity(Record):
    """Somebody or something that the user has named: all ``names``, what it is to the user
    (``told``, such as "my sister") if that is clear, and the ids of the ``memories`` that mention
    it, the latest first.
    """

    names: tuple[str, ...]
    told: str | None
    memories: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RelationGraph(Record):
    """Memories, the most connected first, the relations among them, the closest first, and the
    ``entities`` that memories mention, the most mentioned first.

    ``more`` says that other memories were left out.
    """

    memories: tuple[Item, ...]
    relations: tuple[RelationEdge, ...]
    more: bool
    entities: tuple[NamedEntity, ...] = ()
