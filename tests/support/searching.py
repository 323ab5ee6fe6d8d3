"""Stores to search in: each database, with the index in memory and inside the database."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ricordo import Memory
from ricordo.testing import WordEmbedder

ENGINES: dict[str, dict[str, Any]] = {
    "indexes": {"index_cache_mb": 512},
    "database": {"index_cache_mb": 0, "exact_scan_rows": 0},
}
# As wide as the shipped model's vectors: PostgreSQL has an index for these.
WIDTH = 384


@dataclass(frozen=True)
class Searching:
    """An empty store on one database with one of the two engines."""

    url: str
    engine: str
    open_store: Callable[..., Memory]

    def open(self, **settings: Any) -> Memory:
        """Open it, once more if need be."""
        chosen = {"embedder": WordEmbedder(WIDTH), **ENGINES[self.engine], **settings}
        return self.open_store(self.url, **chosen)
