"""Themes with their counts, and the narrative: dear to make, the same until something changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ricordo.formation.narrative import TEMPLATE, current_summary
from ricordo.index.recent import Recent
from ricordo.memories.lookup import read_theme_counts, read_themes
from ricordo.model.item import Theme
from ricordo.storage.database import Database, Reading
from ricordo.storage.history import standing_of
from ricordo.storage.items import has_ended
from ricordo.storage.themes import find_summary
from ricordo.storage.where import Audience, audience_of

_USERS_REMEMBERED: Final = 1_024
_RUNS_REMEMBERED: Final = 1_024


Standing = tuple[int, int]
"""Where a user's memories stood; another one for whoever has the name of somebody erased."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many memories each theme has, as of a standing and a time."""

    standing: Standing
    at: datetime
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Told:
    """A narrative, as of a standing and a time."""

    standing: Standing
    at: datetime
    text: str


class Known:
    """Remembers what was told of users until their memories change. Safe from many threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: Recent[str, _Counted] = Recent(_USERS_REMEMBERED)
        self._told: Recent[str, _Told] = Recent(_USERS_REMEMBERED)
        self._of_run: Recent[tuple[str, str, int], tuple[Theme, ...]] = Recent(_RUNS_REMEMBERED)

    def themes_for_run(self, user_id: str, run_id: str | None) -> tuple[Theme, ...]:
        """The themes, for hints: within one run of an agent they stay as they were."""
        if run_id is None:
            return self.themes(user_id)
        with self._database.read(user_id) as view:
            _, epoch = standing_of(view.connection, user_id)
        themes = self._of_run.get((user_id, run_id, epoch))
        if themes is None:
            themes = self.themes(user_id)
            self._of_run.put((user_id, run_id, epoch), themes)
        return themes

    def themes(self, user_id: str) -> tuple[Theme, ...]:
        """A user's themes, the most used first."""
        with self._database.read(user_id) as view:
            until = self._database.policy.global_until
            audience = audience_of(view.connection, user_id, until, view.now)
            counts = self._counts(view, audience, user_id)
            return tuple(read_themes(view, audience, user_id, counts))

    def narrative(self, user_id: str) -> str:
        """What is known of a user; nothing where nothing is."""
        told = self._told.get(user_id)
        with self._database.read(user_id) as view:
            standing = standing_of(view.connection, user_id)
            if told is not None and self._still_holds(view, user_id, told.standing, told.at):
                stored = find_summary(view.connection, user_id)
                if stored is None or stored["made_by"] == TEMPLATE:
                    return told.text
        known = current_summary(self._database, user_id)
        if known is None:
            return ""
        # One that a model has written is stored, and may be written anew for the same revision.
        if known.made_by == TEMPLATE and known.is_current and known.revision == standing[0]:
            self._told.put(user_id, _Told(standing, known.updated_at, known.content))
        return known.content

    def _counts(self, view: Reading, audience: Audience, user_id: str) -> Mapping[str, int]:
        """Counting walks over all of a user's memories, so it is not done for every prompt."""
        if audience.has_links or audience.sees_global:  # others can change what is seen
            return read_theme_counts(view, audience)
        known = self._counted.get(user_id)
        if known is None or not self._still_holds(view, user_id, known.standing, known.at):
            standing = standing_of(view.connection, user_id)
            known = _Counted(standing, view.now, read_theme_counts(view, audience))
            self._counted.put(user_id, known)
        return known.counts

    def _still_holds(self, view: Reading, user_id: str, standing: Standing, at: datetime) -> bool:
        """Whether nothing was written since, and no memory has come to its end."""
        if standing_of(view.connection, user_id) != standing:
            return False
        return not has_ended(view.connection, user_id, at, view.now)
