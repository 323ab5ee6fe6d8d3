"""Finding the memories that are files: a user's own active ones with a key, in their theme."""

from typing import Final

import sqlalchemy as sa

from ricordo.model.item import Item
from ricordo.model.vocabulary import Status
from ricordo.storage.database import Reading
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.transaction import Writing
from ricordo.storage.where import Condition, not_expired
from ricordo.tools.memory_files.paths import is_file_key

FILES_THEME: Final = "memory-files"
_AFTER_SLASH: Final = chr(ord("/") + 1)

View = Reading | Writing


def find_file(view: View, user_id: str, key: str) -> Item | None:
    """The file that has this key, if any."""
    found = find_items(view.connection, _are_files(view, user_id) & (items.c.key == key))
    return found[0] if found else None


def files_in(view: View, user_id: str, directory: str) -> list[Item]:
    """All files below a directory, by key; none that a path cannot name."""
    within = sa.and_(items.c.key > f"{directory}/", items.c.key < f"{directory}{_AFTER_SLASH}")
    found = find_items(view.connection, _are_files(view, user_id) & within)
    reachable = [item for item in found if is_file_key(item.key)]
    return sorted(reachable, key=lambda item: item.key or "")


def count_files(view: View, user_id: str) -> int:
    """How many files there are."""
    counted = sa.select(sa.func.count()).select_from(items).where(_are_files(view, user_id))
    return int(view.connection.execute(counted).scalar_one())


def _are_files(view: View, user_id: str) -> Condition:
    return sa.and_(
        items.c.user_id == user_id,
        items.c.theme == FILES_THEME,
        items.c.status == Status.ACTIVE.value,
        items.c.key.is_not(None),
        not_expired(view.now),
    )
