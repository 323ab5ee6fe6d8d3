"""A memory to be stored, validated; None for what was not given."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Self

from ricordo import limits
from ricordo.errors import InvalidValue, ScopeWidened
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import GENERAL_THEME, MemoryType, Source, default_confidence

_STAMPED = ("agent_id", "thread_id", "run_id", "actor_id", "role")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """What ``add`` stores. None means "not given": an update keeps the old value, a replacement
    inherits it, and otherwise there is a default.

    Raises:
        InvalidValue: on construction, when a value is not allowed.
    """

    content: str
    theme: str | None = None
    type: MemoryType | None = None
    key: str | None = None
    tags: tuple[str, ...] | None = None
    source: Source | None = None
    source_context: str | None = None
    thread_id: str | None = None
    message_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    confidence: int | None = None
    importance: int | None = None
    pinned: bool | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "content", checks.text("content", self.content, limits.MAX_CONTENT_CHARS))
        put(self, "theme", None if _is_blank(self.theme) else theme_slug(self.theme))
        put(self, "key", checks.optional_text("key", self.key, limits.MAX_KEY_CHARS))
        if self.type is not None:
            put(self, "type", checks.choice("type", self.type, MemoryType))
        if self.tags is not None:
            put(self, "tags", checks.tags(self.tags))
        if self.source is not None:
            put(self, "source", checks.choice("source", self.source, Source))
        self._check_provenance(put)
        checks.optional_integer("confidence", self.confidence, 0, 100)
        checks.optional_integer("importance", self.importance, 1, 5)
        checks.optional_flag("pinned", self.pinned)
        for name in ("valid_from", "valid_to", "expires_at", "created_at"):
            put(self, name, checks.optional_moment(name, getattr(self, name)))

    def _check_provenance(self, put: Any) -> None:
        if self.source_context is not None:
            maximum = limits.MAX_SOURCE_CONTEXT_CHARS
            context = checks.optional_text("source_context", self.source_context, maximum)
            put(self, "source_context", context)
        for name in (*_STAMPED, "message_id"):
            checks.optional_reference(name, getattr(self, name))

    @classmethod
    def parse(cls, given: "NewMemory | Mapping[str, Any] | str") -> Self:
        """A new memory from a text, a mapping of its fields, or a :class:`NewMemory`.

        Raises:
            InvalidValue: a value is not allowed.
            UnknownField: a field does not exist. ``category`` is accepted for ``theme``.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, str):
            return cls(content=given)
        if not isinstance(given, Mapping):
            raise InvalidValue("memory", f"expected text or an object, got {type(given).__name__}")
        values = dict(given)
        if "category" in values and "theme" not in values:
            values["theme"] = values.pop("category")
        checks.known_fields("memory field", values, FIELD_NAMES)
        if "content" not in values:
            raise InvalidValue("content", "is missing")
        return cls(**values)

    def stamped(self, scope: Scope) -> Self:
        """The same memory with the scope's agent, thread, run, actor and role.

        Raises:
            ScopeWidened: it names another agent, thread, run, actor or role than the scope.
            CategoryNotAllowed: it would be filed where the scope does not reach.
        """
        scope.check_reaches([self.effective_theme])
        missing = {}
        for name in _STAMPED:
            fixed = getattr(scope, name)
            if fixed is None:
                continue
            own = getattr(self, name)
            if own is None:
                missing[name] = fixed
            elif own != fixed:
                raise ScopeWidened(f"this scope has {name} {fixed!r}; a memory cannot have {own!r}")
        return replace(self, **missing) if missing else self

    def start(self, now: datetime) -> datetime:
        """When the statement starts to hold."""
        return self.valid_from or self.created_at or now

    def begins_before(self, moment: datetime) -> bool:
        """Whether an explicit start is before that moment. Without one it is not: the memory starts
        now, and the clock may have been set back.
        """
        said = self.valid_from or self.created_at
        return said is not None and said < moment

    @property
    def effective_theme(self) -> str:
        """The theme, or ``general``."""
        return self.theme or GENERAL_THEME

    @property
    def effective_source(self) -> Source:
        """The source; by default explicit, since somebody calls ``add``."""
        return self.source or Source.USER_EXPLICIT

    @property
    def effective_confidence(self) -> int:
        """The confidence, or the default for the source."""
        if self.confidence is not None:
            return self.confidence
        return default_confidence(self.effective_source)


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


FIELD_NAMES = frozenset(field.name for field in fields(NewMemory))
