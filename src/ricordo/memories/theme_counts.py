"""How many memories each theme of a user has, counted once for as long as nothing is written."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from ricordo.frozen import dataclass
from ricordo.index.cache import LruCache
from ricordo.memories.lookup import read_theme_counts
from ricordo.storage.database import ReadTransaction
from ricordo.storage.history import user_version
from ricordo.storage.items import has_ended
from ricordo.storage.where import Audience

_USERS_REMEMBERED: Final = 1_024

UserVersion = tuple[int, int]
"""A user's revision and generation; the latter differs for a new user with an erased one's name."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Cached(Generic[Value]):
    """Something known of a user, as of a version and a time."""

    version: UserVersion
    at: datetime
    value: Value


def is_current(view: ReadTransaction, user_id: str, cached: Cached[Any]) -> bool:
    """Whether nothing was written since, and no memory has expired."""
    if user_version(view.connection, user_id) != cached.version:
        return False
    return not has_ended(view.connection, user_id, cached.at, view.now)


class ThemeCounts:
    """Counting reads all of a user's memories. Thread-safe."""

    def __init__(self) -> None:
        self._own: LruCache[tuple[str, str | None], Cached[Mapping[str, int]]] = LruCache(
            _USERS_REMEMBERED
        )

    def own(
        self, view: ReadTransaction, user_id: str, project: str | None = None
    ) -> Mapping[str, int]:
        """The active memories that are a user's own, by theme; with a ``project``, those of it and
        of none."""
        known = self._own.get((user_id, project))
        if known is None or not is_current(view, user_id, known):
            version = user_version(view.connection, user_id)
            own = Audience(user_id, project=project)
            known = Cached(version, view.now, read_theme_counts(view, own))
            self._own.put((user_id, project), known)
        return known.value

    def seen(self, view: ReadTransaction, audience: Audience, user_id: str) -> Mapping[str, int]:
        """Also those of others, which can change without the user."""
        if audience.sees_others:
            return read_theme_counts(view, audience)
        return self.own(view, user_id, audience.project)
