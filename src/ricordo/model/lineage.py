"""Which memories took the place of which."""

from dataclasses import dataclass

from ricordo.model.item import Item
from ricordo.model.record import Record
from ricordo.model.vocabulary import Undoable


@dataclass(frozen=True, slots=True)
class Lineage(Record):
    """Where a memory stands among those that replaced each other.

    ``successor`` stands in its place now; ``predecessors`` are those whose place it took and still
    has, the latest first. ``undoable`` is what an undo of it would take back, None where there is
    nothing. An undo can still be refused where another memory has taken the place meanwhile.
    """

    successor: Item | None = None
    predecessors: tuple[Item, ...] = ()
    undoable: Undoable | None = None
