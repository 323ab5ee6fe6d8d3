"""One description of each operation, from which every surface is derived.

There is a file for each kind of operation; importing the package describes all of them, in the
order in which the API shows them.
"""

from ricordo.operations import conversations, maintenance, memories, proposals, recall, store

# isort: split
from ricordo.operations import groups, webhooks

__all__ = ["conversations", "groups", "maintenance", "memories", "proposals", "recall", "store"]
__all__ += ["webhooks"]
