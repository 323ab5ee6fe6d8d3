"""What is known of a user, as one text."""

from dataclasses import dataclass
from datetime import datetime

from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Record):
    """The narrative of a user.

    It was made from the memories as of ``revision``; ``is_current`` says whether they have changed
    since. ``made_by`` is a model, or ``template``.
    """

    content: str
    revision: int
    made_by: str
    updated_at: datetime
    is_current: bool
