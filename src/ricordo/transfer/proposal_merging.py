"""Bringing what waits for consent from a file into a user's memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from ricordo.formation.proposals import add_proposal
from ricordo.limits import WRITE_BATCH_ITEMS
from ricordo.model.proposal import StoredProposal
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Status
from ricordo.storage.database import Database, retried
from ricordo.storage.tables import ITEM_IDS, items, proposals
from ricordo.storage.transaction import Writing

KNOWN_ALREADY: Final = "proposals known already"


def merge_proposals(
    database: Database,
    scope: Scope,
    waiting: Sequence[StoredProposal],
    new_turn_ids: Mapping[int, int],
    reason: str,
) -> Counter[str]:
    """Let open proposals wait here too, until their time is up; what was left out, by reason.

    What is a memory here, or was proposed here before, whatever became of it, is not asked again.
    """
    skipped: Counter[str] = Counter()
    for start in range(0, len(waiting), WRITE_BATCH_ITEMS):
        batch = waiting[start : start + WRITE_BATCH_ITEMS]
        skipped += _merge_batch(database, scope, batch, new_turn_ids, reason)
    return skipped


@retried
def _merge_batch(
    database: Database,
    scope: Scope,
    batch: Sequence[StoredProposal],
    new_turn_ids: Mapping[int, int],
    reason: str,
) -> Counter[str]:
    skipped: Counter[str] = Counter()
    with database.write(scope.user_id) as writing:
        known = _known(writing, {proposal.content_hash for proposal in batch})
        for proposal in batch:
            if proposal.expires_at <= writing.now:
                skipped["expired"] += 1
            elif proposal.content_hash in known:
                skipped[KNOWN_ALREADY] += 1
            else:
                _keep(writing, scope, proposal, new_turn_ids, reason)
                known.add(proposal.content_hash)
    return skipped


def _known(writing: Writing, hashes: set[str]) -> set[str]:
    """Which of these texts are remembered here, or were proposed here."""
    remembered = sa.select(items.c.content_hash).where(
        items.c.user_id == writing.user_id,
        items.c.status == Status.ACTIVE.value,
        items.c.content_hash.in_(sorted(hashes)),
    )
    proposed = sa.select(proposals.c.content_hash).where(
        proposals.c.user_id == writing.user_id, proposals.c.content_hash.in_(sorted(hashes))
    )
    return set(writing.connection.execute(sa.union(remembered, proposed)).scalars())


def _keep(
    writing: Writing,
    scope: Scope,
    proposal: StoredProposal,
    new_turn_ids: Mapping[int, int],
    reason: str,
) -> None:
    (proposal_id,) = writing.take_ids(ITEM_IDS, 1)
    signals = tuple(new_turn_ids[one] for one in proposal.signals if one in new_turn_ids)
    kept = replace(proposal, id=proposal_id, signals=signals)
    add_proposal(writing, kept, scope.actor, reason)
