"""Whether a profile field may be stored at once, by the same rules as conversations."""

from dataclasses import dataclass, replace
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.conflicts import IDENTICAL, NEW, NOT_NEWER, SAME_KEY, Resolution
from ricordo.formation.consent import PendingConsent, waiting_for
from ricordo.formation.injected import fence_cuts, has_attack
from ricordo.formation.proposals import Heard, keep_proposal, note_heard, note_signal, times_heard
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.text_spans import plain_view
from ricordo.model.draft import NewMemory
from ricordo.model.item import Item
from ricordo.model.profile import (
    PROFILE_TAG,
    PROFILE_THEME,
    FieldChange,
    FieldOutcome,
    says_the_same,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, Action, MemoryType, ProposalKind
from ricordo.storage.database import WriteTransaction
from ricordo.storage.threads import last_turn_id
from ricordo.text.normalise import content_hash

_NO_TURN: Final = 0
"""The turn id if the turn is unknown."""


def check_harmless(change: FieldChange) -> None:
    """Refuse a field that addresses a model instead of describing the user.

    Raises:
        InvalidValue: names the field, without its value.
    """
    if change.value is None:
        return
    where = f"profile field {change.label!r}"
    view = plain_view(change.content).text
    if next(fence_cuts(view), None) is not None:
        raise InvalidValue(where, "must not contain the markers of recalled memories")
    if has_attack(view):
        raise InvalidValue(where, "reads like an instruction to a model; say it of the user")


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A field that is not stored now, and its proposal."""

    outcome: FieldOutcome
    proposal_id: int | None = None


class FieldGate:
    """Decides, inside one transaction, which fields become proposals.

    Two calls in the same turn of a conversation are one signal, not two. If the conversation is
    unknown, every call counts.
    """

    def __init__(self, writing: WriteTransaction, policy: FormationPolicy, scope: Scope) -> None:
        self._writing = writing
        self._policy = policy
        self._scope = scope
        self._turn_id: int | None = None
        if scope.thread_id is not None:
            connection = writing.connection
            self._turn_id = last_turn_id(connection, writing.user_id, scope.thread_id)

    def hold_back(self, draft: NewMemory, value: str) -> HeldBack | None:
        """Store a field as a proposal if it needs consent, or to be said again; else None."""
        writing = self._writing
        candidate = candidate_of(draft, value, self._turn_id or _NO_TURN)
        waiting = waiting_for(
            writing.connection, writing.user_id, self._policy, candidate, writing.now
        )
        if waiting is None:
            return None
        if waiting.is_turned_down:
            return HeldBack(FieldOutcome.REFUSED)
        if waiting.kind is ProposalKind.CORROBORATION:
            return self._until_said_again(draft, value, waiting)
        met = waiting.open
        if met is None or met.content_hash != content_hash(draft.content):
            return HeldBack(FieldOutcome.PROPOSED, self._propose(draft, value, waiting))
        if self._turn_id is not None:
            note_signal(writing, met, self._turn_id)
        return HeldBack(FieldOutcome.PROPOSED, met.id)

    def _until_said_again(
        self, draft: NewMemory, value: str, waiting: PendingConsent
    ) -> HeldBack | None:
        met = waiting.open
        if met is None:
            return HeldBack(FieldOutcome.WAITING, self._propose(draft, value, waiting))
        turns = {*met.signals, *([] if self._turn_id is None else [self._turn_id])}
        heard = times_heard(self._writing, met.id) + (self._turn_id is None)
        if len(turns) + heard >= self._policy.corroborating_signals:
            return None
        if self._turn_id is None:
            note_heard(self._writing, met.id, self._scope.actor)
        else:
            note_signal(self._writing, met, self._turn_id)
        return HeldBack(FieldOutcome.WAITING, met.id)

    def _propose(self, draft: NewMemory, value: str, waiting: PendingConsent) -> int:
        """Store the field as a proposal, replacing those with another value; returns its number."""
        writing, scope = self._writing, self._scope
        if waiting.open is not None:
            waiting = replace(waiting, overtakes=(*waiting.overtakes, waiting.open), open=None)
        turn_ids = () if self._turn_id is None else (self._turn_id,)
        heard = Heard(value, turn_ids, scope.thread_id, scope.actor)
        proposal_id = keep_proposal(writing, self._policy, waiting, draft, heard)
        if self._turn_id is None and waiting.kind is ProposalKind.CORROBORATION:
            note_heard(writing, proposal_id, scope.actor)
        return proposal_id


def candidate_of(draft: NewMemory, quote: str, turn_id: int = _NO_TURN) -> Candidate:
    assert draft.valid_from is not None
    passage = Passage(
        turn_id=turn_id,
        position=0,
        role=draft.role or USER_ROLE,
        actor=draft.actor_id,
        message_id=draft.message_id,
        at=draft.valid_from,
        text=quote,
    )
    return Candidate(
        content=draft.content,
        quote=quote,
        passage=passage,
        type=draft.type or MemoryType.FACT,
        theme=draft.theme,
        key=draft.key,
        importance=draft.importance or DEFAULT_IMPORTANCE,
    )


def is_profile_draft(draft: NewMemory) -> bool:
    tags = draft.tags or ()
    return draft.theme == PROFILE_THEME and draft.key is not None and PROFILE_TAG in tags


def resolve_field(candidate: Candidate, present: Item | None) -> Resolution:
    """The resolution of an approved field: it is set, unless the field has a newer value."""
    if present is None:
        return Resolution(candidate=candidate, action=Action.ADD, reason=NEW)
    known = (present,)
    if says_the_same(candidate.content, present.content):
        return Resolution(
            candidate=candidate, action=Action.IGNORE, reason=IDENTICAL, targets=known
        )
    if candidate.passage.at < present.valid_from:
        return Resolution(
            candidate=candidate, action=Action.IGNORE, reason=NOT_NEWER, targets=known
        )
    return Resolution(candidate=candidate, action=Action.UPDATE, reason=SAME_KEY, targets=known)
