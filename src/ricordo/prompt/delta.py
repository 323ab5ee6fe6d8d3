"""The delta header: what changed since a conversation began or last looked, each change shown once.

Changes come in the order of their revisions, as many as fit into three bullets; the rest waits for
the next prompt. A bullet is what became of one memory; one that came and went meanwhile has none.
Showing changes and saving the position is one transaction, so concurrent prompts never show the
same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ricordo.limits import MAX_DELTA_BULLET_CHARS, MAX_DELTA_BULLETS, MAX_DELTAS_ONE_BY_ONE
from ricordo.model.item import Change, Item
from ricordo.model.proposal import attributed, other_owner
from ricordo.model.vocabulary import Event, Status
from ricordo.prompt.fence import one_line
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.history import (
    NetChange,
    ThreadView,
    changes_since,
    count_changes,
    find_view,
    put_view,
    revision_of,
)
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.where import audience_of, not_expired
from ricordo.text.secrets import without_secrets

Fits = Callable[[Sequence[str]], bool]

_SHARING: Final = frozenset({Event.LINK, Event.UNLINK})
_REPLACING: Final = frozenset({Event.SUPERSEDE, Event.MERGE})


class ChangeKind(StrEnum):
    """Kinds of bullets, and the words they begin with."""

    CREATED = "+created"
    UPDATED = "↑updated"
    MERGED = "↔merged"
    REMOVED = "−removed"


_KIND_OF: Final[Mapping[Event, ChangeKind]] = {
    Event.ADD: ChangeKind.CREATED,
    Event.RESTORE: ChangeKind.CREATED,
    Event.LINK: ChangeKind.CREATED,
    Event.UPDATE: ChangeKind.UPDATED,
    Event.UNDO: ChangeKind.UPDATED,
    Event.SUPERSEDE: ChangeKind.UPDATED,
    Event.MERGE: ChangeKind.MERGED,
    Event.ARCHIVE: ChangeKind.REMOVED,
    Event.DELETE: ChangeKind.REMOVED,
    Event.UNLINK: ChangeKind.REMOVED,
    Event.TTL: ChangeKind.REMOVED,
}
"""Other events (pin, verification, consent, purge of something deleted) are no news."""


@dataclass(frozen=True, slots=True)
class DeltaReader:
    """Who reads: in which conversation, which themes (None: all), with or without content, and of
    which project (None: of all).

    ``recalled`` are the memories whose content the prompt shows already.
    """

    user_id: str
    thread_id: str
    themes: frozenset[str] | None
    shows_content: bool
    recalled: frozenset[int] = frozenset()
    project: str | None = None

    def may_see(self, item: Item | None) -> bool:
        if self.project is not None and item is None:  # of another one, or gone
            return False
        return self.themes is None or (item is not None and item.theme in self.themes)


def new_changes(database: Database, reader: DeltaReader, fits: Fits) -> tuple[str, ...]:
    """The changes that are new to a conversation; they are not shown again.

    ``fits`` says whether there is room for some bullets. The others wait.

    Raises:
        StorageError: the database could not answer; nothing counts as shown.
    """
    user_id, thread_id = reader.user_id, reader.thread_id
    with database.read(user_id) as reading:
        revision = revision_of(reading.connection, user_id)
        view = find_view(reading.connection, user_id, thread_id)
    if view is not None and view.revision == revision:  # nothing new: no write needed
        return ()
    return _take_changes(database, reader, fits, revision)


@retried
def _take_changes(
    database: Database, reader: DeltaReader, fits: Fits, revision: int
) -> tuple[str, ...]:
    with database.write(reader.user_id) as writing:
        if writing.is_first and revision:  # erased meanwhile
            return ()
        view = find_view(writing.connection, reader.user_id, reader.thread_id)
        if view is None or view.revision > writing.revision:  # new, or that of an erased namesake
            # Looking makes nobody a user, so this may be the only row of an unknown one.
            put_view(writing, reader.thread_id, ThreadView(writing.revision))
            return ()
        if writing.revision - view.revision > MAX_DELTAS_ONE_BY_ONE:
            bullets = _summary_bullet(writing, view, reader)
            if not fits(bullets):
                return ()
            reached = ThreadView(writing.revision)
        else:
            reached, bullets = _one_by_one(_Backlog(writing, view, reader), fits)
        if reached != view:
            put_view(writing, reader.thread_id, reached)
        return tuple(bullets)


def _summary_bullet(writing: WriteTransaction, view: ThreadView, reader: DeltaReader) -> list[str]:
    """Many changes at once, such as an import, in one bullet."""
    if reader.themes is not None:  # counts would reveal themes that this agent may not read
        return []
    counts: Counter[ChangeKind] = Counter()
    counted_changes = count_changes(writing, view.revision, _KIND_OF, reader.project)
    for change, count in counted_changes.items():
        kind = _net_kind(change)
        if kind is not None:
            counts[kind] += count
    counted = ", ".join(f"{counts[kind]} {kind}" for kind in ChangeKind if counts[kind])
    return [f"many changes: {counted} {_at(writing.revision)}"] if counted else []


def _net_kind(change: NetChange) -> ChangeKind | None:
    is_new = _KIND_OF[change.first] is ChangeKind.CREATED
    if _KIND_OF[change.last] is ChangeKind.REMOVED:
        return None if is_new else ChangeKind.REMOVED
    if not change.is_active:
        return None
    if change.merged:
        return ChangeKind.MERGED
    return ChangeKind.CREATED if is_new and not change.superseded else ChangeKind.UPDATED


def _one_by_one(backlog: "_Backlog", fits: Fits) -> tuple[ThreadView, list[str]]:
    """The first changes that fit into three bullets, and what the conversation knows then."""
    bullets: list[str] = []
    known = backlog.view
    passed: dict[int, list[_Effect]] = {}
    for change in backlog.changes:
        for effect in backlog.effects(change):
            passed.setdefault(effect.item_id, []).append(effect)
        wider = [line for effects in passed.values() for line in backlog.lines(effects)]
        if len(wider) > MAX_DELTA_BULLETS or not fits(wider):
            break
        bullets = wider
        known = backlog.seen(change.revision, passed)
    return known, bullets


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a change does to a memory. ``kind`` is None where another one takes its place;
    ``old_id`` is the memory whose place it takes itself."""

    item_id: int
    kind: ChangeKind | None
    revision: int
    old_id: int | None = None


