"""How far each user's upkeep has come."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ricordo.storage.tables import upkeep
from ricordo.storage.writing import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepState:
    """When each part of a user's upkeep was last done.

    ``tended_since`` is since when somebody looks after these memories, where that is later than
    the memories themselves. ``pairs_wait_since`` is from when on there are changes that
    consolidation has not come to yet. ``related_after`` is the memory up to which relations have
    been refreshed in this turn.
    """

    tended_since: datetime | None = None
    upkept_at: datetime | None = None
    consolidated_at: datetime | None = None
    pairs_wait_since: datetime | None = None
    insights_at: datetime | None = None
    related_after: int = 0


_NAMES = tuple(field.name for field in fields(UpkeepState))


def upkeep_state(connection: sa.Connection, user_id: str) -> UpkeepState:
    """How far a user's upkeep has come; nothing of it at first."""
    wanted = sa.select(*[upkeep.c[name] for name in _NAMES]).where(upkeep.c.user_id == user_id)
    row = connection.execute(wanted).mappings().first()
    return UpkeepState() if row is None else UpkeepState(**row)


def note_upkeep(writing: Writing, **done: Any) -> None:
    """Note what was done for the writing user, by the fields of :class:`UpkeepState`.

    Upkeep makes nobody a user: work for somebody who was erased meanwhile leaves no trace.
    """
    if writing.is_first and not writing.keeps_user:
        return
    own = upkeep.c.user_id == writing.user_id
    changed = writing.connection.execute(sa.update(upkeep).where(own).values(**done)).rowcount
    if not changed:
        first = {"related_after": 0, **done, "user_id": writing.user_id}
        writing.connection.execute(sa.insert(upkeep).values(**first))
