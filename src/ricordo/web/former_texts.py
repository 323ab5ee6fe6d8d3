"""The texts of memories as they were at a revision, as far as history still has them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ricordo import limits
from ricordo.errors import MemoryNotFound
from ricordo.frozen import dataclass
from ricordo.memories.lifecycle import is_expired
from ricordo.model.item import Change, Item
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.history import UNDONE_REVISION
from ricordo.user_memory import UserMemory

_FORGOTTEN: Final = "which is forgotten"
_NO_LONGER: Final = "which no longer exists"
_EXPIRED: Final = "which has expired"
NOT_KEPT: Final = "whose text of then is not kept"


class Moment(NamedTuple):
    """A memory right after a revision, which was written ``at`` some time."""

    id: int
    revision: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Text:
    """What a memory said at a moment; where that is not shown, ``instead`` says why."""

    id: int
    content: str | None
    instead: str = ""


class _Span(NamedTuple):
    """A text from a revision on; ``kept_as`` is the memory that keeps it by now."""

    since: int
    content: str | None
    kept_as: int | None = None


def texts_at(
    memory: UserMemory, moments: Collection[Moment], known: Mapping[int, Item]
) -> dict[Moment, Text]:
    """What memories said at these moments. ``known`` are those that still exist.

    What was forgotten, erased or taken back is not said, nor what others wrote before they last
    changed it.
    """
    now = memory.database.clock()
    told = {one: _hidden(one.id, known.get(one.id), now) for one in moments}
    then: dict[Moment, _Span] = {}
    for item_id in {one.id for one, hidden in told.items() if hidden is None}:
        item = known[item_id]
        asked = [one for one in moments if one.id == item_id]
        spans: Sequence[_Span] = [_Span(0, item.content)]
        if any(one.at < item.updated_at for one in asked):
            spans = _spans(memory, item)
        for one in asked:
            then[one] = _span_at(spans, one.revision)
    kept = {span.kept_as for span in then.values() if span.kept_as is not None}
    shown = {one.id for one in _read(memory, kept) if _hidden(one.id, one, now) is None}
    for one, span in then.items():
        is_shown = span.content is not None and (span.kept_as is None or span.kept_as in shown)
        told[one] = Text(one.id, span.content) if is_shown else Text(one.id, None, NOT_KEPT)
    return {one: text for one, text in told.items() if text is not None}


def _hidden(item_id: int, item: Item | None, now: datetime) -> Text | None:
    """Why nothing is said of a memory any more; None where it is there."""
    if item is None:
        return Text(item_id, None, _NO_LONGER)
    if item.status is Status.DELETED:
        return Text(item_id, None, _FORGOTTEN)
    return Text(item_id, None, _EXPIRED) if is_expired(item, now) else None


def _read(memory: UserMemory, ids: Iterable[int]) -> tuple[Item, ...]:
    return memory.get_many(sorted(ids), include_deleted=True)


def _spans(memory: UserMemory, item: Item) -> Sequence[_Span]:
    """The texts of a memory, the latest first.

    History keeps the text before each update, so it is read backwards from the present one. That
    of an update which was undone is gone.
    """
    try:
        changes = memory.history(item.id, limit=limits.MAX_CHANGES)
    except MemoryNotFound:  # meanwhile
        return []
    text: str | None = item.content
    kept_as: int | None = None
    undone: dict[int, tuple[str | None, int | None]] = {}
    spans = []
    for change in reversed(changes):
        spans.append(_Span(change.revision, text, kept_as))
        if change.revision in undone:
            text, kept_as = undone.pop(change.revision)
        elif change.event is Event.UPDATE:
            text, kept_as = _before(change, text, kept_as)
        elif change.event is Event.UNDO and change.other_user is not None:
            text = None  # of somebody else, who does not say what it was
        elif change.event is Event.UNDO and change.old_ref is not None:
            undone[change.meta.get(UNDONE_REVISION, 0)] = text, kept_as
            text = None
    is_whole = len(changes) < limits.MAX_CHANGES
    return [*spans, _Span(0, text if is_whole else None, kept_as)]


def _before(change: Change, text: str | None, kept_as: int | None) -> tuple[str | None, int | None]:
    if change.before is None:
        return None, None
    if "content" not in change.before:
        return text, kept_as
    content: Any = change.before["content"]
    return (content if isinstance(content, str) else None), change.old_ref


def _span_at(spans: Sequence[_Span], revision: int) -> _Span:
    """The last one that begins at or before a revision."""
    return next((one for one in spans if one.since <= revision), _Span(0, None))
