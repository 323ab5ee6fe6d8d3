"""Whom each user has named: found in their own active memories, and cached beside their index."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from ricordo.frozen import dataclass, field
from ricordo.index.cache import LruCache
from ricordo.model.vocabulary import MemoryType
from ricordo.storage.database import ReadTransaction
from ricordo.storage.search_rows import (
    NOTHING_INDEXED,
    IndexPosition,
    active_among,
    memory_texts,
    position_in,
)
from ricordo.text.names import Names
from ricordo.text.namings import Naming, namings

_USERS: Final = 2_000
_MOST_SELECTIONS: Final = 16
_NOT_SAID: Final = (MemoryType.INSIGHT.value, MemoryType.PROCEDURE.value)
"""Conclusions, and what agents noted for themselves."""

_Within = tuple[frozenset[str] | None, str | None]
"""The themes that something was said in, and the project: None for all."""


@dataclass(frozen=True, slots=True)
class _Statement:
    said: tuple[Naming, ...]
    theme: str
    expires_at: datetime | None
    project: str | None


@dataclass(frozen=True, slots=True)
class _Known:
    """What a user's memories say at a position; ``said`` of all, ``statements`` of active ones."""

    position: IndexPosition
    said: Mapping[int, tuple[Naming, ...]]
    statements: tuple[_Statement, ...]
    made: dict[_Within, tuple[Names, datetime | None]] = field(default_factory=dict)
    """The names by where they were said, and until when they hold."""


class UserNames:
    """Thread- and fork-safe: what is known of a user is replaced as a whole."""

    def __init__(self) -> None:
        self._known: LruCache[str, _Known] = LruCache(_USERS)

    def of(
        self,
        view: ReadTransaction,
        user_id: str,
        themes: Collection[str] | None = None,
        project: str | None = None,
    ) -> Names:
        """The names that a user's memories give; with ``themes``, those filed there alone, with a
        ``project`` those of it and of none."""
        position = position_in(view, user_id)
        if position == NOTHING_INDEXED:
            self.forget(user_id)
            return Names()
        known = self._known.get(user_id)
        if known is None or not _is_current(known, position):
            known = _brought_up_to_date(view, user_id, known, position)
            self._known.put(user_id, known)
        within = _within(themes, project)
        names, until = known.made.get(within, (None, None))
        if names is None or (until is not None and view.now >= until):
            names, until = _made(known, within, view.now)
            if len(known.made) < _MOST_SELECTIONS:
                known.made[within] = names, until
        return names

    def last(
        self, user_id: str, themes: Collection[str] | None = None, project: str | None = None
    ) -> Names | None:
        """Those that were given last, without a look at what is stored; None where none were."""
        known = self._known.get(user_id)
        if known is None:
            return None
        names, _ = known.made.get(_within(themes, project), (None, None))
        return names

    def forget(self, user_id: str) -> None:
        self._known.drop(user_id)


def _is_current(known: _Known, position: IndexPosition) -> bool:
    """True if it has everything in this view; it may have more, like an index."""
    same = known.position.created == position.created
    return same and known.position.revision >= position.revision


def _brought_up_to_date(
    view: ReadTransaction, user_id: str, known: _Known | None, position: IndexPosition
) -> _Known:
    said: dict[int, tuple[Naming, ...]] = {}
    since = 0
    if known is not None and known.position.created == position.created:
        said |= known.said
        since = known.position.stamp
    for page in memory_texts(view.connection, user_id, since):
        for item_id, content in page:
            said.pop(item_id, None)
            if found := namings(content):
                said[item_id] = tuple(found)
    active = active_among(view.connection, user_id, said) if said else []
    kept = [
        _Statement(said[item_id], theme, expires_at, project)
        for item_id, theme, kind, expires_at, project in active
        if kind not in _NOT_SAID
    ]
    return _Known(position, said, tuple(kept))


def _within(themes: Collection[str] | None, project: str | None) -> _Within:
    return None if themes is None else frozenset(themes), project


def _made(known: _Known, within: _Within, now: datetime) -> tuple[Names, datetime | None]:
    themes, project = within
    chosen = [
        one
        for one in known.statements
        if (themes is None or one.theme in themes)
        and (project is None or one.project in (None, project))
        and (one.expires_at is None or one.expires_at > now)
    ]
    ends = [one.expires_at for one in chosen if one.expires_at is not None]
    return Names(naming for one in chosen for naming in one.said), min(ends, default=None)
