"""Who is asking. Everything except administration goes through a scope."""

from dataclasses import dataclass, fields, replace
from typing import Self

from ricordo.errors import ScopeWidened
from ricordo.model import checks
from ricordo.model.vocabulary import GLOBAL_OWNER


@dataclass(frozen=True, slots=True)
class Scope:
    """One user, and optionally the agent, thread, run, actor and role that act for them.

    The user bounds what is read and written. The rest is stamped on what is written, and names
    the actor in history. A scope can be narrowed, never widened or turned into another.
    """

    user_id: str
    agent_id: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None

    def __post_init__(self) -> None:
        if self.user_id != GLOBAL_OWNER:
            checks.user_id(self.user_id)
        for field in fields(self)[1:]:
            checks.optional_reference(field.name, getattr(self, field.name))

    @property
    def actor(self) -> str:
        """The name under which this scope's writes stand in history."""
        return self.actor_id or self.agent_id or self.user_id

    def narrow(self, **given: str | None) -> Self:
        """The same scope with more of it fixed.

        Raises:
            ScopeWidened: a part that is already fixed would become another.
            UnknownField: a scope has no such part.
        """
        checks.known_fields("part of a scope", given, (field.name for field in fields(self)))
        added = {name: value for name, value in given.items() if value is not None}
        for name, value in added.items():
            present = getattr(self, name)
            if present is not None and present != value:
                raise ScopeWidened(f"this scope has {name} {present!r}; it cannot become {value!r}")
        return replace(self, **added)
