"""The profile in the store: reading its fields, and setting several of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.formation.consent import TONE, benign_field
from ricordo.formation.profile_consent import FieldGate, HeldBack, candidate_of, check_harmless
from ricordo.formation.proposals import settle_by_storing
from ricordo.formation.service import Formation
from ricordo.index.relations import Neighbours
from ricordo.memories import additions, lifecycle
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.item import Added, Item
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
from ricordo.model.vocabulary import MemoryType, Source
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.items import keyed_profile_items
from ricordo.storage.search_rows import text_hash

_IMPORTANCE = 3  # high enough not to be forgotten when unused
_ON_PURPOSE = frozenset({Source.USER_EXPLICIT, Source.FILE})


def read_fields(database: Database, user_id: str) -> tuple[ProfileField, ...]:
    """A user's profile in the store; reads no file."""
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
    follows the rules of consent.

    Raises:
        InvalidValue: a field addresses a model, or there would be too many. Nothing is written.
    """
    for change in changes:
        check_harmless(change)
    recall, user_id = formation.recall, scope.user_id
    texts = [change.content for change in changes if change.value is not None]
    known = recall.embedders.known_vectors(user_id, texts)
    near = recall.relating.neighbours(user_id, known)
    with formation.database.write(user_id, known=known) as writing:
        setter = _Setter(formation, scope, writing, source, reason, known, near)
        setter.check_room(changes)
        return tuple(setter.set(change) for change in changes)


@dataclass(frozen=True, slots=True)
class _Outcome:
    outcome: FieldOutcome
    item_id: int | None = None
    proposal_id: int | None = None


class _Setter:
    """Sets the fields of one user inside one transaction."""

    def __init__(
        self,
        formation: Formation,
        scope: Scope,
        writing: WriteTransaction,
        source: Source,
        reason: str | None,
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        self._recall = formation.recall
        self._scope = scope
        self._writing = writing
        self._source = source
        self._reason = reason
        self._known = known
        self._near = near
        self._gate = FieldGate(writing, formation.policy, scope)
        found = keyed_profile_items(writing.connection, writing.user_id, writing.now)
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

    def _remove(self, present: Item | None) -> _Outcome:
        if present is None or not is_field(present):
            return _Outcome(FieldOutcome.UNCHANGED)
        lifecycle.forget(self._writing, self._scope, present.id, self._reason)
        return _Outcome(FieldOutcome.REMOVED, present.id)

    def _put(self, change: FieldChange, present: Item | None) -> _Outcome:
        if present is not None and _says_so(present, change):
            return _Outcome(FieldOutcome.UNCHANGED, present.id)
        draft = self._draft(change, present)
        value = change.value or ""
        held = self._held_back(draft, value)
        if held is not None:
            item_id = None if present is None else present.id
            return _Outcome(held.outcome, item_id, held.proposal_id)
        added = additions.add_all(self._writing, self._scope, [draft], self._reason)[0]
        self._relate(added, draft)
        settle_by_storing(self._writing, candidate_of(draft, value), added.id)
        return _Outcome(FieldOutcome.APPLIED, added.id)

    def _held_back(self, draft: NewMemory, value: str) -> HeldBack | None:
        return None if self._source in _ON_PURPOSE else self._gate.hold_back(draft, value)

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

    def _relate(self, added: Added, draft: NewMemory) -> None:
        entry = [(added.id, text_hash(draft.content))]
        relating = self._recall.relating
        if added.updated:
            relating.renew(self._writing, entry, self._known, self._near)
        elif added.is_new:
            relating.note(self._writing, entry, self._known, self._near)


def _says_so(present: Item, change: FieldChange) -> bool:
    return is_field(present) and says_the_same(present.content, change.content)
