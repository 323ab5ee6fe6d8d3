"""The profile in the store: its fields, and which of them need consent before they are set."""

from collections.abc import Sequence
from typing import Final

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.formation.candidate import USER_ROLE, Candidate, Passage
from ricordo.formation.conflicts import IDENTICAL, NEW, NOT_NEWER, SAME_KEY, Resolution
from ricordo.formation.consent import TONE, PendingConsent, benign_field, waiting_for
from ricordo.formation.injected import fence_cuts, has_attack
from ricordo.formation.proposals import (
    ProposalEvidence,
    keep_proposal,
    note_repeated,
    note_signal,
    settle_by_storing,
    times_repeated,
)
from ricordo.formation.screening import holds_secret, instructs, sensitive_in
from ricordo.formation.service import Formation
from ricordo.formation.writing_rules import has_steps
from ricordo.frozen import dataclass, replace
from ricordo.index.relations import PreparedWrite
from ricordo.memories import additions, lifecycle
from ricordo.model.draft import NewMemory
from ricordo.model.item import Item
from ricordo.model.profile import (
    PROFILE_TAG,
    PROFILE_THEME,
    FieldChange,
    FieldOutcome,
    FieldUpdate,
    ProfileField,
    is_field,
    profile_of,
    says_the_same,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, Action, MemoryType, ProposalKind, Source
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.items import keyed_profile_items
from ricordo.storage.threads import last_turn_id
from ricordo.text.normalise import content_hash
from ricordo.text.spans import plain_view

_NO_TURN: Final = 0
"""The turn id if the turn is unknown."""

_IMPORTANCE = 3  # high enough not to be forgotten when unused
_ON_PURPOSE = frozenset({Source.USER_EXPLICIT, Source.FILE})


def check_harmless(change: FieldChange) -> None:
    """Refuse a field that addresses a model instead of describing the user. Raises InvalidValue:
    names the field, without its value."""
    if change.value is None:
        return
    where = f"profile field {change.label!r}"
    view = plain_view(change.content).text
    if next(fence_cuts(view), None) is not None:
        raise InvalidValue(where, "must not contain the markers of recalled memories")
    if has_attack(view):
        raise InvalidValue(where, "reads like an instruction to a model; say it of the user")
    if holds_secret(change.content):
        raise InvalidValue(where, "holds a secret, such as a password, a code or a card number")


@dataclass(frozen=True, slots=True)
class SetField:
    """What became of a field: the memory that it is, or was, and its proposal."""

    outcome: FieldOutcome
    proposal_id: int | None = None
    item_id: int | None = None


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
        project_id=draft.project_id,
    )


def screened_candidate(draft: NewMemory, quote: str, turn_id: int = _NO_TURN) -> Candidate:
    fields = sensitive_in(draft.content, *draft.names) | sensitive_in(quote)
    candidate = candidate_of(draft, quote, turn_id)
    return replace(candidate, fields=fields, is_hearsay=_is_wish(draft, quote))


def _is_wish(draft: NewMemory, quote: str) -> bool:
    """Whether it says what an assistant shall always do, which only the user can say."""
    is_listed = has_steps(draft.content) or "\n" in draft.content.strip()
    steps = draft.type is MemoryType.PROCEDURE and is_listed
    is_said = any(instructs(said, has_steps=steps) for said in (draft.content, quote))
    return draft.type is MemoryType.INSTRUCTION or is_said


def is_profile_draft(draft: NewMemory) -> bool:
    tags = draft.tags or ()
    is_filed = draft.theme == PROFILE_THEME and draft.key is not None and PROFILE_TAG in tags
    return is_filed and draft.project_id is None


def resolve_field(candidate: Candidate, present: Item | None) -> Resolution:
    """The resolution of an approved field: it is set, unless the field has a newer value."""
    if present is None:
        return Resolution(candidate=candidate, action=Action.ADD, reason=NEW)
    action, reason = Action.UPDATE, SAME_KEY
    if says_the_same(candidate.content, present.content):
        action, reason = Action.IGNORE, IDENTICAL
    elif candidate.passage.at < present.valid_from:
        action, reason = Action.IGNORE, NOT_NEWER
    return Resolution(candidate=candidate, action=action, reason=reason, targets=(present,))


def read_fields(database: Database, user_id: str) -> tuple[ProfileField, ...]:
    with database.read(user_id) as view:
        return profile_of(keyed_profile_items(view.connection, user_id, view.now))


@retried
def set_fields(
    formation: Formation,
    scope: Scope,
    changes: Sequence[FieldChange],
    source: Source,
    reason: str | None,
) -> tuple[FieldUpdate, ...]:
    """Set and remove fields in one transaction; returns the outcomes in order.

    What the user said themselves (``source`` is user_explicit or file) is stored; anything else
    follows the rules of consent. Raises InvalidValue: a field addresses a model, or there would be
    too many. Nothing is written.
    """
    for change in changes:
        check_harmless(change)
    texts = [change.content for change in changes if change.value is not None]
    prepared = formation.recall.prepare(scope.user_id, texts)
    with formation.database.write(scope.user_id, known=prepared.known) as writing:
        setter = _Setter(formation, scope, writing, source, reason, prepared)
        setter.check_room(changes)
        return tuple(setter.set(change) for change in changes)


