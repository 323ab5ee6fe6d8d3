"""What may be stored at once, and what has to wait for the user.

| what was said                                     | then                                         |
|---------------------------------------------------|----------------------------------------------|
| a wish that leads money, mail, credentials or     | proposed: stored when the user agrees        |
| tools elsewhere                                   |                                              |
| a wish or a request where somebody else may be    | proposed: stored when the user agrees        |
| speaking; anything where that is likely           |                                              |
| explicitly, "remember that …"                     | stored                                       |
| privately, added to a request for something else  | proposed: stored when the user agrees        |
| touches a sensitive field                         | proposed: stored when the user agrees        |
| a wish about tone, or a goal                      | proposed: stored when it is said again       |
| was proposed before, and turned down              | ignored                                      |
| anything else                                     | stored                                       |
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo.formation.candidate import Candidate
from ricordo.formation.comparing.opposition import opposed
from ricordo.formation.comparing.refinement import refines, says_nothing_new
from ricordo.formation.consent.profile_fields import benign_field
from ricordo.formation.consent.redirection import REDIRECTIONS, redirections
from ricordo.formation.consent.sensitive import sensitive_fields_of
from ricordo.formation.policy import FormationPolicy
from ricordo.limits import CORROBORATION_DAYS, REJECTED_DAYS
from ricordo.model.proposal import StoredProposal
from ricordo.model.vocabulary import MemoryType, ProposalKind
from ricordo.storage.formation import open_proposals, rejected_since
from ricordo.text.normalise import content_hash

NEEDS_CONSENT: Final = "sensitive: waits for consent"
NEEDS_CONSENT_TO_REDIRECT: Final = "leads something elsewhere: waits for consent"
NEEDS_OWN_VOICE: Final = "maybe not the user's own words: waits for consent"
NEEDS_CORROBORATION: Final = "waits until it is said again"
PROPOSED_BEFORE: Final = "proposed already"
TURNED_DOWN: Final = "turned down before"
UNSURE_VOICE: Final = "unsure_voice"
"""The field of a proposal whose words may be somebody else's."""
_ASKING: Final = frozenset({MemoryType.INSTRUCTION, MemoryType.PROCEDURE})


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a candidate may not be stored now.

    ``open`` is the proposal that it belongs to, if there is one. ``is_ripe``: it has now been said
    often enough, so it may be stored and the proposal is done. ``overtakes`` are open proposals
    that give another answer to the same question.
    """

    kind: ProposalKind
    fields: tuple[str, ...]
    open: StoredProposal | None = None
    overtakes: tuple[StoredProposal, ...] = ()
    is_ripe: bool = False
    is_turned_down: bool = False


def waiting_for(
    connection: sa.Connection,
    user_id: str,
    policy: FormationPolicy,
    candidate: Candidate,
    now: datetime,
) -> Waiting | None:
    """Whether something has to wait, and for what; None where it may be stored at once."""
    kind, fields = _kind_of(policy, candidate)
    if kind is None:
        return None
    digest = content_hash(candidate.content)
    if digest in rejected_since(connection, user_id, {digest}, now - timedelta(days=REJECTED_DAYS)):
        return Waiting(kind, fields, is_turned_down=True)
    present = [
        one for one in open_proposals(connection, user_id, now) if one.kind is kind and one.draft
    ]
    met = next((one for one in present if _says_the_same(one, candidate, digest)), None)
    if met is not None:
        signals = {*met.signals, candidate.passage.turn_id}
        said_again = kind is ProposalKind.CORROBORATION
        is_ripe = said_again and len(signals) >= policy.corroborating_signals
        return Waiting(kind, fields, met, is_ripe=is_ripe)
    if kind is ProposalKind.CORROBORATION and policy.corroborating_signals <= 1:
        return None
    overtaken = tuple(one for one in present if _answers_the_same(one, candidate))
    return Waiting(kind, fields, overtakes=overtaken)


def settled_by(
    connection: sa.Connection, user_id: str, candidate: Candidate, now: datetime
) -> tuple[list[StoredProposal], list[StoredProposal]]:
    """The open proposals that are done with when this is stored: those that say the same, and
    those that give another answer."""
    digest = content_hash(candidate.content)
    same, overtaken = [], []
    for proposal in open_proposals(connection, user_id, now):
        if _says_the_same(proposal, candidate, digest):
            same.append(proposal)
        elif _answers_the_same(proposal, candidate):
            overtaken.append(proposal)
    return same, overtaken


def reason_of(waiting: Waiting) -> str:
    """Why something waits."""
    if waiting.kind is ProposalKind.CORROBORATION:
        return NEEDS_CORROBORATION
    if UNSURE_VOICE in waiting.fields:
        return NEEDS_OWN_VOICE
    return NEEDS_CONSENT_TO_REDIRECT if REDIRECTIONS & {*waiting.fields} else NEEDS_CONSENT


def must_wait(policy: FormationPolicy, candidate: Candidate) -> bool:
    """Whether something needs consent, or to be said again, before it is stored."""
    return _kind_of(policy, candidate)[0] is not None


def touched_fields(policy: FormationPolicy, candidate: Candidate) -> tuple[str, ...]:
    """The sensitive fields that make something need consent; none where it does not."""
    kind, fields = _kind_of(policy, candidate)
    return fields if kind is ProposalKind.CONSENT else ()


def lifetime(policy: FormationPolicy, kind: ProposalKind) -> timedelta:
    """How long a proposal stays open."""
    if kind is ProposalKind.CONSENT:
        return policy.proposal_life
    return timedelta(days=CORROBORATION_DAYS)


def _kind_of(
    policy: FormationPolicy, candidate: Candidate
) -> tuple[ProposalKind | None, tuple[str, ...]]:
    always = _always_asked(candidate)
    if always:
        return ProposalKind.CONSENT, always
    if candidate.is_explicit:
        return None, ()
    touched = sensitive_fields_of(candidate.content, candidate.quote, candidate.key)
    sensitive = tuple(sorted(touched & policy.sensitive_fields))
    if sensitive:
        return ProposalKind.CONSENT, sensitive
    benign = benign_field(candidate.key, candidate.type, candidate.content)
    if benign is not None:
        return ProposalKind.CORROBORATION, (benign,)
    return None, ()


def _always_asked(candidate: Candidate) -> tuple[str, ...]:
    """What needs consent even where it was asked for."""
    if redirected := redirections(candidate):
        return redirected
    asks = candidate.is_explicit or candidate.type in _ASKING
    waits = candidate.is_doubtful or (asks and candidate.is_unsure)
    return (UNSURE_VOICE,) if waits else ()


def _says_the_same(proposal: StoredProposal, candidate: Candidate, digest: str) -> bool:
    """Whether a proposal is of the same statement, maybe in other words."""
    if proposal.content_hash == digest:
        return True
    proposed = _content(proposal)
    return not opposed(candidate.content, proposed) and (
        says_nothing_new(candidate.content, proposed) or refines(candidate.content, proposed)
    )


def _answers_the_same(proposal: StoredProposal, candidate: Candidate) -> bool:
    """Whether a proposal answers the question that the candidate answers otherwise."""
    key = None if proposal.draft is None else proposal.draft.get("key")
    if key is not None and key == candidate.key:
        return True
    return opposed(candidate.content, _content(proposal)) is not None


def _content(proposal: StoredProposal) -> str:
    return "" if proposal.draft is None else str(proposal.draft.get("content", ""))
