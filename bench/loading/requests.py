"""What clients are to ask, and what they noted of it; passed between processes as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Self


class Kind(StrEnum):
    """What a request does."""

    SEARCH = "search"
    ADD = "add"

    @property
    def path(self) -> str:
        """Where it is sent."""
        return "/v1/memories/search" if self is Kind.SEARCH else "/v1/memories"


@dataclass(frozen=True, slots=True)
class Plan:
    """Who asks what. Every added text ends with ``mark`` and a number, so that no two are alike."""

    url: str
    clients: int
    add_percent: int
    users: Sequence[str]
    questions: Sequence[str]
    texts: Sequence[str]
    mark: str

    def line(self) -> str:
        """The plan as one line."""
        return f"{json.dumps(asdict(self))}\n"

    @classmethod
    def read(cls, line: str) -> Self:
        """The plan of such a line."""
        return cls(**json.loads(line))


class Asked(NamedTuple):
    """One request. Times are those of the machine's monotonic clock, the same in all processes.

    ``status`` is 0 where no answer came.
    """

    kind: Kind
    started: float
    ended: float
    status: int
    problem: str | None


class Added(NamedTuple):
    """A memory that the service said it has stored."""

    user: str
    id: int
    content: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that the clients did, in how many seconds, and how much of a core it cost them."""

    asked: list[Asked]
    added: list[Added]
    seconds: float
    cpu_seconds: float

    def plain(self) -> dict[str, Any]:
        """As JSON can say it."""
        return {
            "asked": self.asked,
            "added": self.added,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
        }

    @classmethod
    def read(cls, text: str) -> Self:
        """The outcome of such JSON."""
        found = json.loads(text)
        asked = [Asked(Kind(kind), *rest) for kind, *rest in found["asked"]]
        added = [Added(*one) for one in found["added"]]
        return cls(asked, added, found["seconds"], found["cpu_seconds"])
