"""What was said but is not stored until the user agrees, or says it again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ricordo.model.record import Record
from ricordo.model.vocabulary import ProposalKind, ProposalState


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Record):
    """Something that waits. What it says (``content``, ``quote``) goes when it is decided.

    ``fields`` names what makes it sensitive, or which profile field it is about. ``signals`` says
    how often it was said. ``item_id`` is the memory that an approval led to. ``owner_id`` is who
    offers a memory of theirs, where that is what waits: then the number is that of the memory, and
    what it says is what the memory says now.
    """

    id: int
    kind: ProposalKind
    state: ProposalState
    fields: tuple[str, ...]
    content: str | None
    quote: str | None
    theme: str | None
    type: str | None
    thread_id: str | None
    signals: int
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    item_id: int | None
    owner_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed(Record):
    """What became of something sensitive that an agent was to store: it waits for the user.

    ``status`` is ``proposed``, or ``turned_down`` where the user has said no before; ``fields``
    names what makes it sensitive.
    """

    proposal_id: int | None
    status: str
    fields: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProposal:
    """A proposal as its row has it, with the memory that it would become."""

    id: int
    kind: ProposalKind
    state: ProposalState
    fields: tuple[str, ...]
    content_hash: str
    draft: Mapping[str, Any] | None
    quote: str | None
    signals: tuple[int, ...]
    thread_id: str | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None
    decided_by: str | None = None
    item_id: int | None = None

    def shown(self, now: datetime) -> Proposal:
        """As users see it; one whose time has passed is expired, whether noted yet or not."""
        lapsed = self.state is ProposalState.OPEN and self.expires_at <= now
        draft = {} if self.draft is None or lapsed else self.draft
        return Proposal(
            id=self.id,
            kind=self.kind,
            state=ProposalState.EXPIRED if lapsed else self.state,
            fields=self.fields,
            content=draft.get("content"),
            quote=None if lapsed else self.quote,
            theme=draft.get("theme"),
            type=draft.get("type"),
            thread_id=self.thread_id,
            signals=len(self.signals),
            created_at=self.created_at,
            expires_at=self.expires_at,
            decided_at=self.decided_at,
            decided_by=self.decided_by,
            item_id=self.item_id,
        )