class _Setter:
    """Sets the fields of one user inside one transaction.

    Two calls in the same turn of a conversation are one signal, not two. If the conversation is
    unknown, every call counts.
    """

    def __init__(
        self,
        formation: Formation,
        scope: Scope,
        writing: WriteTransaction,
        source: Source,
        reason: str | None,
        prepared: PreparedWrite,
    ) -> None:
        self._relating = formation.recall.relating
        self._policy = formation.policy
        self._scope = scope
        self._writing = writing
        self._source = source
        self._reason = reason
        self._prepared = prepared
        connection, user_id = writing.connection, writing.user_id
        self._turn_id: int | None = None
        if scope.thread_id is not None:
            self._turn_id = last_turn_id(connection, user_id, scope.thread_id)
        found = keyed_profile_items(connection, user_id, writing.now)
        self._present = {item.key: item for item in found}

    def check_room(self, changes: Sequence[FieldChange]) -> None:
        """Raises:
        InvalidValue: there would be too many fields.
        """
        fields = {key for key, item in self._present.items() if is_field(item)}
        fields |= {change.key for change in changes if change.value is not None}
        fields -= {change.key for change in changes if change.value is None}
        if len(fields) > limits.MAX_PROFILE_FIELDS:
            raise InvalidValue(
                "fields",
                f"the profile would have {len(fields)};"
                f" allowed: at most {limits.MAX_PROFILE_FIELDS}",
            )

    def set(self, change: FieldChange) -> FieldUpdate:
        present = self._present.get(change.key)
        done = self._remove(present) if change.value is None else self._put(change, present)
        return FieldUpdate(
            key=change.key,
            label=change.label,
            outcome=done.outcome,
            item_id=done.item_id,
            proposal_id=done.proposal_id,
        )

    def _remove(self, present: Item | None) -> SetField:
        if present is None or not is_field(present):
            return SetField(FieldOutcome.UNCHANGED)
        lifecycle.forget(self._writing, self._scope, present.id, self._reason)
        return SetField(FieldOutcome.REMOVED, item_id=present.id)

    def _put(self, change: FieldChange, present: Item | None) -> SetField:
        if (
            present is not None
            and is_field(present)
            and says_the_same(present.content, change.content)
        ):
            return SetField(FieldOutcome.UNCHANGED, item_id=present.id)
        draft = self._draft(change, present)
        value = change.value or ""
        waiting = None if self._source in _ON_PURPOSE else self._proposed(draft, value)
        if waiting is not None:
            return replace(waiting, item_id=None if present is None else present.id)
        added = additions.add_all(self._writing, self._scope, [draft], self._reason)[0]
        self._relating.written(self._writing, [(added, draft.content)], self._prepared)
        settle_by_storing(self._writing, candidate_of(draft, value), added.id)
        return SetField(FieldOutcome.APPLIED, item_id=added.id)

    def _draft(self, change: FieldChange, present: Item | None) -> NewMemory:
        tags = () if present is None else present.tags
        is_tone = benign_field(change.key, MemoryType.FACT, change.content) == TONE
        draft = NewMemory(
            content=change.content,
            theme=PROFILE_THEME,
            key=change.key,
            type=MemoryType.PREFERENCE if is_tone else MemoryType.FACT,
            importance=_IMPORTANCE if present is None else max(_IMPORTANCE, present.importance),
            tags=tuple(dict.fromkeys((*tags, PROFILE_TAG))),
            source=self._source,
            valid_from=self._writing.now,
        )
        return draft.stamped(self._scope)

    def _proposed(self, draft: NewMemory, value: str) -> SetField | None:
        """Store a field as a proposal if it needs consent, or to be said again; else None."""
        writing = self._writing
        candidate = screened_candidate(draft, value, self._turn_id or _NO_TURN)
        waiting = waiting_for(writing, self._policy, candidate)
        if waiting is None:
            return None
        if waiting.is_turned_down:
            return SetField(FieldOutcome.REFUSED)
        if waiting.kind is ProposalKind.CORROBORATION:
            return self._until_said_again(draft, value, waiting)
        met = waiting.open
        if met is None or met.content_hash != content_hash(draft.content):
            return SetField(FieldOutcome.PROPOSED, self._propose(draft, value, waiting))
        if self._turn_id is not None:
            note_signal(writing, met, self._turn_id)
        return SetField(FieldOutcome.PROPOSED, met.id)

    def _until_said_again(
        self, draft: NewMemory, value: str, waiting: PendingConsent
    ) -> SetField | None:
        met = waiting.open
        if met is None:
            return SetField(FieldOutcome.WAITING, self._propose(draft, value, waiting))
        turns = {*met.signals, *([] if self._turn_id is None else [self._turn_id])}
        repeated = times_repeated(self._writing, met.id) + (self._turn_id is None)
        if len(turns) + repeated >= self._policy.corroborating_signals:
            return None
        if self._turn_id is None:
            note_repeated(self._writing, met.id, self._scope.actor)
        else:
            note_signal(self._writing, met, self._turn_id)
        return SetField(FieldOutcome.WAITING, met.id)

    def _propose(self, draft: NewMemory, value: str, waiting: PendingConsent) -> int:
        """Store the field as a proposal, replacing those with another value; returns its number."""
        writing, scope = self._writing, self._scope
        if waiting.open is not None:
            waiting = replace(waiting, overtakes=(*waiting.overtakes, waiting.open), open=None)
        turn_ids = () if self._turn_id is None else (self._turn_id,)
        evidence = ProposalEvidence(value, turn_ids, scope.thread_id, scope.actor)
        proposal_id = keep_proposal(writing, self._policy, waiting, draft, evidence)
        if self._turn_id is None and waiting.kind is ProposalKind.CORROBORATION:
            note_repeated(writing, proposal_id, scope.actor)
        return proposal_id
