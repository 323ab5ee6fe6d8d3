"""One user's memory: every operation that belongs to a user, bound to one scope.

Each method checks what it is given, opens one transaction and delegates to the room that has the
rule. Nothing here depends on which database is underneath. There is a file for each kind of
operation; ``UserMemory`` is all of them.
"""

from collections.abc import Iterable
from typing import Self

from ricordo.user_memory.activity import Activity
from ricordo.user_memory.adding import Adding
from ricordo.user_memory.changing import Changing
from ricordo.user_memory.consent import Consent
from ricordo.user_memory.conversations import Conversations
from ricordo.user_memory.embeddings import Embeddings
from ricordo.user_memory.files import Files
from ricordo.user_memory.forming import Forming
from ricordo.user_memory.graphing import Graphing
from ricordo.user_memory.long_conversations import LongConversations
from ricordo.user_memory.mirroring import Mirroring
from ricordo.user_memory.origins import Origins
from ricordo.user_memory.profiling import Profiling
from ricordo.user_memory.prompting import Prompting
from ricordo.user_memory.reading import Reading
from ricordo.user_memory.searching import Searching
from ricordo.user_memory.sharing import Sharing
from ricordo.user_memory.states import States
from ricordo.user_memory.upkeeping import Upkeeping

__all__ = ["UserMemory"]


class UserMemory(
    Adding,
    Searching,
    Graphing,
    Reading,
    Changing,
    Sharing,
    Conversations,
    Origins,
    LongConversations,
    Prompting,
    Forming,
    Consent,
    Profiling,
    Upkeeping,
    Activity,
    Embeddings,
    States,
    Mirroring,
    Files,
):
    """What one user remembers. Made by ``Memory.user``; cheap, holds no connection."""

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
