"""Background work as a durable row."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ricordo.model.record import Record
from ricordo.model.vocabulary import JobState

STORE_JOB_USER = ""
"""The ``user_id`` of jobs that belong to the store as a whole."""


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
    """A job as it stands in the queue. ``lease_token`` proves who may finish it."""

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

    def to_dict(self) -> dict[str, Any]:
        """Every field by name, without the token that only its worker may know."""
        shown = Record.to_dict(self)
        del shown["lease_token"]
        return shown


class Postpone(Exception):
    """Raised by a handler whose work has to wait: the job runs later, and this was no attempt."""

    def __init__(self, until: datetime, why: str) -> None:
        self.until = until
        super().__init__(why)
