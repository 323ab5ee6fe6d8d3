"""Adds memories: new ones, duplicates, and updates of keyed ones.

The same path for one memory and a thousand: look up, decide for each, write.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from ricordo.errors import InvalidValue
from ricordo.memories.lifecycle import (
    end_when_replaced,
    plan_lifecycle,
    record_change,
    settle_if_expired,
)
from ricordo.model.draft import NewMemory
from ricordo.model.item import PROVENANCE, Added, Item
from ricordo.model.record import plain
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import DEFAULT_IMPORTANCE, Event, MemoryType, Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.items import (
    active_with_key,
    active_with_text,
    changed_at,
    ensure_themes,
    insert_items,
    item_of,
    update_item,
)
from ricordo.storage.tables import ITEM_IDS
from ricordo.text.normalise import canonical, content_hash

# Whether an added memory was a duplicate, and whether it was an update.
_NEW: Final = (False, False)
_DUPLICATE: Final = (True, False)
_UPDATED: Final = (False, True)

# What an update of a keyed memory changes only if the draft has it.
_OPTIONAL: Final = (
    "type",
    "tags",
    "importance",
    "pinned",
    "confidence",
    "valid_from",
    "valid_to",
    "expires_at",
)


def add_all(
    writing: WriteTransaction,
    scope: Scope,
    drafts: Sequence[NewMemory],
    reason: str | None = None,
    *,
    adopts: bool = True,
) -> list[Added]:
    """Add memories in one transaction; returns the outcome of each, in order.

    ``adopts``: whether a key is set on a memory of the same text without one.

    Raises:
        InvalidValue: an end before a beginning, or an expiry that has already passed.
        ScopeWidened: a memory names another agent, thread, run, actor, role or project than the
            scope.
    """
    stamped = [draft.stamped(scope) for draft in drafts]
    for draft in stamped:
        check_times(draft, writing.now)
    hashed = [(draft, content_hash(draft.content)) for draft in stamped]
    known = _ActiveMemories(writing, hashed, adopts=adopts)
    batch = _Batch(writing, scope, reason)
    outcomes = [batch.add(*known.match(draft, digest), draft) for draft, digest in hashed]
    batch.insert_new()
    return [Added(entry.id, Status.ACTIVE, *outcome) for entry, outcome in outcomes]


class _Batch:
    """Writes in the order of the drafts; new memories in bulk until an update."""

    def __init__(self, writing: WriteTransaction, scope: Scope, reason: str | None) -> None:
        self._writing = writing
        self._scope = scope
        self._reason = reason
        self._new: list[tuple[_Entry, NewMemory]] = []

    def add(
        self, entry: "_Entry", is_new: bool, draft: NewMemory
    ) -> tuple["_Entry", tuple[bool, bool]]:
        """Apply a draft; its memory, and whether it was a duplicate or an update."""
        if is_new:
            self._new.append((entry, draft))
            return entry, _NEW
        if draft.key is None:
            return entry, _DUPLICATE
        self.insert_new()  # what this update makes room for may come later in the batch
        present = _stored(self._writing, entry.id)
        changed = update_keyed(self._writing, self._scope, present, draft, self._reason)
        return entry, _UPDATED if changed else _DUPLICATE

    def insert_new(self) -> None:
        if not self._new:
            return
        writing = self._writing
        themes = {entry.theme for entry, _ in self._new}
        ensure_themes(writing.connection, writing.user_id, themes, writing.now)
        made = []
        ids = writing.take_ids(ITEM_IDS, len(self._new))
        for (entry, draft), item_id in zip(self._new, ids, strict=True):
            entry.id = item_id
            made.append(_new_item(writing, item_id, draft))
            _check_ends(made[-1].valid_from, made[-1].valid_to)
        insert_items(writing, made)
        for item in made:
            writing.record(
                Event.ADD, item.id, actor=self._scope.actor, reason=self._reason, new_ref=item.id
            )
        ends = [item.expires_at for item in made if item.expires_at is not None]
        if ends:
            plan_lifecycle(writing, writing.user_id, min(ends))
        self._new.clear()


_Place = tuple[str, str | None]
"""Theme and project: in another of either, the same text or key is another memory."""


class _Entry:
    """An active memory, stored or new, in its state after the drafts so far."""

    __slots__ = ("digest", "id", "key", "place", "theme")

    def __init__(self, place: "_Place", key: str | None, digest: str, item_id: int = 0) -> None:
        self.place = place
        self.theme = place[0]
        self.key = key
        self.digest = digest
        self.id = item_id  # 0 until a new one is inserted


class _ActiveMemories:
    """Matches drafts one by one, so that a batch ends like single adds."""

    def __init__(
        self, writing: WriteTransaction, hashed: Sequence[tuple[NewMemory, str]], *, adopts: bool
    ) -> None:
        self._adopts = adopts
        self._by_key: dict[tuple[_Place, str], _Entry] = {}
        self._by_text: dict[tuple[_Place, str], list[_Entry]] = defaultdict(list)
        themes = {draft.effective_theme for draft, _ in hashed}
        keys = {draft.key for draft, _ in hashed if draft.key is not None}
        digests = {digest for _, digest in hashed}
        where = (writing.connection, writing.user_id, themes)
        found = active_with_text(*where, digests, writing.now)
        if keys:
            found += active_with_key(*where, keys, writing.now)
        for match in {match.id: match for match in found}.values():
            if match.expired:
                settle_if_expired(writing, _stored(writing, match.id))
            else:
                place = match.theme, match.project_id
                self._put(_Entry(place, match.key, match.content_hash, match.id))

    def match(self, draft: NewMemory, digest: str) -> tuple[_Entry, bool]:
        """The memory that a draft is or updates; True where it is new."""
        place = draft.effective_theme, draft.project_id
        same_text = self._by_text[place, digest]
        if draft.key is None:
            met = same_text[0] if same_text else None
        else:
            met = self._by_key.get((place, draft.key))
            if met is None and self._adopts:
                met = next((entry for entry in same_text if entry.key is None), None)
        if met is None:
            made = _Entry(place, draft.key, digest)
            self._put(made)
            return made, True
        if draft.key is not None:
            self._by_text[place, met.digest].remove(met)
            met.key, met.digest = draft.key, digest
            self._put(met)
        return met, False

    def _put(self, entry: _Entry) -> None:
        self._by_text[entry.place, entry.digest].append(entry)
        if entry.key is not None:
            self._by_key[entry.place, entry.key] = entry


def _stored(writing: WriteTransaction, item_id: int) -> Item:
    found = item_of(writing.connection, writing.user_id, item_id)
    assert found is not None  # the user's row is locked, and it was there a moment ago
    return found


def check_times(draft: NewMemory, now: datetime) -> None:
    """Refuse contradictory times. Raises InvalidValue: an end before a beginning, or an expiry that
    has already passed."""
    if draft.expires_at is not None and draft.expires_at <= now:
        raise InvalidValue("expires_at", "has already passed; it must be in the future")
    # A keyed statement without a start may take over the stored one.
    knows_start = draft.key is None or draft.valid_from is not None
    if knows_start:
        _check_ends(draft.start(now), draft.valid_to)


def _new_item(writing: WriteTransaction, item_id: int, draft: NewMemory) -> Item:
    created_at = draft.created_at or writing.now
    return Item(
        id=item_id,
        user_id=writing.user_id,
        theme=draft.effective_theme,
        type=draft.type or MemoryType.FACT,
        key=draft.key,
        content=draft.content,
        tags=draft.tags or (),
        source=draft.effective_source,
        source_context=draft.source_context,
        thread_id=draft.thread_id,
        message_id=draft.message_id,
        agent_id=draft.agent_id,
        run_id=draft.run_id,
        actor_id=draft.actor_id,
        role=draft.role,
        confidence=draft.effective_confidence,
        importance=draft.importance or DEFAULT_IMPORTANCE,
        pinned=bool(draft.pinned),
        status=Status.ACTIVE,
        valid_from=draft.valid_from or created_at,
        valid_to=draft.valid_to,
        expires_at=draft.expires_at,
        purge_at=None,
        created_at=created_at,
        updated_at=created_at,
        last_accessed_at=None,
        last_verified_at=None,
        access_count=0,
        project_id=draft.project_id,
    )


def update_keyed(
    writing: WriteTransaction, scope: Scope, present: Item, draft: NewMemory, reason: str | None
) -> bool:
    """Update a keyed memory from a draft; False when nothing changes.

    A different origin alone is no change.

    The memory keeps its id. A changed text leaves the old one as a superseded memory that ends
    where the new one begins, so that ``as_of`` finds it. Raises InvalidValue: it would begin before
    the statement that it updates, or end before it begins.
    """
    values = {name: getattr(draft, name) for name in _OPTIONAL}
    stated = {name: value for name, value in values.items() if value is not None}
    changes = _differing(present, {**stated, "content": draft.content, "key": draft.key})
    if not changes:
        return False
    old_version = None
    if "content" in changes:
        changes |= _differing(present, _origin(writing, draft))
        if draft.begins_before(present.valid_from):
            raise InvalidValue(
                "valid_from", f"must not be before that of memory {present.id}, which it updates"
            )
        old_version = writing.take_ids(ITEM_IDS, 1)[0]
        old = replace(
            present,
            id=old_version,
            status=Status.SUPERSEDED,
            pinned=False,
            valid_to=end_when_replaced(present, draft.start(writing.now)),
            updated_at=writing.now,
        )
        insert_items(writing, [old])
    updated = replace(present, **changes)
    _check_ends(updated.valid_from, updated.valid_to)
    before = {name: plain(getattr(present, name)) for name in changes}
    update_item(writing, present, {**changes, "updated_at": changed_at(writing, present)})
    record_change(
        writing,
        updated,
        Event.UPDATE,
        actor=scope.actor,
        reason=reason,
        old_ref=old_version,
        new_ref=present.id,
        before=before,
    )
    if updated.expires_at is not None:
        plan_lifecycle(writing, writing.user_id, updated.expires_at)
    return True


def _check_ends(start: datetime, end: datetime | None) -> None:
    if end is not None and end <= start:
        raise InvalidValue("valid_to", "must be later than valid_from")


def _differing(present: Item, values: dict[str, Any]) -> dict[str, Any]:
    """The values that change; an equivalent text does not."""
    changes = {name: value for name, value in values.items() if getattr(present, name) != value}
    if "content" in changes and canonical(changes["content"]) == canonical(present.content):
        del changes["content"]
    return changes


def _origin(writing: WriteTransaction, draft: NewMemory) -> dict[str, Any]:
    """What a new text does not inherit: origin, validity, verification, ratings."""
    return {
        "source": draft.effective_source,
        "confidence": draft.effective_confidence,
        "valid_from": draft.start(writing.now),
        "valid_to": draft.valid_to,
        "expires_at": draft.expires_at,
        "last_verified_at": None,
        "last_accessed_at": None,
        "access_count": 0,
        "ratings": (),
        **{name: getattr(draft, name) for name in PROVENANCE},
    }
