"""Which of a user's memories consolidation looks at, and what with."""

from datetime import datetime
from typing import Final

from ricordo.formation.conflicts import STATEMENT_TYPES
from ricordo.model.item import Item
from ricordo.model.vocabulary import MemoryType
from ricordo.storage.database import Reading
from ricordo.storage.items import items_by_id, pooled_ids

COMPARED_TYPES: Final = (*STATEMENT_TYPES, MemoryType.PROCEDURE)
"""Insights and summaries are our own words and never looked at."""


def types_beside(kind: MemoryType) -> tuple[MemoryType, ...]:
    """What a memory of this type is held against: procedures only against each other."""
    return (MemoryType.PROCEDURE,) if kind is MemoryType.PROCEDURE else STATEMENT_TYPES


def read_pool(view: Reading, user_id: str, changed_since: datetime) -> list[Item]:
    """The user's own memories that are worth a look.

    First what was changed since then, then what is often recalled, then what is important;
    nothing that nobody has touched for a season.
    """
    ids = pooled_ids(view.connection, user_id, COMPARED_TYPES, view.now, changed_since)
    found = items_by_id(view.connection, [(user_id, one) for one in ids])
    return [found[one] for one in ids if one in found]
