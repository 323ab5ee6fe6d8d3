"""Which turns a search over what was said may find."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Self

from ricordo.model import checks


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
