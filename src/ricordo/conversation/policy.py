"""The settings that long conversations depend on."""

from dataclasses import dataclass
from datetime import datetime, tzinfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPolicy:
    """How many turns are shown as they were said, and whose midnight ends a day.

    At ``window_turns`` the oldest are told in short, and ``kept_turns`` stay.
    """

    window_turns: int
    kept_turns: int
    zone: tzinfo

    @property
    def stretch_turns(self) -> int:
        """How many turns one summary tells."""
        return self.window_turns - self.kept_turns

    def day_of(self, moment: datetime) -> str:
        """The day of the log to which a moment belongs."""
        return moment.astimezone(self.zone).date().isoformat()
