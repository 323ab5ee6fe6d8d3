"""The stores that the same tests run against, and what the reference does otherwise."""

from collections.abc import Iterable

from langgraph.store.base import BaseStore, Item
from langgraph.store.memory import InMemoryStore

from ricordo.testing.embedder import WordEmbedder


def reference_store() -> BaseStore:
    """LangGraph's own store, with the same vectors of words as our tests have."""
    embedder = WordEmbedder()

    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(one) for one in vector] for vector in embedder.embed(texts)]

    return InMemoryStore(index={"dims": embedder.width, "embed": embed})


def names(found: Iterable[Item]) -> list[tuple[tuple[str, ...], str]]:
    """What names the items of a search."""
    return [(one.namespace, one.key) for one in found]
