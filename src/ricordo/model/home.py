"""What making a home folder has made."""

from dataclasses import dataclass

from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeReport(Record):
    """What was made of a user's home folder, and what was there before, by path."""

    folder: str
    user: str
    database: str
    made: tuple[str, ...]
    present: tuple[str, ...]
