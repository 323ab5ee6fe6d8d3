"""API keys of the service."""

from dataclasses import dataclass, field
from datetime import datetime

from ricordo.model.record import Record
from ricordo.model.vocabulary import KeyKind, Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(Record):
    """What is known of a key; the secret part itself is kept nowhere.

    ``user_id`` is the one user whom a key of a user or an agent acts for; a service's key acts for
    whom each request names. ``categories`` are what an agent's key can read and write; None for
    whatever the policy file allows the agent.
    """

    id: str
    name: str
    kind: KeyKind
    user_id: str | None
    agent_id: str | None
    categories: tuple[str, ...] | None
    permissions: tuple[Permission, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Whether the key opens at this moment: it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedKey(Record):
    """A new key with its ``secret``, which is what callers send. It is shown this once."""

    key: ApiKey
    secret: str = field(repr=False)
