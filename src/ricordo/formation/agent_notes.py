"""Memories that nobody asked for: no secrets; what is sensitive or a wish becomes a proposal."""

from dataclasses import replace
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.formation import consent
from ricordo.formation.candidate import Candidate
from ricordo.formation.profile import screened_candidate
from ricordo.formation.proposals import ProposalEvidence, keep_proposal
from ricordo.formation.screening import holds_secret
from ricordo.formation.service import Formation
from ricordo.limits import MAX_QUOTE_CHARS
from ricordo.model.draft import NewMemory
from ricordo.model.proposal import Proposed
from ricordo.model.scope import Scope
from ricordo.storage.database import retried
from ricordo.storage.items import active_with_text
from ricordo.text.normalise import content_hash

PROPOSED: Final = "proposed"
TURNED_DOWN: Final = "turned_down"
_HOLDS: Final = (
    "holds a secret, such as a password, a code, a key or a card number, which is not stored"
    " unasked. Leave it out"
)
_WAITS: Final = "It waits for the user's consent; do not treat it as known."
_REFUSED: Final = "The user has turned it down before; do not ask again."
_REFUTED: Final = "The user said that it is wrong or outdated; do not treat it as known."


def check_no_secret(field: str, draft: NewMemory, file: str | None = None) -> None:
    """Raises:
    InvalidValue: its text, what it rests on, or the text under one of its names is a secret.
    """
    context = draft.source_context
    if context and holds_secret(context):
        raise InvalidValue("source_context" if field == "content" else field, _HOLDS)
    if holds_secret(draft.content, *draft.names, context, file):
        raise InvalidValue(field, _HOLDS)


def check_needs_no_consent(
    formation: Formation, scope: Scope, field: str, draft: NewMemory
) -> None:
    """Refuse what may only be proposed, where proposals are not possible. Raises InvalidValue: it
    is sensitive, a wish, or contains a secret, or the user said that it is not so."""
    check_no_secret(field, draft)
    if _is_refuted(formation, scope, draft):
        raise InvalidValue(field, "the user said that it is wrong or outdated; do not add it again")
    touched = consent.touched_fields(formation.policy, _candidate(formation, draft))
    if touched:
        raise InvalidValue(
            field,
            f"needs the user's consent ({', '.join(touched)}); add it alone, in the place of"
            " nothing, and it is proposed to them",
        )


@retried
def proposed(formation: Formation, scope: Scope, draft: NewMemory) -> Proposed | None:
    """Store what needs consent as a proposal; None if it may be stored directly or is stored
    already.

    Raises:
        InvalidValue: it contains a secret.
        CategoryNotAllowed, ScopeWidened: this scope may not write it.
    """
    check_no_secret("content", draft)
    if _is_refuted(formation, scope, draft):
        return Proposed(proposal_id=None, status=TURNED_DOWN, fields=(), note=_REFUTED)
    candidate = _candidate(formation, draft)
    if not consent.touched_fields(formation.policy, candidate):
        return None
    stamped = draft.stamped(scope)
    with formation.database.write(scope.user_id) as writing:
        themes, hashes = {stamped.effective_theme}, {content_hash(stamped.content)}
        met = active_with_text(writing.connection, scope.user_id, themes, hashes, writing.now)
        if any(one.project_id == stamped.project_id for one in met):
            return None
        placed = replace(candidate, project_id=stamped.project_id)
        waiting = consent.waiting_for(writing, formation.policy, placed)
        assert waiting is not None
        if waiting.is_turned_down:
            return Proposed(
                proposal_id=None, status=TURNED_DOWN, fields=waiting.fields, note=_REFUSED
            )
        if waiting.open is not None:
            number = waiting.open.id
        else:
            kept = replace(stamped, valid_from=candidate.passage.at)
            evidence = ProposalEvidence(candidate.quote, (), stamped.thread_id, scope.actor)
            number = keep_proposal(writing, formation.policy, waiting, kept, evidence)
        return Proposed(proposal_id=number, status=PROPOSED, fields=waiting.fields, note=_WAITS)


def _is_refuted(formation: Formation, scope: Scope, draft: NewMemory) -> bool:
    project = scope.project_id if draft.project_id is None else draft.project_id
    with formation.database.read(scope.user_id) as view:
        return consent.is_refuted(view.connection, scope.user_id, draft.content, project)


def _candidate(formation: Formation, draft: NewMemory) -> Candidate:
    dated = replace(draft, valid_from=draft.start(formation.database.clock()))
    return screened_candidate(dated, (draft.source_context or draft.content)[:MAX_QUOTE_CHARS])
