"""Jobs: background work as a durable row."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ricordo.frozen import dataclass, field
from ricordo.model.record import Record
from ricordo.model.vocabulary import JobState, Lane

STORE_JOB_USER = ""
"""The ``user_id`` of jobs that belong to the store as a whole."""


Report = Callable[[str], None]
"""Called between the steps of a long job with its progress; may end the job by raising."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be queued in the transaction that causes it.

    Queued jobs with the same kind, user and ``unique_key`` become one, at the earliest time.
    """

    kind: str
    user_id: str
    run_at: datetime
    unique_key: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """A job in the queue.

    ``lease_token`` proves who may finish it. ``woken_at`` is when a broker message was last sent
    for it.
    """

    id: int
    kind: str
    user_id: str
    unique_key: str
    payload: Mapping[str, Any]
    state: JobState
    run_at: datetime
    attempts: int
    max_attempts: int
    lease_token: str | None
    lease_until: datetime | None
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    woken_at: datetime | None
    progress: str | None

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, without the worker's secret token."""
        shown = Record.to_dict(self)
        del shown["lease_token"]
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStats(Record):
    """The number of jobs of one kind by state.

    ``due`` are the queued ones that could run now, ``oldest_due_at`` since when.
    """

    kind: str
    lane: Lane
    queued: int
    due: int
    running: int
    done: int
    dead: int
    cancelled: int
    oldest_due_at: datetime | None


class Postpone(Exception):
    """Raised by a handler to run its job later without counting an attempt."""

    def __init__(self, until: datetime, why: str) -> None:
        self.until = until
        super().__init__(why)