@dataclass(slots=True)
class _Fate:
    """What became of a memory by all the changes that wait.

    ``is_new``: the conversation does not know it. ``revision`` is that of the last change in its
    own history, ``last`` of any that concerns it. It ``took_over`` from others, each with the kind
    of change.
    """

    item: Item | None = None
    is_new: bool = False
    revision: int = 0
    last: int = 0
    successor: int | None = None
    took_over: list[tuple[int, ChangeKind]] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        return self.item is not None and self.item.status is Status.ACTIVE


class _Backlog:
    """The changes that a conversation has not been shown."""

    def __init__(self, writing: WriteTransaction, view: ThreadView, reader: DeltaReader) -> None:
        self.view = view
        self._reader = reader
        self.changes = changes_since(
            writing.connection, writing.user_id, view.revision, MAX_DELTAS_ONE_BY_ONE
        ).changes
        ids = {one for change in self.changes for one in (change.item_id, change.new_ref)}
        until = writing.policy.global_until
        audience = audience_of(
            *(writing.connection, writing.user_id, until, writing.now), project=reader.project
        )
        visible = audience.condition() & not_expired(writing.now) & items.c.id.in_(ids - {None})
        self._fates = {item.id: _Fate(item) for item in find_items(writing.connection, visible)}
        for change in self.changes:
            self._follow(change)

    def _follow(self, change: Change) -> None:
        self._fate(change.item_id).revision = change.revision
        for effect in self._all_effects(change):
            fate = self._fate(effect.item_id)
            if not fate.last:
                was_gone = self.view.ahead.get(effect.item_id) == 0
                fate.is_new = was_gone or effect.kind is ChangeKind.CREATED
            fate.last = change.revision
            if effect.kind is None:
                fate.successor = change.new_ref
            elif effect.old_id is not None:
                fate.took_over.append((effect.old_id, effect.kind))

    def _fate(self, item_id: int) -> _Fate:
        return self._fates.setdefault(item_id, _Fate())

    def _all_effects(self, change: Change) -> Iterator[_Effect]:
        kind = _KIND_OF.get(change.event)
        item = self._fate(change.item_id).item
        is_own = item is not None and item.user_id == self._reader.user_id
        if kind is None or (is_own and change.event in _SHARING):
            return  # sharing one's own memories is no news
        if change.event in _REPLACING and change.new_ref is not None:
            yield _Effect(change.item_id, None, change.revision)
            yield _Effect(change.new_ref, kind, change.revision, old_id=change.item_id)
        else:
            yield _Effect(change.item_id, kind, change.revision)

    def effects(self, change: Change) -> list[_Effect]:
        """What a change does, without what the conversation was shown ahead."""
        ahead = self.view.ahead
        return [
            one for one in self._all_effects(change) if one.revision > ahead.get(one.item_id, 0)
        ]

    def lines(self, effects: Sequence[_Effect]) -> list[str]:
        """The bullet of a memory, if it has one."""
        item_id = effects[0].item_id
        fate = self._fates[item_id]
        kind = self._kind(effects)
        if kind is None or not self._reader.may_see(fate.item):
            return []
        came_back = kind is ChangeKind.REMOVED and fate.is_active
        revision = effects[-1].revision if came_back else fate.revision or fate.last
        return [f"{_line(kind, item_id, fate.item, self._reader)} {_at(revision)}"]

    def _kind(self, effects: Sequence[_Effect]) -> ChangeKind | None:
        fate = self._fates[effects[0].item_id]
        if fate.is_new:
            replaced = [how for old, how in fate.took_over if not self._is_new(old)]
            return (replaced or [ChangeKind.CREATED])[-1] if fate.is_active else None
        if effects[-1].kind is ChangeKind.REMOVED:
            return ChangeKind.REMOVED
        if not fate.is_active:
            return None if self._is_replaced(fate) else ChangeKind.REMOVED
        kinds = {one.kind for one in effects if one.old_id is None or not self._is_new(one.old_id)}
        for strongest in (ChangeKind.MERGED, ChangeKind.UPDATED, ChangeKind.CREATED):
            if strongest in kinds:
                return strongest
        return None

    def _is_new(self, item_id: int) -> bool:
        return self._fates[item_id].is_new

    def _is_replaced(self, fate: _Fate) -> bool:
        """Whether the bullet of another memory says what there is instead."""
        seen = set[int]()
        while fate.successor is not None and fate.successor not in seen and not fate.is_active:
            seen.add(fate.successor)
            fate = self._fates[fate.successor]
        return fate.is_active and self._reader.may_see(fate.item)

    def seen(self, revision: int, passed: Mapping[int, Sequence[_Effect]]) -> ThreadView:
        """What the conversation knows after these effects, up to a revision."""
        gone = [item_id for item_id, known in self.view.ahead.items() if not known]
        ahead = {item_id: known for item_id, known in self.view.ahead.items() if known > revision}
        for item_id, effects in passed.items():
            fate, kind = self._fates[item_id], self._kind(effects)
            if fate.is_new:
                gone = [one for one in gone if one != item_id]
            if fate.is_new and not fate.is_active:
                gone.append(item_id)
            is_shown_as_it_is = kind is not None and fate.is_active != (kind is ChangeKind.REMOVED)
            if is_shown_as_it_is and fate.last > revision:
                ahead[item_id] = fate.last
        return ThreadView(revision, {**dict.fromkeys(gone[-MAX_DELTAS_ONE_BY_ONE:], 0), **ahead})


def _line(kind: ChangeKind, item_id: int, item: Item | None, reader: DeltaReader) -> str:
    """What is said of a memory. Removed or inactive ones are named without their content, and those
    whose content the prompt shows; another user's is quoted."""
    if item is None:
        return f"{kind}: #{item_id}"
    filed = f"{kind}: [{one_line(item.theme)}]"
    is_shown = (
        reader.shows_content
        and kind is not ChangeKind.REMOVED
        and item.status is Status.ACTIVE
        and item_id not in reader.recalled
    )
    if not is_shown:
        return f"{filed} #{item_id}"
    owner = other_owner(item.user_id, reader.user_id)
    said = attributed(without_secrets(item.content), owner, item.type)
    line = f"{filed} {one_line(said)}"
    if len(line) > MAX_DELTA_BULLET_CHARS:
        line = f"{line[: MAX_DELTA_BULLET_CHARS - 1].rstrip()}…"
    return f"{line} #{item_id}"


def _at(revision: int) -> str:
    return f"(revision {revision})"
