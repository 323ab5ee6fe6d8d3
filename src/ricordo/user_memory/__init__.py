"""One user's memory: every operation that belongs to a user, bound to one scope.

Each method checks what it is given, opens one transaction and delegates to the room that has the
rule. Nothing here depends on which database is underneath. There is a file for each kind of
operation; ``UserMemory`` is all of them.
"""

from collections.abc import Iterable
from typing import Self

from ricordo.user_memory.base import within_categories
from ricordo.user_memory.conversations import ConversationOperations
from ricordo.user_memory.maintenance import MaintenanceOperations
from ricordo.user_memory.memories import MemoryOperations
from ricordo.user_memory.proposals import ProposalOperations
from ricordo.user_memory.recall import RecallOperations

__all__ = ["UserMemory"]


class UserMemory(
    MemoryOperations,
    RecallOperations,
    ConversationOperations,
    ProposalOperations,
    MaintenanceOperations,
):
    """What one user remembers. Made by ``Memory.user``; cheap, holds no connection."""

    @within_categories
    def narrow(
        self,
        *,
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        role: str | None = None,
        categories: Iterable[str] | str | None = None,
    ) -> Self:
        """The same user's memory with more of the scope fixed.

        With ``categories`` only what is filed under those themes can be read and written, and what
        is filed under none (conversations, the profile, the change feed) not at all.

        Raises:
            ScopeWidened: a part that is already fixed would become another, or a category would
                be added.
        """
        scope = self.scope.narrow(
            agent_id=agent,
            thread_id=thread,
            run_id=run,
            actor_id=actor,
            role=role,
            categories=categories,
        )
        return type(self)(self.parts, scope)
