"""Ratings: what users and agents say of a memory after they met it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Self

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, replace
from ricordo.model import checks
from ricordo.model.record import Record
from ricordo.model.vocabulary import Verdict

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
