"""The delta header: what changed since a conversation's last prompt, each change shown once.

A conversation's first prompt shows none. Changes come in the order of their revisions, as many as
fit into three bullets; the rest waits for the next prompt. Showing changes and saving the position
is one transaction, so concurrent prompts never show the same.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ricordo.limits import MAX_DELTA_BULLET_CHARS, MAX_DELTA_BULLETS, MAX_DELTAS_ONE_BY_ONE
from ricordo.model.item import Change, Item
from ricordo.model.proposal import attributed, other_owner
from ricordo.model.vocabulary import Event, Status
from ricordo.prompt.fence import one_line
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.history import changes_since, revision_of
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.threads import count_changes, note_seen, seen_revision
from ricordo.storage.where import audience_of, not_expired
from ricordo.text.secrets import without_secrets

Fits = Callable[[Sequence[str]], bool]

_SHARING: Final = frozenset({Event.LINK, Event.UNLINK})


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


@dataclass(slots=True)
class _ItemChanges:
    """The changes of one memory, combined."""

    item_id: int
    kinds: list[ChangeKind] = field(default_factory=list)

    @property
    def kind(self) -> ChangeKind | None:
        """The net change; None for what was added and removed again."""
        if self.kinds[-1] is ChangeKind.REMOVED:
            return None if self.kinds[0] is ChangeKind.CREATED else ChangeKind.REMOVED
        for strongest in (ChangeKind.MERGED, ChangeKind.UPDATED):
            if strongest in self.kinds:
                return strongest
        return ChangeKind.CREATED


@dataclass(frozen=True, slots=True)
class DeltaReader:
    """Who reads: in which conversation, which themes (None: all), with or without content."""

    user_id: str
    thread_id: str
    themes: frozenset[str] | None
    shows_content: bool


def new_changes(database: Database, reader: DeltaReader, fits: Fits) -> tuple[str, ...]:
    """The changes that are new to a conversation; they are not shown again.

    ``fits`` says whether there is room for some bullets. The others wait.

    Raises:
        StorageError: the database could not answer; nothing counts as shown.
    """
    user_id, thread_id = reader.user_id, reader.thread_id
    with database.read(user_id) as view:
        revision = revision_of(view.connection, user_id)
        seen = seen_revision(view.connection, user_id, thread_id)
    if revision in (0, seen):  # unknown user or nothing new: no write needed
        return ()
    return _take_changes(database, reader, fits)


@retried
def _take_changes(database: Database, reader: DeltaReader, fits: Fits) -> tuple[str, ...]:
    with database.write(reader.user_id) as writing:
        if writing.is_first:  # erased meanwhile
            return ()
        seen = seen_revision(writing.connection, reader.user_id, reader.thread_id)
        if seen is None or seen > writing.revision:  # first prompt, or that of an erased namesake
            note_seen(writing, reader.thread_id, writing.revision)
            return ()
        if writing.revision - seen > MAX_DELTAS_ONE_BY_ONE:
            reached, bullets = _summary_bullet(writing, seen, reader)
            reached, bullets = (reached, bullets) if fits(bullets) else (seen, [])
        else:
            reached, bullets = _one_by_one(writing, seen, reader, fits)
        if reached != seen:
            note_seen(writing, reader.thread_id, reached)
        return tuple(bullets)


def _summary_bullet(
    writing: WriteTransaction, seen: int, reader: DeltaReader
) -> tuple[int, list[str]]:
    """Many changes at once, such as an import, in one bullet."""
    if reader.themes is not None:  # counts would reveal themes that this agent may not read
        return writing.revision, []
    counts: Counter[ChangeKind] = Counter()
    for event, count in count_changes(writing.connection, writing.user_id, seen).items():
        if event in _KIND_OF:
            counts[_KIND_OF[event]] += count
    counted = ", ".join(f"{counts[kind]} {kind}" for kind in ChangeKind if counts[kind])
    return writing.revision, [f"many changes: {counted}"] if counted else []


def _one_by_one(
    writing: WriteTransaction, seen: int, reader: DeltaReader, fits: Fits
) -> tuple[int, list[str]]:
    """The first changes that fit into three bullets, and their last revision."""
    waiting = changes_since(writing.connection, writing.user_id, seen, MAX_DELTAS_ONE_BY_ONE)
    known = _items_of(writing, waiting.changes)
    reached, bullets = seen, list[str]()
    by_item: dict[int, _ItemChanges] = {}
    for change in waiting.changes:
        subject, kind = _subject(change), _KIND_OF.get(change.event)
        item = known.get(subject)
        is_own = item is not None and item.user_id == writing.user_id
        # Sharing one's own memories is no news.
        if kind is not None and not (is_own and change.event in _SHARING):
            by_item.setdefault(subject, _ItemChanges(subject)).kinds.append(kind)
        wider = _bullets(by_item.values(), known, reader)
        if len(wider) > MAX_DELTA_BULLETS or not fits(wider):
            break
        reached, bullets = change.revision, wider
    return reached, bullets


def _subject(change: Change) -> int:
    """The memory that a change is about: of a replacement, the new one."""
    if change.event in {Event.SUPERSEDE, Event.MERGE} and change.new_ref is not None:
        return change.new_ref
    return change.item_id


def _items_of(writing: WriteTransaction, changes: Iterable[Change]) -> Mapping[int, Item]:
    """Those of the changed memories that the user may see now."""
    ids = {_subject(change) for change in changes}
    until = writing.policy.global_until
    audience = audience_of(writing.connection, writing.user_id, until, writing.now)
    visible = audience.condition() & not_expired(writing.now) & items.c.id.in_(ids)
    return {item.id: item for item in find_items(writing.connection, visible)}


def _bullets(
    by_item: Iterable[_ItemChanges], known: Mapping[int, Item], reader: DeltaReader
) -> list[str]:
    lines = []
    for changes in by_item:
        item = known.get(changes.item_id)
        theme = None if item is None else item.theme
        may_see = reader.themes is None or theme in reader.themes
        if changes.kind is not None and may_see:
            lines.append(_bullet(changes.kind, changes.item_id, item, reader))
    return lines


def _bullet(kind: ChangeKind, item_id: int, item: Item | None, reader: DeltaReader) -> str:
    """One line. Removed or inactive memories are named without their content; another user's is
    quoted."""
    if item is None:
        return f"{kind}: #{item_id}"
    filed = f"{kind}: [{one_line(item.theme)}]"
    is_shown = (
        reader.shows_content and kind is not ChangeKind.REMOVED and item.status is Status.ACTIVE
    )
    if not is_shown:
        return f"{filed} #{item_id}"
    owner = other_owner(item.user_id, reader.user_id)
    said = attributed(without_secrets(item.content), owner, item.type)
    line = f"{filed} {one_line(said)}"
    if len(line) > MAX_DELTA_BULLET_CHARS:
        line = f"{line[: MAX_DELTA_BULLET_CHARS - 1].rstrip()}…"
    return f"{line} #{item_id}"
