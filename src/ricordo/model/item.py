"""The memory itself as it is stored and shown."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from ricordo.model.record import Record
from ricordo.model.vocabulary import MemoryType, Source, Status
from ricordo.text.secrets import without_secrets

PROVENANCE = ("source_context", "thread_id", "message_id", "agent_id", "run_id", "actor_id", "role")
"""Where a memory came from: private to its owner, also when the memory is shared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Record):
    """One remembered thing. All times are UTC."""

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

    def as_seen_by(self, viewer: str) -> Self:
        """The memory as another user may see it: what it says, not where it came from."""
        if viewer == self.user_id:
            return self
        hidden: dict[str, Any] = dict.fromkeys(PROVENANCE)
        return replace(self, **hidden)

    def without_secrets(self) -> Self:
        """The memory as a model may see it."""
        content = without_secrets(self.content)
        quote = self.source_context and without_secrets(self.source_context)
        if content == self.content and quote == self.source_context:
            return self
        return replace(self, content=content, source_context=quote)


@dataclass(frozen=True, slots=True)
class Added(Record):
    """What became of one memory that was to be added.

    ``duplicate``: the same text was there already and nothing was written.
    ``updated``: the key was there already and its memory was changed.
    """

    id: int
    status: Status
    duplicate: bool = False
    updated: bool = False

    @property
    def is_new(self) -> bool:
        """True where a memory was stored that was not there before."""
        return not (self.duplicate or self.updated)
