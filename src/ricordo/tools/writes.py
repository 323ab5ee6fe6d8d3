"""What tools store for a model: as an agent's word, whoever's memory it is."""

from typing import Any

from ricordo.formation.agent_notes import propose_if_sensitive
from ricordo.model.draft import NewMemory
from ricordo.model.item import Added
from ricordo.model.proposal import Proposed
from ricordo.tools import showing
from ricordo.tools.tool import Answer
from ricordo.user_memory import UserMemory


def added_by_agent(user: UserMemory, **given: Any) -> Added | Proposed:
    """Store something, or propose it to the user where it is sensitive.

    Raises:
        InvalidValue: a value is not allowed, or it holds a secret.
        CategoryNotAllowed, ScopeWidened: it is not for this scope to write.
    """
    draft = {name: value for name, value in given.items() if name not in ("supersedes", "reason")}
    proposed = propose_if_sensitive(user.formation, user.scope, NewMemory.parse(draft))
    return user.add(**given) if proposed is None else proposed


def stored(user: UserMemory, **given: Any) -> Answer:
    """The same as a tool answers it."""
    kept = added_by_agent(user, **given)
    return showing.stored(kept) if isinstance(kept, Added) else showing.proposed(kept)
