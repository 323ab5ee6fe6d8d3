"""Memories and how they are related, as a picture would show it."""

from dataclasses import dataclass

from ricordo.model.item import Item
from ricordo.model.record import Record


@dataclass(frozen=True, slots=True)
class RelationEdge(Record):
    """Two memories that are about the same, the lower id first, and how similar they are."""

    one: int
    other: int
    similarity: float


@dataclass(frozen=True, slots=True)
class RelationGraph(Record):
    """Memories, the most connected first, and the relations among them, the closest first.

    ``more`` says that others were left out.
    """

    memories: tuple[Item, ...]
    relations: tuple[RelationEdge, ...]
    more: bool
