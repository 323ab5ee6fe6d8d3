"""A memory as stored and shown: its theme, status, ratings, lineage and history."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime, timedelta
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import IllegalTransition, InvalidValue
from ricordo.frozen import dataclass, replace
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.group import group_of
from ricordo.model.record import Record
from ricordo.model.vocabulary import (
    ContextPolicy,
    Event,
    MemoryType,
    Source,
    Status,
    Undoable,
    VectorState,
    Verdict,
)
from ricordo.text.secrets import without_secrets

_SAID_AGAIN: Final = timedelta(days=1)
"""Within this time the same once more changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating(Record):
    """What somebody says of a memory; of each, the latest counts.

    ``by`` is the user, or the agent where ``is_agent``. ``query`` is the question that the memory
    was shown for, ``thread_id`` the conversation.
    """

    verdict: Verdict
    by: str
    is_agent: bool
    at: datetime
    reason: str | None = None
    query: str | None = None
    thread_id: str | None = None

    @classmethod
    def parse(cls, given: object) -> Self:
        """A rating as stored and exported.

        Raises:
            InvalidValue, UnknownField: it is not one.
        """
        if not isinstance(given, Mapping):
            raise InvalidValue("ratings", "expected objects, each with a verdict")
        checks.known_fields("rating field", given, _FIELDS)
        missing = sorted(_REQUIRED - given.keys())
        if missing:
            raise InvalidValue("ratings", f"{missing[0]} is missing")
        verdict = checks.choice("verdict", given["verdict"], Verdict)
        if verdict is Verdict.WITHDRAWN:
            raise InvalidValue("verdict", "one that was withdrawn is not kept")
        return cls(
            verdict=verdict,
            by=checks.reference("by", given["by"]),
            is_agent=checks.flag("is_agent", given["is_agent"]),
            at=checks.parse_moment("at", given["at"]),
            reason=checks.optional_text("reason", given.get("reason"), limits.MAX_REASON_CHARS),
            query=checks.optional_text("query", given.get("query"), limits.MAX_QUERY_CHARS),
            thread_id=checks.optional_reference("thread_id", given.get("thread_id")),
        )

    @property
    def is_against(self) -> bool:
        return self.verdict is not Verdict.USED

    def without_words(self) -> Self:
        """Without what was said, and where."""
        return replace(self, reason=None, query=None, thread_id=None)

    def is_of(self, other: "Rating") -> bool:
        """Whether both are by the same user or agent."""
        return (self.by, self.is_agent) == (other.by, other.is_agent)

    def repeats(self, other: "Rating") -> bool:
        """Whether it says what the other has just said."""
        said = (self.verdict, self.reason, self.query)
        return said == (other.verdict, other.reason, other.query) and (
            timedelta(0) <= self.at - other.at < _SAID_AGAIN
        )


_FIELDS: Final = frozenset({"verdict", "by", "is_agent", "at", "reason", "query", "thread_id"})
_REQUIRED: Final = frozenset({"verdict", "by", "is_agent", "at"})


def parse_ratings(name: str, given: object) -> tuple[Rating, ...]:
    """Ratings as stored and exported.

    Raises:
        InvalidValue, UnknownField: one is not allowed, or there are two by the same.
    """
    found = tuple(map(Rating.parse, checks.entries(name, given, limits.MAX_RATINGS)))
    if len({(one.by, one.is_agent) for one in found}) < len(found):
        raise InvalidValue(name, "has two by the same")
    return found


def stored_ratings(given: Sequence[Mapping[str, Any]] | None) -> tuple[Rating, ...]:
    """Ratings as the database has them, which were checked when they were written."""
    return tuple(
        Rating(
            **{**one, "verdict": Verdict(one["verdict"]), "at": datetime.fromisoformat(one["at"])}
        )
        for one in given or ()
    )


def counted(ratings: Iterable[Rating]) -> tuple[Rating, ...]:
    """Those that count: what an agent says against a user does not."""
    listed = tuple(ratings)
    by_user = {one.is_against for one in listed if not one.is_agent}
    if len(by_user) != 1:
        return listed
    (against,) = by_user
    return tuple(one for one in listed if not one.is_agent or one.is_against is against)


def with_rating(ratings: Iterable[Rating], rating: Rating) -> tuple[Rating, ...]:
    """With one more, in place of the former by the same. Of too many, the oldest of an agent goes,
    or else the oldest."""
    kept = [one for one in ratings if not one.is_of(rating)]
    if len(kept) >= limits.MAX_RATINGS:
        kept.remove(min(kept, key=lambda one: (not one.is_agent, one.at)))
    return (*kept, rating)


