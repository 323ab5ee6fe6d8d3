"""Background work as a durable row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ricordo.model.record import Record
from ricordo.model.vocabulary import JobState, Lane

STORE_JOB_USER = ""
"""The ``user_id`` of jobs that belong to the store as a whole."""


Report = Callable[[str], None]
"""Told between two steps of long work how far it has come; may end the work by raising."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """Work to be queued in the transaction that causes it.

    Of several queued jobs with the same kind, user and ``unique_key`` one is kept, at the earliest
    of their times.
    """

    kind: str
    user_id: str
    run_at: datetime
    unique_key: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Record):
    """A job as it stands in the queue.

    ``lease_token`` proves who may finish it. ``woken_at`` is when a broker was last told of it.
    ``progress`` says how far a long one has come.
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
        """Every field by name, without the token that only its worker may know."""
        shown = Record.to_dict(self)
        del shown["lease_token"]
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStats(Record):
    """How many jobs of one kind stand where.

    ``due`` are those of the queued that could run now, ``oldest_due_at`` is since when the first
    of them could.
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
    """Raised by a handler whose work has to wait: the job runs later, and this was no attempt."""

    def __init__(self, until: datetime, why: str) -> None:
        self.until = until
        super().__init__(why)
