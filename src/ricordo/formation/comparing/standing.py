"""What is already known that a new statement has to be held against."""

from dataclasses import dataclass
from typing import Final

from ricordo.formation.comparing.likeness import share_of_words
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Item
from ricordo.model.vocabulary import GLOBAL_OWNER, MemoryType, Status
from ricordo.recall.service import Recall
from ricordo.storage.database import Database
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.where import not_expired
from ricordo.text.analyser import Analyser

_NEIGHBOURS: Final = 8
STATEMENT_TYPES: Final = (
    MemoryType.PREFERENCE,
    MemoryType.FACT,
    MemoryType.INSTRUCTION,
    MemoryType.EPISODE,
    MemoryType.OTHER,
)
"""What statements are compared with. Insights and summaries are our own words."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory that the user sees and that is near what was said."""

    item: Item
    similarity: float

    def is_shared_with(self, user_id: str) -> bool:
        """True where it is another user's, linked to this one."""
        return self.item.user_id not in (user_id, GLOBAL_OWNER)

    @property
    def is_global(self) -> bool:
        """True where it belongs to everybody."""
        return self.item.user_id == GLOBAL_OWNER


class KnownMemories:
    """Looks up what is known, without counting as recalled."""

    def __init__(self, database: Database, recall: Recall) -> None:
        self._database = database
        self._recall = recall

    def near(self, user_id: str, content: str, kind: MemoryType) -> list[Standing]:
        """The memories nearest to a statement, the nearest first."""
        wanted = ItemFilter(
            statuses=(Status.ACTIVE,),
            types=(MemoryType.PROCEDURE,) if kind is MemoryType.PROCEDURE else STATEMENT_TYPES,
        )
        found = self._recall.memories.find(user_id, content, _NEIGHBOURS, wanted)
        near = [
            Standing(item, _similarity(ranked.candidate.cosine, content, item, self._analyser))
            for item, ranked in zip(found.items, found.ranked, strict=True)
        ]
        return sorted(near, key=lambda one: (-one.similarity, one.item.id))

    def with_key(self, user_id: str, key: str, theme: str | None) -> Item | None:
        """The user's memory that answers what the key asks; first the one in this theme."""
        with self._database.read(user_id) as view:
            where = (
                (items.c.user_id == user_id)
                & (items.c.key == key)
                & (items.c.status == Status.ACTIVE.value)
                & not_expired(view.now)
            )
            found = find_items(view.connection, where)
        return min(found, key=lambda item: (item.theme != theme, item.id), default=None)

    @property
    def _analyser(self) -> Analyser:
        return self._database.analyser


def _similarity(cosine: float | None, content: str, item: Item, analyser: Analyser) -> float:
    """By meaning; where there are no vectors to compare, by the share of words in common."""
    if cosine is not None:
        return cosine
    return share_of_words(analyser, content, item.content)