def joined(ratings: Sequence[Rating], others: Iterable[Rating]) -> tuple[Rating, ...]:
    """With what helped of another memory that says the same, by whoever has not rated this one."""
    grown = tuple(ratings)
    for one in others:
        if not one.is_against and not any(one.is_of(other) for other in grown):
            grown = (*grown, one)
    return grown[: max(limits.MAX_RATINGS, len(ratings))]


def is_refuted(ratings: Iterable[Rating]) -> bool:
    """Whether a user says that it is wrong or outdated."""
    return any(one.is_against and not one.is_agent for one in ratings)


def unrefuted(ratings: Iterable[Rating]) -> tuple[Rating, ...]:
    """Without what users say against it."""
    return tuple(one for one in ratings if one.is_agent or not one.is_against)


def doubts_of_agents(ratings: Iterable[Rating]) -> tuple[Rating, ...]:
    """What agents say against it."""
    return tuple(one for one in ratings if one.is_agent and one.is_against)


def is_valued(ratings: Iterable[Rating]) -> bool:
    """Whether a user says that it helped, and none that it is not so."""
    by_users = [one for one in ratings if not one.is_agent]
    return bool(by_users) and not is_refuted(by_users)


def leaning(ratings: Iterable[Rating]) -> int:
    """1 where more was said for a memory than against it, -1 where less, else 0."""
    listed = counted(ratings)
    balance = sum(-1 if one.is_against else 1 for one in listed)
    return (balance > 0) - (balance < 0)


PROVENANCE = ("source_context", "thread_id", "message_id", "agent_id", "run_id", "actor_id", "role")
"""The origin of a memory: private to its owner, also when it is shared."""
_PRIVATE = (*PROVENANCE, "project_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Record):
    """One remembered thing. All times are UTC. ``project_id`` is the project that it is about; None
    for what is so in all of them. ``ratings`` are what users and agents say of it (``rate``).

    ``embedding`` says how far its vector is, in answers of ``get``: until it is ``ready`` the
    memory is found by words alone. None where no vectors are made, or it was not looked up.
    """

    id: int
    user_id: str
    theme: str
    type: MemoryType
    key: str | None
    content: str
    tags: tuple[str, ...]
    source: Source
    source_context: str | None
    thread_id: str | None
    message_id: str | None
    agent_id: str | None
    run_id: str | None
    actor_id: str | None
    role: str | None
    confidence: int
    importance: int
    pinned: bool
    status: Status
    valid_from: datetime
    valid_to: datetime | None
    expires_at: datetime | None
    purge_at: datetime | None
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime | None
    last_verified_at: datetime | None
    access_count: int
    project_id: str | None = None
    ratings: tuple[Rating, ...] = ()
    embedding: VectorState | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Every field by name; ``embedding`` only where it was looked up."""
        shown = Record.to_dict(self)
        if self.embedding is None:
            del shown["embedding"]
        return shown

    def as_seen_by(self, viewer: str) -> Self:
        """The memory for another user: without its origin and project, and without ratings, unless
        it is a group's."""
        if viewer == self.user_id:
            return self
        hidden: dict[str, Any] = dict.fromkeys(_PRIVATE)
        if group_of(self.user_id) is None:
            hidden["ratings"] = ()
        return replace(self, **hidden)

    def without_secrets(self) -> Self:
        """The memory for a model, secrets masked."""
        content = without_secrets(self.content)
        quote = self.source_context and without_secrets(self.source_context)
        if content == self.content and quote == self.source_context:
            return self
        return replace(self, content=content, source_context=quote)


STORED_FIELDS = tuple(one.name for one in fields(Item) if one.name != "embedding")
"""The fields of a memory that are columns."""


@dataclass(frozen=True, slots=True)
class Added(Record):
    """The outcome of adding one memory.

    ``duplicate``: the same text was there already and nothing was written. ``updated``: the key was
    there already and its memory was changed. ``embedding`` says whether its vector is ``ready`` or
    still ``pending``: until then it is found by words alone. None where no vectors are made.
    """

    id: int
    status: Status
    duplicate: bool = False
    updated: bool = False
    embedding: VectorState | None = None

    @property
    def is_new(self) -> bool:
        """True where a new memory was stored."""
        return not (self.duplicate or self.updated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme(Record):
    """A heading with the number of active memories that its user sees under it."""

    slug: str
    display_name: str
    description: str | None
    context: ContextPolicy
    rag_length: int | None
    created_at: datetime
    updated_at: datetime
    active_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Record):
    """A project with the number of its active memories and of its conversations.

    ``last_activity`` is when one of them was last changed or said something in.
    """

    project_id: str
    memories: int
    threads: int
    last_activity: datetime


#          ┌────────── undo ─────────┐
#          ▼                         │
#  add ─▶ active ─── supersede ─▶ superseded
#          │ ▲ ▲                     │
# archive  │ │ └──── restore ──┐     │ forget
#          ▼ │ restore         │     ▼
#        archived ── forget ─▶ deleted ── purge ─▶ (gone)

LEGAL_STEPS: Final[dict[Status, frozenset[Status]]] = {
    Status.ACTIVE: frozenset({Status.ARCHIVED, Status.SUPERSEDED, Status.DELETED}),
    Status.ARCHIVED: frozenset({Status.ACTIVE, Status.DELETED}),
    Status.SUPERSEDED: frozenset({Status.ACTIVE, Status.DELETED}),
    Status.DELETED: frozenset({Status.ACTIVE}),
}
"""A deleted memory can also be purged, which removes its row."""


def check_step(memory_id: int, present: Status, wanted: Status) -> None:
    """Refuse an illegal transition. Raises IllegalTransition: says where the memory stands and
    where it may go."""
    if wanted not in LEGAL_STEPS[present]:
        allowed = ", ".join(sorted(LEGAL_STEPS[present]))
        raise IllegalTransition(
            f"memory {memory_id} is {present} and cannot become {wanted}; allowed: {allowed}"
        )


@dataclass(frozen=True, slots=True)
class Lineage(Record):
    """The chain of replacements of a memory.

    ``successor`` replaced it; ``predecessors`` are those it replaced, the latest first.
    ``undoable`` is what an undo would revert, if anything. An undo can still be refused where
    another memory has taken the place meanwhile.
    """

    successor: Item | None = None
    predecessors: tuple[Item, ...] = ()
    undoable: Undoable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Record):
    """One write. ``old_ref`` and ``new_ref`` are the ids of the replaced memory and its
    replacement.

    ``before`` holds the values that an update replaced. It is cleared when the memory is purged, so
    that history does not keep its text.
    """

    revision: int
    event: Event
    item_id: int
    at: datetime
    actor: str
    reason: str | None = None
    old_ref: int | None = None
    new_ref: int | None = None
    other_user: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Changes(Record):
    """A segment of the change feed, oldest first.

    ``revision`` is the latest one; ``more`` says that there are further changes.
    """

    changes: tuple[Change, ...]
    revision: int
    more: bool

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


