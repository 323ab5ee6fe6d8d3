"""States that programs save per conversation."""

from dataclasses import dataclass
from datetime import datetime

from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Record):
    """The state that was saved last for a conversation.

    ``version`` is 1 for the first save and one more with each save after it.
    """

    thread_id: str
    version: int
    state: object
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInfo(Record):
    """What is known of a saved state without reading it."""

    thread_id: str
    version: int
    size_bytes: int
    created_at: datetime
    updated_at: datetime
