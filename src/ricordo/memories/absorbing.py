"""One stored memory in place of others: it stays as it is, they are closed and kept.

What the others had more of goes to it: importance, tags, how often they were recalled and when they
were last verified. As it was said again, it counts as changed now. The existing
:func:`ricordo.memories.replacing.undo` takes all of that back, whichever is named:

- what was absorbed comes back as it was;
- the survivor gets its former importance and tags back, unless it was updated since: then the
  later update is what it says and stays;
- the recalls that were added to the survivor's are taken off again, those since then stay; so
  does a verification since then.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.errors import IllegalTransition, InvalidValue
from ricordo.limits import MAX_MERGED_ITEMS, MAX_TAGS
from ricordo.memories.owning import own_item
from ricordo.memories.recording import record_change
from ricordo.memories.undo_plan import MADE, MERGED_IDS, TAKEN_UP
from ricordo.model.item import Item, check_step
from ricordo.model.record import plain
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, Status
from ricordo.storage.items import changed_at, update_item
from ricordo.storage.links import viewers_of
from ricordo.storage.relations import remove_relations
from ricordo.storage.transaction import Writing


def absorb(
    writing: Writing,
    scope: Scope,
    survivor_id: int,
    absorbed_ids: Sequence[int],
    event: Event,
    reason: str | None,
) -> Item:
    """Let a memory take the place of others of the same user; the memory as it stands now.

    ``event`` says whether they said the same (``MERGE``) or were outdated (``SUPERSEDE``). Each is
    closed at the survivor's start where that is later than its own, and else now.

    Raises:
        InvalidValue: nothing, too much or the survivor itself would be absorbed.
        IllegalTransition: one of them is not active.
        MemoryNotFound, NotOwner.
    """
    listed = list(dict.fromkeys(absorbed_ids))
    if not listed or survivor_id in listed or len(listed) > MAX_MERGED_ITEMS:
        raise InvalidValue(
            "absorbed_ids", f"must name 1 to {MAX_MERGED_ITEMS} memories besides the survivor"
        )
    survivor = own_item(writing, scope, survivor_id)
    if survivor.status is not Status.ACTIVE:
        raise IllegalTransition(f"memory {survivor.id} is {survivor.status}, not active")
    absorbed = [own_item(writing, scope, one) for one in listed]
    for one in absorbed:
        check_step(one.id, one.status, Status.SUPERSEDED)
        ended = _end(one, survivor, writing.now)
        at = changed_at(writing, one)
        closed = {"status": Status.SUPERSEDED, "valid_to": ended, "updated_at": at}
        update_item(writing, one, closed)
    # Recorded first, so that for an undo the replacement is the later of the two.
    grown = _grown(writing, scope, survivor, absorbed, reason)
    for one in absorbed:
        grown = _with_recalls(writing, scope, grown, one, listed, event, reason)
    remove_relations(writing, listed)
    return grown


def _end(absorbed: Item, survivor: Item, now: datetime) -> datetime:
    """When what was absorbed ceased to hold; never before it began."""
    begun_later = survivor.valid_from > absorbed.valid_from
    ended = survivor.valid_from if begun_later else max(now, absorbed.valid_from)
    return ended if absorbed.valid_to is None else min(absorbed.valid_to, ended)


def _grown(
    writing: Writing, scope: Scope, survivor: Item, absorbed: Sequence[Item], reason: str | None
) -> Item:
    """The survivor with the highest importance and all tags, noted as an update if it changes."""
    importance = max(item.importance for item in (survivor, *absorbed))
    tags = survivor.tags
    # What others see of a shared memory must not tell them of one that they never saw.
    if not viewers_of(writing.connection, writing.user_id, survivor.id):
        every = (tag for item in (survivor, *absorbed) for tag in item.tags)
        tags = tuple(dict.fromkeys(every))[: max(MAX_TAGS, len(survivor.tags))]
    if (importance, tags) == (survivor.importance, survivor.tags):
        return survivor
    values: dict[str, Any] = {
        "importance": importance,
        "tags": tags,
        "updated_at": changed_at(writing, survivor),
    }
    update_item(writing, survivor, values)
    record_change(
        writing,
        survivor,
        Event.UPDATE,
        actor=scope.actor,
        reason=reason,
        meta={MERGED_IDS: [one.id for one in absorbed]},
        before={"importance": survivor.importance, "tags": list(survivor.tags)},
    )
    return replace(survivor, **values)


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((at for at in (one, other) if at is not None), default=None)


def _with_recalls(
    writing: Writing,
    scope: Scope,
    survivor: Item,
    absorbed: Item,
    together: Sequence[int],
    event: Event,
    reason: str | None,
) -> Item:
    """Add the recalls of one that was absorbed to the survivor's, and record what happened."""
    values: dict[str, Any] = {
        "access_count": survivor.access_count + absorbed.access_count,
        "last_accessed_at": _later(survivor.last_accessed_at, absorbed.last_accessed_at),
        "last_verified_at": _later(survivor.last_verified_at, absorbed.last_verified_at),
        # It was said again, and is not to be forgotten for that.
        "updated_at": changed_at(writing, survivor),
    }
    update_item(writing, survivor, values)
    taken_up = {
        "access_count": absorbed.access_count,
        "last_accessed_at": plain(survivor.last_accessed_at),
        "last_verified_at": plain(survivor.last_verified_at),
    }
    merged = {MERGED_IDS: list(together)} if event is Event.MERGE else {}
    record_change(
        writing,
        absorbed,
        event,
        actor=scope.actor,
        reason=reason,
        old_ref=absorbed.id,
        new_ref=survivor.id,
        meta={MADE: False, TAKEN_UP: taken_up, **merged},
        before={"valid_to": plain(absorbed.valid_to)},
    )
    return replace(survivor, **values)
