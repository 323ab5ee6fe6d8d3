"""Categories and the agents that may read them."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, Self

from ricordo import limits
from ricordo.errors import CategoryNotAllowed
from ricordo.frozen import dataclass, field, replace
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.item import Theme
from ricordo.model.vocabulary import ContextPolicy

ALL_CATEGORIES: Final = "*"
"""In an allowlist: every category, also those that the policy does not describe."""

DEFAULT_AGENTS: Final = ("*", "default")
"""Names of the allowlist for agents without their own."""

Pair = tuple[str, str]
"""Owner and viewer."""


@dataclass(frozen=True, slots=True)
class CategoryRule:
    """The rule for one category. ``rag_length`` requires ``context`` rag."""

    slug: str
    display_name: str | None = None
    description: str | None = None
    context: ContextPolicy = ContextPolicy.RAG
    rag_length: int | None = None


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """``categories`` by slug, and ``allowlists``: the slugs that each agent may read.

    An agent without an allowlist has the default one; without that, it may read nothing. So an
    empty policy allows nothing; :meth:`open` allows everything.

    Users of a ``sharing_groups`` entry see what the others share with them without consent, and so
    do the viewers of ``sharing_pairs``.
    """

    categories: Mapping[str, CategoryRule] = field(default_factory=dict)
    allowlists: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sharing_groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sharing_pairs: frozenset[Pair] = frozenset()

    def __post_init__(self) -> None:
        # Immutable copies: all threads share a policy.
        for name in ("categories", "allowlists", "sharing_groups"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @classmethod
    def open(cls) -> Self:
        """The policy without a file: every agent may read everything."""
        return cls(allowlists={DEFAULT_AGENTS[0]: frozenset({ALL_CATEGORIES})})

    def allowed(
        self, agent: str | None, within: frozenset[str] | None = None
    ) -> frozenset[str] | None:
        """The categories that an agent may read; None for all.

        No agent means the owner, who may read everything. ``within`` are the categories of the
        scope or key, None for all. Raises InvalidValue: the name cannot be that of an agent.
        """
        listed = self._listed(agent)
        if listed is None or within is None:
            return within if listed is None else listed
        return listed & within

    def approves_sharing(self, owner: str, viewer: str) -> bool:
        """Whether the operator allows an owner to share with a viewer without consent."""
        is_in_group = any({owner, viewer} <= group for group in self.sharing_groups.values())
        return is_in_group or (owner, viewer) in self.sharing_pairs

    def described(self, theme: Theme) -> Theme:
        """A theme as the policy describes it, which overrides what its user has set."""
        rule = self.categories.get(theme.slug)
        if rule is None:
            return theme
        return replace(
            theme,
            display_name=rule.display_name or theme.display_name,
            description=rule.description or theme.description,
            context=rule.context,
            rag_length=rule.rag_length,
        )

    def _listed(self, agent: str | None) -> frozenset[str] | None:
        if agent is None:
            return None
        name = checks.reference("agent", agent)
        lists = (self.allowlists[key] for key in (name, *DEFAULT_AGENTS) if key in self.allowlists)
        listed = next(lists, frozenset[str]())
        return None if ALL_CATEGORIES in listed else listed

    def check(
        self,
        agent: str | None,
        categories: Collection[str],
        *,
        within: frozenset[str] | None = None,
        user: str = "",
    ) -> tuple[str, ...] | None:
        """The categories that a request may read: the requested ones, or all allowed ones.

        None means no restriction. Never empty, because an empty filter could be taken for none.
        ``within`` is that of :meth:`allowed`; the ``user`` is named in the error without an agent.

        Raises:
            CategoryNotAllowed: one that was asked for is not allowed, or nothing is.
            InvalidValue: the agent or a category cannot be a name, or there are too many.
        """
        asked = _slugs(categories)
        allowed = self.allowed(agent, within)
        if allowed is None:
            return asked or None
        refused = [slug for slug in asked if slug not in allowed]
        if refused or not allowed:
            raise CategoryNotAllowed(agent or user, refused, allowed)
        return asked or tuple(sorted(allowed))


def _slugs(categories: Collection[str]) -> tuple[str, ...]:
    if not isinstance(categories, str) and not categories:
        return ()
    names = checks.texts("categories", categories, limits.MAX_THEME_CHARS)
    return tuple(dict.fromkeys(theme_slug(name) for name in names))
