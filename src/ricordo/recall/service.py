"""Everything that searching needs, put together once per store."""

from dataclasses import dataclass

from ricordo.access.reloading import PolicyFile
from ricordo.index.backfill import Filling
from ricordo.index.cache import Shelves
from ricordo.index.embedders import Embedders
from ricordo.index.relations import Relating
from ricordo.recall.accesses import AccessCounter
from ricordo.recall.memories import MemorySearch
from ricordo.recall.querying import Querying
from ricordo.recall.ranking import Ranking
from ricordo.recall.turns import TurnSearch
from ricordo.storage.database import Database


@dataclass(frozen=True, slots=True)
class Recall:
    """The parts of a store that find things."""

    embedders: Embedders
    shelves: Shelves
    memories: MemorySearch
    turns: TurnSearch
    relating: Relating
    accesses: AccessCounter
    filling: Filling
    querying: Querying

    @classmethod
    def of(
        cls,
        database: Database,
        embedders: Embedders,
        ranking: Ranking,
        policy: PolicyFile,
        *,
        cache_bytes: int,
        link_min: float,
        relations_per_memory: int,
    ) -> "Recall":
        """The parts for one store."""
        shelves = Shelves(cache_bytes)
        accesses = AccessCounter(database)
        relating = Relating(database, shelves, link_min, relations_per_memory)
        memories = MemorySearch(database, embedders, shelves, ranking, accesses)
        return cls(
            embedders,
            shelves,
            memories,
            TurnSearch(database, embedders, shelves, ranking),
            relating,
            accesses,
            Filling(database, embedders, relating),
            Querying(database, memories, policy),
        )
