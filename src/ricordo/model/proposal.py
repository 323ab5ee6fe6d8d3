"""Proposals: what waits for the user's consent, including memories that others offer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ricordo.frozen import dataclass
from ricordo.model.group import group_of
from ricordo.model.item import Item
from ricordo.model.record import Record
from ricordo.model.vocabulary import (
    GLOBAL_OWNER,
    LinkState,
    MemoryType,
    ProposalKind,
    ProposalState,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Record):
    """A proposal that waits for consent. ``content`` and ``quote`` are cleared when it is decided.

    ``fields`` names what makes it sensitive, or which profile field it is about. ``signals`` counts
    how often it was said. ``item_id`` is the memory made by an approval. ``owner_id`` is the user
    who offers a memory: then the id and the content are those of the memory now.
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
    project_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed(Record):
    """A sensitive memory of an agent that waits for the user's consent.

    ``status`` is ``proposed``, or ``turned_down`` if the user rejected it before; ``fields`` names
    what makes it sensitive.
    """

    proposal_id: int | None
    status: str
    fields: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProposal:
    """A proposal as stored, with the draft of its memory."""

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
    project_id: str | None = None

    def shown(self, now: datetime) -> Proposal:
        """As users see it; expired once its time has passed, even if not recorded yet."""
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
            project_id=self.project_id,
        )


_QUOTES = str.maketrans(dict.fromkeys('"“”„«»', "'"))


def other_owner(owner_id: str, viewer: str) -> str | None:
    """The owner of a memory that a user sees; None for their own."""
    return None if owner_id == viewer else owner_id


def attributed(content: str, owner_id: str | None, kind: MemoryType) -> str:
    """A memory's text for a model: another user's is quoted with its author.

    The quotation cannot be closed from inside, so that a model takes the text neither for a fact
    about the user nor for an instruction.
    """
    if owner_id is None:
        return content
    group = group_of(owner_id)
    who = owner_id if group is None else f"group {group}"
    if owner_id == GLOBAL_OWNER:
        who = "the service"
    who = who.translate(_QUOTES)
    return f'{who} wrote ({kind.value}): "{content.translate(_QUOTES)}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Record):
    """A user a memory is shared with, or offered to.

    ``since`` is when it was accepted or offered; an unanswered offer ends at ``expires_at``.
    """

    id: int
    user_id: str
    state: LinkState
    since: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedSender(Record):
    """A user who cannot offer this user anything."""

    user_id: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An offer of a memory from ``owner_id`` to ``user_id`` as stored, without its text.

    Its id among the viewer's proposals is that of the memory.
    """

    user_id: str
    item_id: int
    owner_id: str
    state: ProposalState
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None

    def state_at(self, now: datetime) -> ProposalState:
        """The state; expired once its time has passed."""
        lapsed = self.state is ProposalState.OPEN and self.expires_at <= now
        return ProposalState.EXPIRED if lapsed else self.state

    def shown(self, item: Item | None, now: datetime) -> Proposal:
        """As its viewer sees it; ``item`` is the memory now, None once decided."""
        return Proposal(
            id=self.item_id,
            kind=ProposalKind.SHARE,
            state=self.state_at(now),
            fields=(),
            content=None if item is None else item.content,
            quote=None,
            theme=None if item is None else item.theme,
            type=None if item is None else item.type.value,
            thread_id=None,
            signals=1,
            created_at=self.created_at,
            expires_at=self.expires_at,
            decided_at=self.decided_at,
            decided_by=self.decided_by,
            item_id=self.item_id if self.state is ProposalState.APPROVED else None,
            owner_id=self.owner_id,
        )
