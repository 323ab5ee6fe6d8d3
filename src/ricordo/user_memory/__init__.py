"""One user's memory: every operation that belongs to a user, bound to one scope.

Each method gets values that its description in ``operations/`` has checked, opens one transaction
and delegates to the room that has the rule. Nothing here depends on which database is underneath.
There is a file for each kind of operation; ``UserMemory`` is all of them.
"""

from typing import TYPE_CHECKING, Any

from ricordo.operations.operation import USER_OPERATIONS
from ricordo.user_memory.base import implements
from ricordo.user_memory.conversations import ConversationOperations
from ricordo.user_memory.maintenance import MaintenanceOperations
from ricordo.user_memory.memories import MemoryOperations
from ricordo.user_memory.proposals import GroupOperations, ProposalOperations
from ricordo.user_memory.recall import RecallOperations
from ricordo.user_memory.webhooks import WebhookOperations

__all__ = ["UserMemory"]


class UserMemory(
    MemoryOperations,
    RecallOperations,
    ConversationOperations,
    ProposalOperations,
    GroupOperations,
    WebhookOperations,
    MaintenanceOperations,
):
    """What one user remembers. Made by ``Memory.user``; cheap, holds no connection."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """An operation whose description says itself what it does."""
            operation = USER_OPERATIONS.get(name)
            if operation is None or operation.run is None:
                raise AttributeError(f"a user's memory has no {name!r}", name=name, obj=self)
            return implements(operation)(operation.run).__get__(self)
