"""One description of each operation, from which every surface is derived.

There is a file for each kind of operation; importing the package describes all of them.
"""

from ricordo.operations import conversations, maintenance, memories, proposals, recall, store

__all__ = ["conversations", "maintenance", "memories", "proposals", "recall", "store"]