# History can be imported, and an undo writes it into a memory, so it is validated like any input.

_DRAFTED: Final = frozenset(
    {
        "content",
        "key",
        "type",
        "tags",
        "source",
        "confidence",
        "importance",
        "pinned",
        "valid_from",
        "valid_to",
        "expires_at",
        *PROVENANCE,
    }
)
_MOMENTS: Final = ("last_verified_at", "last_accessed_at")
FORMER_FIELDS: Final = _DRAFTED | {*_MOMENTS, "access_count", "ratings", "status"}
_PLACEHOLDER: Final = "-"


def former_values(before: Mapping[str, Any]) -> dict[str, Any]:
    """The old values from history as the model has them; without the status, which no undo
    restores. Raises InvalidValue: a value that a memory cannot have; UnknownField: something that
    no change replaces."""
    checks.known_fields("replaced value", before, FORMER_FIELDS)
    drafted = {name: value for name, value in before.items() if name in _DRAFTED}
    draft = NewMemory.parse({"content": _PLACEHOLDER, **drafted})
    values: dict[str, Any] = {name: getattr(draft, name) for name in drafted}
    for name in _MOMENTS:
        if name in before:
            values[name] = checks.optional_moment(name, before[name])
    if "access_count" in before:
        values["access_count"] = checks.integer(
            "access_count", before["access_count"], 0, limits.MAX_ID
        )
    if "ratings" in before:
        values["ratings"] = parse_ratings("ratings", before["ratings"])
    if "status" in before:
        checks.choice("status", before["status"], Status)
    return _complete(values)


def _complete(values: dict[str, Any]) -> dict[str, Any]:
    """Drop nulls in place of required values."""
    required = ("type", "tags", "source", "confidence", "importance", "pinned", "valid_from")
    return {
        name: value for name, value in values.items() if value is not None or name not in required
    }
