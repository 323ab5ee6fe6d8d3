"""Who is asking: scopes, API keys, and what a user allowed programs."""

from collections.abc import Iterable
from dataclasses import field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from ricordo.errors import CategoryNotAllowed, InvalidValue, ScopeWidened
from ricordo.frozen import dataclass
from ricordo.model import checks
from ricordo.model.checks import category_slugs
from ricordo.model.group import checked_owner, group_of
from ricordo.model.record import Record
from ricordo.model.vocabulary import AccessScope, KeyKind, Permission, SharingRight, TokenKind

_NAMES: Final = ("agent_id", "thread_id", "run_id", "actor_id", "role", "project_id")


@dataclass(frozen=True, slots=True)
class Scope:
    """One user, and optionally the agent, thread, run, actor and role that act for them.

    The user bounds what is read and written. So do the ``categories``, if any: the scope can
    neither read nor write other themes. A ``project_id`` is stamped on what is written, and of what
    is read leaves out the user's other projects. The rest is stamped on what is written, and names
    the actor in history. A scope can be narrowed, never widened. ``is_agent`` marks an agent that
    has all categories.

    ``sharing`` overrides what it may do with shared memories; see :attr:`sharing_right`. In the
    space of a group, which is then the user, ``member_id`` is the user who acts, in their own name.
    """

    user_id: str
    agent_id: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    categories: frozenset[str] | None = None
    is_agent: bool = False
    sharing: SharingRight | None = None
    project_id: str | None = None
    member_id: str | None = None

    def __post_init__(self) -> None:
        checked_owner(self.user_id)
        if self.member_id is not None:
            self._check_member(self.member_id)
        for name in _NAMES:
            checks.optional_reference(name, getattr(self, name))
        if self.categories is not None:
            object.__setattr__(self, "categories", category_slugs(self.categories))

    def _check_member(self, member: str) -> None:
        checks.user_id(member)
        if group_of(self.user_id) is None:
            raise InvalidValue("member_id", "is of the space of a group")
        if self.actor_id != member:
            raise ScopeWidened(
                f"in a group {member!r} acts in their own name, and not as {self.actor_id!r}"
            )

    @property
    def group(self) -> str | None:
        """The group whose space it is; None for one of a user."""
        return group_of(self.user_id)

    @property
    def person(self) -> str:
        """The user who acts."""
        return self.member_id or self.user_id

    @property
    def actor(self) -> str:
        """The actor of this scope's writes in history."""
        return self.actor_id or self.agent_id or self.user_id

    @property
    def is_of_an_agent(self) -> bool:
        """Whether an agent acts, not the user or a program of theirs."""
        return self.is_agent or self.is_confined

    @property
    def is_the_users(self) -> bool:
        """Whether the user or a program of theirs acts, and in no agent's name."""
        return self.agent_id is None and not self.is_of_an_agent

    @property
    def is_confined(self) -> bool:
        """Whether it sees only some categories."""
        return self.categories is not None

    @property
    def sharing_right(self) -> SharingRight:
        """What it may do with shared memories: nothing if restricted to categories, unless its key
        says otherwise; else it acts for its user.
        """
        usual = SharingRight.NONE if self.is_confined else SharingRight.DECIDE
        if self.is_confined and self.sharing is SharingRight.VOUCHED:
            return usual
        return self.sharing or usual

    def reaches(self, theme: str) -> bool:
        """Whether this scope may see a theme."""
        return self.categories is None or theme in self.categories

    def sees_project(self, project_id: str | None) -> bool:
        """Whether this scope may see what the user has in a project, or in none."""
        return within_project(project_id, self.project_id)

    def check_project(self, project_id: str | None) -> None:
        """Refuse a named project that is another than this scope's.

        Raises:
            ScopeWidened: it is.
        """
        if not self.sees_project(project_id):
            raise ScopeWidened(
                f"this scope has project_id {self.project_id!r}; it cannot become {project_id!r}"
            )

    def check_reaches(self, themes: Iterable[str]) -> None:
        """Refuse named themes out of reach.

        Raises:
            CategoryNotAllowed: one of them is; the message lists those that are not.
        """
        refused = [theme for theme in themes if not self.reaches(theme)]
        if refused:
            raise CategoryNotAllowed(self.agent_id or self.user_id, refused, self.categories or ())

    def narrow(self, **given: Any) -> Self:
        """The same scope with more of it fixed.

        Raises:
            ScopeWidened: a part that is already fixed would become another, or there would be more
                categories.
            UnknownField: a scope has no such part.
        """
        checks.known_fields("part of a scope", given, (field.name for field in fields(self)))
        added = {name: value for name, value in given.items() if value is not None}
        if "categories" in added:
            added["categories"] = self._fewer(category_slugs(added["categories"]))
        for name, value in added.items():
            present = getattr(self, name)
            if name != "categories" and present is not None and present != value:
                raise ScopeWidened(f"this scope has {name} {present!r}; it cannot become {value!r}")
        return replace(self, **added)

    def _fewer(self, wanted: frozenset[str]) -> frozenset[str]:
        more = sorted(theme for theme in wanted if not self.reaches(theme))
        if more:
            present = ", ".join(sorted(self.categories or ())) or "none"
            raise ScopeWidened(
                f"this scope has the categories {present}; it cannot get {', '.join(more)}"
            )
        return wanted


def within_project(project_id: str | None, bound: str | None) -> bool:
    """Whether what a user has in a project, or in none, may be seen where ``bound`` is the only
    one; None for no bound.
    """
    return bound is None or project_id in (None, bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(Record):
    """An API key without its secret, which is not stored.

    ``user_id`` is the user that a user's or agent's key acts for; a service's key acts for the user
    each request names. ``categories`` are what an agent's key can read and write; None for what the
    policy file allows the agent.
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
        """Whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedKey(Record):
    """A new key with its ``secret``, which callers send. It is shown only once."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """``purge_after``: from soft delete to purge. ``global_until``: users with fewer active
    memories also see the global ones. ``offer_life``: how long an offer waits.
    """

    purge_after: timedelta
    global_until: int
    offer_life: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that asks users for access. ``redirect_uris`` is where it may be answered."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(Record):
    """What a user allowed a program, until they or the end of their key take it back.

    ``key_id`` is the key that they signed in with: the program has its limits. ``expires_at`` is
    when the last of its tokens expires, unless the program asks for new ones before.
    """

    id: str
    user_id: str
    key_id: str
    client_id: str
    client_name: str
    scopes: tuple[AccessScope, ...]
    resource: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A code or token without its secret. A code is good for one ``redirect_uri``, and for who
    knows the secret behind the ``challenge``."""

    hash: str
    user_id: str
    grant_id: str
    kind: TokenKind
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    redirect_uri: str | None = None
    challenge: str | None = None
