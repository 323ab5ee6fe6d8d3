"""Proposals: storing, deciding and expiring what waits for the user."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ricordo.errors import AlreadyDecided, ProposalNotFound
from ricordo.formation.candidate import Candidate
from ricordo.formation.consent import PendingConsent, lifetime, settled_by
from ricordo.formation.schedule import FormationPolicy, plan_lapsing
from ricordo.frozen import dataclass
from ricordo.limits import MAX_PAGE_ITEMS
from ricordo.model.draft import NewMemory
from ricordo.model.proposal import StoredProposal
from ricordo.model.record import plain
from ricordo.model.vocabulary import Event, ProposalState
from ricordo.storage.database import WriteTransaction
from ricordo.storage.formation import (
    find_proposal,
    insert_proposal,
    lapsed_proposals,
    next_lapse,
    update_proposal,
)
from ricordo.storage.history import history_of
from ricordo.storage.tables import ITEM_IDS
from ricordo.text.normalise import content_hash

FORMATION: Final = "formation"
"""The actor of automatic changes."""

SAID_AGAIN: Final = "said again"
OVERTAKEN: Final = "something else was said since"
PROPOSAL: Final = "proposal"
"""In the meta of a CONSENT on a memory: the proposal that it comes from."""

_STEP: Final = "consent"
_PROPOSED: Final = "proposed"
_REPEATED: Final = "heard"
_FIELDS: Final = "fields"
_NOT_DRAFTED: Final = frozenset({"created_at"})  # it begins with the consent
_DRAFTED: Final = [one.name for one in fields(NewMemory) if one.name not in _NOT_DRAFTED]
"""The fields of the draft that a proposal stores."""


@dataclass(frozen=True, slots=True)
class ProposalEvidence:
    quote: str
    turn_ids: tuple[int, ...]
    thread_id: str | None
    actor: str = FORMATION


def keep_proposal(
    writing: WriteTransaction,
    policy: FormationPolicy,
    waiting: PendingConsent,
    draft: NewMemory,
    evidence: ProposalEvidence,
) -> int:
    """Store what may not become a memory yet, replacing what it overtakes; returns its number."""
    for overtaken in waiting.overtakes:
        settle_proposal(writing, overtaken, ProposalState.EXPIRED, reason=OVERTAKEN)
    (proposal_id,) = writing.take_ids(ITEM_IDS, 1)
    proposal = StoredProposal(
        id=proposal_id,
        kind=waiting.kind,
        state=ProposalState.OPEN,
        fields=waiting.fields,
        content_hash=content_hash(draft.content),
        draft={name: plain(getattr(draft, name)) for name in _DRAFTED},
        quote=evidence.quote,
        signals=evidence.turn_ids,
        thread_id=evidence.thread_id,
        created_at=writing.now,
        expires_at=writing.now + lifetime(policy, waiting.kind),
        project_id=draft.project_id,
    )
    add_proposal(writing, proposal, evidence.actor)
    return proposal_id


def add_proposal(
    writing: WriteTransaction, proposal: StoredProposal, actor: str, reason: str | None = None
) -> None:
    insert_proposal(writing, proposal)
    meta = {_STEP: _PROPOSED, _FIELDS: list(proposal.fields)}
    _record(writing, proposal.id, actor, meta, reason)
    plan_lapsing(writing, proposal.expires_at)


def note_signal(writing: WriteTransaction, proposal: StoredProposal, turn_id: int) -> None:
    if turn_id not in proposal.signals:
        update_proposal(writing, proposal.id, {"signals": [*proposal.signals, turn_id]})


def note_repeated(writing: WriteTransaction, proposal_id: int, actor: str) -> None:
    """Count that a proposal was said once more in an unknown turn."""
    _record(writing, proposal_id, actor, {_STEP: _REPEATED})


def times_repeated(writing: WriteTransaction, proposal_id: int) -> int:
    """How often a proposal was said in an unknown turn, before this transaction."""
    changes = history_of(writing.connection, writing.user_id, proposal_id, MAX_PAGE_ITEMS)
    return sum(change.meta.get(_STEP) == _REPEATED for change in changes)


def open_proposal(
    connection: sa.Connection, user_id: str, proposal_id: int, now: datetime
) -> StoredProposal:
    """A proposal of a user that can still be decided. Raises ProposalNotFound: this user has no
    such proposal; AlreadyDecided: it was approved or rejected, or has expired."""
    found = find_proposal(connection, user_id, proposal_id)
    if found is None:
        raise ProposalNotFound(proposal_id)
    state = found.shown(now).state
    if state is not ProposalState.OPEN:
        raise AlreadyDecided(f"proposal {proposal_id} is {state}; only open ones can be decided")
    return found


def drafted(proposal: StoredProposal) -> NewMemory:
    assert proposal.draft is not None  # while it is open
    return NewMemory.parse(proposal.draft)


def settle_proposal(
    writing: WriteTransaction,
    proposal: StoredProposal,
    state: ProposalState,
    item_id: int | None = None,
    *,
    decided_by: str = FORMATION,
    reason: str | None = None,
    said_again: bool = False,
) -> None:
    update_proposal(
        writing,
        proposal.id,
        {
            "state": state,
            "draft": None,
            "quote": None,
            "decided_at": writing.now,
            "decided_by": decided_by,
            "item_id": item_id,
        },
    )
    meta = {_STEP: SAID_AGAIN if said_again else state.value, _FIELDS: list(proposal.fields)}
    _record(writing, proposal.id, decided_by, meta, reason, item_id)
    if item_id is not None:
        _record(writing, item_id, decided_by, {**meta, PROPOSAL: proposal.id}, reason)


def settle_by_storing(writing: WriteTransaction, candidate: Candidate, item_id: int) -> None:
    same, overtaken = settled_by(writing, candidate)
    for proposal in same:
        settle_proposal(writing, proposal, ProposalState.APPROVED, item_id, said_again=True)
    for proposal in overtaken:
        settle_proposal(writing, proposal, ProposalState.EXPIRED, reason=OVERTAKEN)


def lapse_due(writing: WriteTransaction) -> datetime | None:
    for proposal_id in lapsed_proposals(writing.connection, writing.user_id, writing.now):
        found = find_proposal(writing.connection, writing.user_id, proposal_id)
        assert found is not None  # the user's row is locked
        settle_proposal(writing, found, ProposalState.EXPIRED)
    return next_lapse(writing.connection, writing.user_id)


def _record(
    writing: WriteTransaction,
    item_id: int,
    actor: str,
    meta: Mapping[str, Any],
    reason: str | None = None,
    new_ref: int | None = None,
) -> None:
    writing.record(Event.CONSENT, item_id, actor=actor, reason=reason, new_ref=new_ref, meta=meta)
