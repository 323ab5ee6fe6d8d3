"""Doing what was decided about a pair, if it is still as it was when that was decided."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ricordo.memories.lifecycle import SYSTEM_ACTED, is_expired
from ricordo.memories.replacement import absorb
from ricordo.model.item import Item
from ricordo.model.reports import (
    CONSOLIDATION_LINKED,
    CONSOLIDATION_MERGED,
    CONSOLIDATION_PAIRS,
    CONSOLIDATION_SUPERSEDED,
    PairAction,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Event, EventStatus, Status
from ricordo.storage.daily_counters import tally, tally_of
from ricordo.storage.database import Database, retried
from ricordo.storage.history import put_events
from ricordo.storage.items import items_by_id, replaced_before, shared_among
from ricordo.storage.relations import add_relations, note_checked
from ricordo.storage.transaction import Writing
from ricordo.storage.users import note_upkeep
from ricordo.upkeep.consolidating.deciding import Ruling

NODE: Final = "consolidation"
_HISTORY: Final = {PairAction.MERGE: Event.MERGE, PairAction.SUPERSEDE: Event.SUPERSEDE}
_COUNTERS: Final = {
    PairAction.MERGE: CONSOLIDATION_MERGED,
    PairAction.SUPERSEDE: CONSOLIDATION_SUPERSEDED,
    PairAction.LINK: CONSOLIDATION_LINKED,
}
_DECIDED_BY: Final = (
    "content",
    "theme",
    "type",
    "key",
    "agent_id",
    "source",
    "valid_from",
    "valid_to",
    "expires_at",
)


class Applier:
    """Writes what consolidation decides: each replacement in a transaction of its own, pairs of
    which both stay together in one."""

    def __init__(self, database: Database, daily_pairs: int) -> None:
        self.database = database
        self._daily_pairs = daily_pairs

    @retried
    def apply(self, user_id: str, ruling: Ruling) -> bool:
        """Let one memory take the other's place and note that the pair was looked at, all in one;
        False where it was dropped.

        It is dropped where either memory has changed since, or the day's pairs are used up.
        """
        ids = [ruling.kept.id, ruling.other.id]
        with self.database.write(user_id, touching=ids) as writing:
            if not self._still_holds(writing, ruling):
                return False
            absorb(
                writing,
                Scope(user_id, actor_id=SYSTEM_ACTED),
                ruling.kept.id,
                [ruling.other.id],
                _HISTORY[ruling.action],
                ruling.reason,
            )
            _note(writing, [ruling])
        return True

    @retried
    def note(self, user_id: str, rulings: Sequence[Ruling]) -> list[Ruling]:
        """Link and note pairs of which both stay, all in one; those that were not dropped."""
        ids = {item.id for ruling in rulings for item in (ruling.kept, ruling.other)}
        with self.database.write(user_id) as writing:
            found = items_by_id(writing.connection, [(user_id, one) for one in sorted(ids)])
            holding = [
                ruling
                for ruling in rulings
                if all(
                    _is_as_decided(found.get(item.id), item, writing.now)
                    for item in (ruling.kept, ruling.other)
                )
            ][: self._left_today(writing)]
            links = [one for one in holding if one.action is PairAction.LINK]
            add_relations(
                writing, [(one.kept.id, one.other.id, one.pair.similarity) for one in links]
            )
            _note(writing, holding)
        return holding

    @retried
    def finish(self, user_id: str, waiting_since: datetime | None) -> None:
        """Note that a user's consolidation came to its end, and whether pairs were left."""
        with self.database.write(user_id) as writing:
            note_upkeep(writing, consolidated_at=writing.now, pairs_wait_since=waiting_since)

    @retried
    def leave(self, user_id: str, waiting_since: datetime) -> None:
        """Note that a user's consolidation could not come to its end, and what it looked at."""
        with self.database.write(user_id) as writing:
            note_upkeep(writing, pairs_wait_since=waiting_since)

    def _still_holds(self, writing: Writing, ruling: Ruling) -> bool:
        if not self._left_today(writing):
            return False
        ids = [ruling.kept.id, ruling.other.id]
        found = items_by_id(writing.connection, [(writing.user_id, one) for one in ids])
        as_decided = all(
            _is_as_decided(found.get(item.id), item, writing.now)
            for item in (ruling.kept, ruling.other)
        )
        return (
            as_decided
            and not found[ruling.other.id].pinned
            and not shared_among(writing.connection, writing.user_id, [ruling.other.id])
            and not replaced_before(writing.connection, writing.user_id, ids)
        )

    def _left_today(self, writing: Writing) -> int:
        looked_at = tally_of(writing.connection, writing.user_id, writing.now, CONSOLIDATION_PAIRS)
        return max(0, self._daily_pairs - looked_at)


def _is_as_decided(now: Item | None, then: Item, moment: datetime) -> bool:
    """True of a memory that is active and says what it said when it was looked at."""
    if now is None or now.status is not Status.ACTIVE or is_expired(now, moment):
        return False
    return all(getattr(now, name) == getattr(then, name) for name in _DECIDED_BY)


def _note(writing: Writing, rulings: Sequence[Ruling]) -> None:
    """Note that these pairs were looked at, and what became of them."""
    counts = Counter({CONSOLIDATION_PAIRS: len(rulings)})
    happened: list[dict[str, Any]] = []
    for ruling in rulings:
        kept, other = ruling.kept.id, ruling.other.id
        note_checked(writing, kept, other, ruling.pair.fingerprint, ruling.action.value)
        if ruling.action in _COUNTERS:
            counts[_COUNTERS[ruling.action]] += 1
        happened.append(
            {
                "node": NODE,
                "op": ruling.action.value,
                "status": EventStatus.OK.value,
                "item_id": kept,
                "similarity": round(ruling.pair.similarity, 4),
                "detail": f"beside memory {other}",
            }
        )
    tally(writing, counts)
    put_events(writing, happened)
