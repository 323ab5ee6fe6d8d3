"""The headings under which memories are filed."""

from dataclasses import dataclass
from datetime import datetime

from ricordo.model.record import Record
from ricordo.model.vocabulary import ContextPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme(Record):
    """A heading with the number of active memories that its user sees under it."""

    slug: str
    display_name: str
    description: str | None
    context: ContextPolicy
    rag_length: int | None
    created_at: datetime
    updated_at: datetime
    active_count: int = 0
