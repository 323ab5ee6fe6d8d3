"""Approving and rejecting proposals."""

from dataclasses import replace
from typing import Final

from ricordo.errors import AlreadyDecided, StorageBusy
from ricordo.formation.conflicts import NOT_NEWER, WRITING_ACTIONS, Resolution
from ricordo.formation.profile import candidate_of, is_profile_draft, resolve_field
from ricordo.formation.proposals import OVERTAKEN, drafted, open_proposal, settle_proposal
from ricordo.formation.schedule import plan_summary
from ricordo.formation.service import Formation, write
from ricordo.model.activity import PROPOSALS_APPROVED, PROPOSALS_REJECTED
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.proposal import Proposal
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import ProposalState, Status
from ricordo.storage.activity import tally
from ricordo.storage.database import retried
from ricordo.storage.formation import find_proposal
from ricordo.storage.history import revision_of
from ricordo.storage.items import keyed_profile_items

_APPROVAL_ATTEMPTS: Final = 20


def approve(formation: Formation, scope: Scope, proposal_id: int, reason: str | None) -> Added:
    """Store the proposed memory, resolved against what is known now.

    Raises:
        ProposalNotFound: this user has no such proposal.
        AlreadyDecided: it was decided before, has expired, or something newer is known.
        StorageBusy: the user's memories kept changing; nothing was written.
    """
    for _ in range(_APPROVAL_ATTEMPTS):
        added = _try_approve(formation, scope, proposal_id, reason)
        if added is not None:
            return added
    raise StorageBusy(f"the memories of user {scope.user_id!r} change all the time; try again")


@retried
def _try_approve(
    formation: Formation, scope: Scope, proposal_id: int, reason: str | None
) -> Added | None:
    """None if the memories have changed since they were read."""
    user_id = scope.user_id
    with formation.database.read(user_id) as view:
        revision = revision_of(view.connection, user_id)
        draft = drafted(open_proposal(view.connection, user_id, proposal_id, view.now))
    resolution = _resolved(formation, user_id, draft)
    texts = [draft.content] if resolution.action in WRITING_ACTIONS else []
    prepared = formation.recall.prepare(user_id, texts)
    touching = [item.id for item in resolution.targets]
    with formation.database.write(user_id, touching=touching, known=prepared.known) as writing:
        proposal = open_proposal(writing.connection, writing.user_id, proposal_id, writing.now)
        if writing.revision != revision:
            return None
        if resolution.reason != NOT_NEWER:
            if resolution.action in WRITING_ACTIONS:
                added = write(formation.recall, writing, resolution, draft, prepared)
                plan_summary(writing)
            else:
                added = Added(resolution.targets[0].id, Status.ACTIVE, duplicate=True)
            state, who = ProposalState.APPROVED, scope.actor
            settle_proposal(writing, proposal, state, added.id, decided_by=who, reason=reason)
            tally(writing, {PROPOSALS_APPROVED: 1})
            return added
        settle_proposal(writing, proposal, ProposalState.EXPIRED, reason=OVERTAKEN)
    newer = resolution.targets[0].id
    raise AlreadyDecided(f"proposal {proposal_id} is overtaken: memory {newer} is newer")


def _resolved(formation: Formation, user_id: str, draft: NewMemory) -> Resolution:
    candidate = replace(candidate_of(draft, draft.source_context or ""), is_explicit=True)
    if not is_profile_draft(draft):
        return formation.rules_only.resolve(user_id, [candidate])[0]
    with formation.database.read(user_id) as view:
        known = keyed_profile_items(view.connection, user_id, view.now)
    present = next((item for item in known if item.key == draft.key), None)
    return resolve_field(candidate, present)


@retried
def reject(formation: Formation, scope: Scope, proposal_id: int, reason: str | None) -> Proposal:
    """Reject a proposal: its content is deleted, and not proposed again for a long time. Raises
    ProposalNotFound: this user has no such proposal; AlreadyDecided: it was decided before, or has
    expired."""
    with formation.database.write(scope.user_id) as writing:
        proposal = open_proposal(writing.connection, writing.user_id, proposal_id, writing.now)
        settle_proposal(
            writing, proposal, ProposalState.REJECTED, decided_by=scope.actor, reason=reason
        )
        tally(writing, {PROPOSALS_REJECTED: 1})
        decided = find_proposal(writing.connection, scope.user_id, proposal_id)
        assert decided is not None  # read in this transaction
        return decided.shown(writing.now)
