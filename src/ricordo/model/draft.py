"""A memory to be stored, validated; None for what was not given."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Self, TypedDict, get_type_hints

from ricordo import limits
from ricordo.errors import InvalidValue, ScopeWidened
from ricordo.frozen import dataclass, replace
from ricordo.model import checks
from ricordo.model.fields import (
    Choice,
    Flag,
    Integer,
    Moment,
    Parameter,
    Reference,
    Schema,
    Tags,
    Text,
    Theme,
    When,
    by_alias,
    described_fields,
)
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import (
    GENERAL_THEME,
    IN_PASSING,
    MemoryType,
    Source,
    default_confidence,
)

_STAMPED = ("agent_id", "thread_id", "run_id", "actor_id", "role", "project_id")

Content = Annotated[
    str, Text(limits.MAX_CONTENT_CHARS, example="Prefers tea to coffee in the afternoon")
]


class DraftFields(TypedDict, total=False):
    """What can be said of a new memory beside its content."""

    theme: Annotated[
        str | None,
        Theme(may_be_blank=True, about="The heading it is filed under.", example="drinks"),
    ]
    type: Annotated[
        MemoryType | str | None,
        Choice(MemoryType, about="What it is.", example="preference", metavar="TYPE"),
    ]
    key: Annotated[
        str | None,
        Text(
            limits.MAX_KEY_CHARS,
            is_optional=True,
            about="What this is the value of: a new one updates the old one.",
            example="favourite drink",
            metavar="NAME",
        ),
    ]
    tags: Annotated[
        Iterable[str] | None, Tags(about="Labels to find it by.", example=["hot", "daily"])
    ]
    source: Annotated[
        Source | str | None, Choice(Source, about="Where it comes from.", metavar="SOURCE")
    ]
    source_context: Annotated[
        str | None,
        Text(
            limits.MAX_SOURCE_CONTEXT_CHARS,
            is_optional=True,
            about="Where it was learnt, in words.",
        ),
    ]
    thread_id: Annotated[str | None, Reference(about="The conversation it comes from.")]
    message_id: Annotated[str | None, Reference(about="The message it comes from.")]
    agent_id: Annotated[str | None, Reference(about="The agent that learnt it.")]
    run_id: Annotated[str | None, Reference(about="The run of that agent.")]
    project_id: Annotated[
        str | None, Reference(about="The project it is about.", metavar="PROJECT")
    ]
    actor_id: Annotated[str | None, Reference(about="Who said it.", metavar="NAME")]
    role: Annotated[
        str | None,
        Reference(about="In which role it was said.", example="user", metavar="NAME"),
    ]
    confidence: Annotated[int | None, Integer(0, 100, about="How sure it is: 0 to 100.")]
    importance: Annotated[int | None, Integer(1, 5, about="How much it matters: 1 to 5.")]
    pinned: Annotated[bool | None, Flag(about="One to keep, whatever happens.")]
    valid_from: Annotated[When | None, Moment(about="Since when it holds; now by default.")]
    valid_to: Annotated[When | None, Moment(about="Until when it holds.")]
    expires_at: Annotated[When | None, Moment(about="When it is to be forgotten.")]
    created_at: Annotated[When | None, Moment(about="When it was noted, where that was earlier.")]


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
    project_id: str | None = None
    confidence: int | None = None
    importance: int | None = None
    pinned: bool | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        for name, one in FIELDS.items():
            value = getattr(self, name)
            if value is None and one.may_be_none:  # most of them, of every memory
                continue
            clean = one.check(value)
            if clean is not value:
                object.__setattr__(self, name, clean)

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
        values = {_ALIASES.get(name, name): value for name, value in given.items()}
        if len(values) < len(given):
            raise InvalidValue("category", "is given twice (also as 'theme')")
        checks.known_fields("memory field", values, FIELD_NAMES)
        if "content" not in values:
            raise InvalidValue("content", "is missing")
        return cls(**values)

    def stamped(self, scope: Scope) -> Self:
        """The same memory with the scope's agent, thread, run, actor, role and project.

        Raises:
            ScopeWidened: it names another agent, thread, run, actor, role or project than the
                scope.
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
    def is_asked_for(self) -> bool:
        """Whether somebody wants this kept, and not a program that has heard it in passing."""
        return self.agent_id is None and self.effective_source not in IN_PASSING

    @property
    def names(self) -> tuple[str | None, ...]:
        """What it is filed under."""
        return (self.key, self.theme, *(self.tags or ()))

    @property
    def effective_confidence(self) -> int:
        """The confidence, or the default for the source."""
        if self.confidence is not None:
            return self.confidence
        return default_confidence(self.effective_source)


FIELDS: Final[Mapping[str, Parameter]] = described_fields(
    {"content": Content, **get_type_hints(DraftFields, include_extras=True)},
    dict.fromkeys(DraftFields.__annotations__),
)
"""Every field of a new memory, by name."""
FIELD_NAMES: Final = frozenset(FIELDS)
_ALIASES: Final = by_alias(FIELDS.values())


def draft_schema() -> Schema:
    """The JSON schema of a new memory."""
    return {
        "type": "object",
        "properties": {name: one.schema() for name, one in FIELDS.items()},
        "required": ["content"],
        "additionalProperties": False,
    }
