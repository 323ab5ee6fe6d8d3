"""Kinds of parameters: how a value is checked, shown in schemas and read from text.

A parameter is described once, in an annotation: ``limit: Annotated[int, Integer(1, 100)]``. Every
surface derives from it what it needs: the check and its error, the JSON schema, the option.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.frozen import dataclass, field, replace
from ricordo.model import checks
from ricordo.model.group import group_name
from ricordo.model.vocabulary import GLOBAL_OWNER

Schema: TypeAlias = dict[str, Any]
When: TypeAlias = datetime | date | str

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_BOOLEANS: Final = {"true": True, "1": True, "yes": True, "on": True} | {
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
_DAY_CHARS: Final = 10
_HELP: Final = ("description", "examples")
_SIZES: Final = ("maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
ANY: Final = "any"


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """A kind of value. ``about`` is its help; ``aliases`` are other names of the parameter."""

    about: str = ""
    example: Any = None
    aliases: tuple[str, ...] = ()
    metavar: str = "TEXT"
    completes: str | None = None
    """What names in the store it can be completed with: ``theme``, ``thread`` or ``user``."""

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """The clean value. Raises InvalidValue: it is not allowed; the message says what is."""

    def schema(self) -> Schema:
        """The JSON schema, without help."""
        return {"type": "string"}

    def from_text(self, text: str) -> Any:
        """A value that was typed. What cannot be read stays text, which the check refuses."""
        return text

    @property
    def takes_several(self) -> bool:
        """Whether it may be given several times."""
        return False

    def for_models(self) -> Schema:
        """The JSON schema with help, as plain as some providers need it, and with few tokens."""
        schema = self.schema()
        options = schema.get("anyOf", [schema])
        schema = next((one for one in options if one.get("type") == "array"), options[0])
        kept = {
            name: value
            for name, value in schema.items()
            if name not in _SIZES and value != limits.MAX_ID
        }
        if "items" in kept:
            kept["items"] = {
                name: value for name, value in kept["items"].items() if name not in _SIZES
            }
        return {**kept, "description": self.about}

    def described(self) -> Schema:
        """The JSON schema with help and example."""
        schema = self.schema()
        if self.about:
            schema["description"] = self.about
        if self.example is not None:
            schema["examples"] = [self.example]
        return schema


@dataclass(frozen=True)
class Text(Kind):
    """A trimmed text. Where it is optional, a blank one counts as not given."""

    maximum: int
    is_optional: bool = False
    may_be_empty: bool = False

    def check(self, name: str, value: Any) -> str | None:
        if self.may_be_empty and value == "":
            return ""
        if isinstance(value, str):  # as long as the schema says, also what would be trimmed
            checks.within(name, value, self.maximum)
        if self.is_optional:
            return checks.optional_text(name, value, self.maximum)
        return checks.text(name, value, self.maximum)

    def schema(self) -> Schema:
        return {"type": "string", "maxLength": self.maximum}


@dataclass(frozen=True)
class Question(Kind):
    """A query: any text, also an empty one."""

    metavar: str = field(default="QUERY", kw_only=True)

    def check(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            checks.within(name, value, limits.MAX_QUERY_CHARS)
        return checks.question(name, value)

    def schema(self) -> Schema:
        return {"type": "string", "maxLength": limits.MAX_QUERY_CHARS}


@dataclass(frozen=True)
class Reference(Kind):
    """An outside identifier, kept exactly."""

    metavar: str = field(default="ID", kw_only=True)

    def check(self, name: str, value: Any) -> str:
        return checks.reference(name, value)

    def schema(self) -> Schema:
        return {"type": "string", "maxLength": limits.MAX_REFERENCE_CHARS}


@dataclass(frozen=True)
class UserName(Reference):
    """The name of a user."""

    metavar: str = field(default="NAME", kw_only=True)

    def check(self, name: str, value: Any) -> str:  # noqa: ARG002 - always called user_id
        return checks.user_id(value)


@dataclass(frozen=True)
class AsGiven(Kind):
    """A text that the operation itself checks, such as a cursor."""

    def check(self, name: str, value: Any) -> Any:  # noqa: ARG002 - see above
        return value


@dataclass(frozen=True)
class AnyOwner(UserName):
    """A user, or the owner of the global memories."""

    def check(self, name: str, value: Any) -> str:
        return GLOBAL_OWNER if value == GLOBAL_OWNER else super().check(name, value)


@dataclass(frozen=True)
class AfterUser(Reference):
    """The last user of the page before; empty for the first page."""

    def check(self, name: str, value: Any) -> str:
        return "" if value == "" else super().check(name, value)


@dataclass(frozen=True)
class GroupName(Kind):
    """The name of a group; empty where it ``may_be_empty``, for the first page."""

    may_be_empty: bool = False
    metavar: str = field(default="GROUP", kw_only=True)

    def check(self, name: str, value: Any) -> str:
        return "" if self.may_be_empty and value == "" else group_name(name, value)

    def schema(self) -> Schema:
        return {"type": "string", "maxLength": limits.MAX_GROUP_NAME_CHARS}


@dataclass(frozen=True)
class OptionalUserName(UserName):
    """The name of a user, or None."""

    def check(self, name: str, value: Any) -> Any:
        return None if value is None else super().check(name, value)


@dataclass(frozen=True)
class Texts(AsGiven):
    """One text or several that the operation itself checks."""

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}

    @property
    def takes_several(self) -> bool:
        return True


@dataclass(frozen=True)
class Choice(Kind):
    """One word of a vocabulary, or ``any`` where that is allowed."""

    words: type[StrEnum]
    or_any: bool = False

    def check(self, name: str, value: Any) -> Any:
        if self.or_any and value == ANY:
            return None
        return _also_any(self.or_any, checks.choice, name, value, self.words)

    def schema(self) -> Schema:
        return {"type": "string", "enum": self.allowed()}

    def allowed(self) -> list[str]:
        """The words, for help and completion."""
        return [*(one.value for one in self.words), *([ANY] if self.or_any else [])]


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some words of a larger vocabulary."""

    words: tuple[str, ...]

    def check(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise InvalidValue(
                name, f"{checks.shown(value)} is not one of: {', '.join(self.words)}"
            )
        return str(value)

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Several(Kind):
    """One value or several, each of a kind; ``joined`` also reads them from one text."""

    each: Kind
    joined: str = ""
    any_means: tuple[Any, ...] | None = None
    """What the word ``any`` stands for, where it is allowed."""

    def check(self, name: str, value: Any) -> tuple[Any, ...]:
        if self.any_means is not None and value in (ANY, [ANY], (ANY,)):
            return self.any_means
        if self.joined and isinstance(value, str):
            value = [part.strip() for part in re.split(self.joined, value)]
        entries = checks.one_or_several(name, value)
        if self.any_means is not None and not isinstance(value, str) and ANY in entries:
            raise InvalidValue(name, f"{ANY} stands for all of them: give it alone")
        found = [
            _also_any(self.any_means is not None, self.each.check, name, one) for one in entries
        ]
        return tuple(dict.fromkeys(found))

    def schema(self) -> Schema:
        one = self.each.schema()
        if self.any_means is not None and "enum" in one:
            one = {**one, "enum": [*one["enum"], ANY]}
        several = {
            "type": "array",
            "items": one,
            "minItems": 1,
            "maxItems": limits.MAX_FILTER_VALUES,
        }
        return {"anyOf": [several, one]}

    def from_text(self, text: str) -> Any:
        return self.each.from_text(text)

    @property
    def takes_several(self) -> bool:
        return True


@dataclass(frozen=True)
class Theme(Kind):
    """A theme, in any spelling; ``category`` is another name for it."""

    may_be_blank: bool = False
    aliases: tuple[str, ...] = field(default=("category",), kw_only=True)
    metavar: str = field(default="NAME", kw_only=True)
    completes: str | None = field(default="theme", kw_only=True)

    def check(self, name: str, value: Any) -> str | None:
        if self.may_be_blank and isinstance(value, str) and not value.strip():
            return None
        return checks.theme_slug(checks.text(name, value, limits.MAX_THEME_CHARS))


@dataclass(frozen=True)
class Folded(Kind):
    """A text to be looked for inside others, without regard to case and accents."""

    def check(self, name: str, value: Any) -> str:
        from ricordo.text.normalise import folded

        if isinstance(value, str):
            checks.within(name, value, limits.MAX_QUERY_CHARS)
        needle = folded(checks.text(name, value, limits.MAX_QUERY_CHARS))
        if not needle:
            raise InvalidValue(name, "has no character that can be searched for")
        return needle

    def schema(self) -> Schema:
        return {"type": "string", "maxLength": limits.MAX_QUERY_CHARS}


@dataclass(frozen=True)
class Integer(Kind):
    """A whole number."""

    low: int
    high: int
    metavar: str = field(default="N", kw_only=True)

    def check(self, name: str, value: Any) -> int:
        return checks.integer(name, value, self.low, self.high)

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def from_text(self, text: str) -> Any:
        return int(text) if _INTEGER.fullmatch(text) else text


@dataclass(frozen=True)
class Number(Kind):
    """A number."""

    low: float
    high: float
    metavar: str = field(default="N", kw_only=True)

    def check(self, name: str, value: Any) -> float:
        return checks.number(name, value, self.low, self.high)

    def schema(self) -> Schema:
        return {"type": "number", "minimum": self.low, "maximum": self.high}

    def from_text(self, text: str) -> Any:
        try:
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        except ValueError:
            return text


@dataclass(frozen=True)
class Flag(Kind):
    """True or false."""

    def check(self, name: str, value: Any) -> bool:
        return checks.flag(name, value)

    def schema(self) -> Schema:
        return {"type": "boolean"}

    def from_text(self, text: str) -> Any:
        return _BOOLEANS.get(text.lower(), text)


@dataclass(frozen=True)
class Moment(Kind):
    """A point in time."""

    metavar: str = field(default="TIME", kw_only=True)

    def check(self, name: str, value: Any) -> datetime:
        return checks.parse_moment(name, value)


@dataclass(frozen=True)
class Day(Kind):
    """A date without a time, as text."""

    metavar: str = field(default="DAY", kw_only=True)

    def check(self, name: str, value: Any) -> str:
        if isinstance(value, datetime):
            raise InvalidValue(name, "expected a date, got a time")
        if isinstance(value, date):
            return value.isoformat()
        try:
            if isinstance(value, str) and len(value) == _DAY_CHARS:
                return date.fromisoformat(value).isoformat()
        except ValueError:
            pass
        raise InvalidValue(name, f"expected a date such as 2026-01-31, got {value!r:.40}")


@dataclass(frozen=True)
class Tags(Kind):
    """A list of distinct tags."""

    metavar: str = field(default="TAG", kw_only=True)

    def check(self, name: str, value: Any) -> tuple[str, ...]:  # noqa: ARG002 - always tags
        return checks.tags(value)

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string"}}

    @property
    def takes_several(self) -> bool:
        return True


@dataclass(frozen=True)
class Listed(Kind):
    """A list of at most so many values, each of a kind; ``distinct`` keeps the first of equals."""

    each: Kind
    maximum: int
    minimum: int = 0
    distinct: bool = False

    def check(self, name: str, value: Any) -> list[Any]:
        entries = checks.entries(name, value, self.maximum)
        found = [self._checked(name, place, one) for place, one in enumerate(entries)]
        if self.distinct:
            found = list(dict.fromkeys(found))
        if len(found) < self.minimum:
            raise InvalidValue(
                name, f"only {len(found)}; allowed: {self.minimum} to {self.maximum}"
            )
        return found

    def _checked(self, name: str, place: int, value: Any) -> Any:
        if not isinstance(self.each, Parsed):
            return self.each.check("id" if isinstance(self.each, Integer) else name, value)
        try:
            return self.each.check(name, value)
        except InvalidValue as problem:
            raise InvalidValue(f"{name}[{place}].{problem.field}", problem.problem) from None

    def schema(self) -> Schema:
        schema = {"type": "array", "items": self.each.schema(), "maxItems": self.maximum}
        return {**schema, "minItems": self.minimum} if self.minimum else schema

    def from_text(self, text: str) -> Any:
        return self.each.from_text(text)

    @property
    def takes_several(self) -> bool:
        return True


@dataclass(frozen=True)
class FilePath(Kind):
    """The path of a file."""

    metavar: str = field(default="FILE", kw_only=True)

    def check(self, name: str, value: Any) -> Path:
        return checks.path(name, value)


@dataclass(frozen=True)
class Json(Kind):
    """Anything that JSON can say; the operation checks it."""

    shape: Mapping[str, Any] | None = None
    metavar: str = field(default="JSON", kw_only=True)

    def check(self, name: str, value: Any) -> Any:  # noqa: ARG002 - see above
        return value

    def schema(self) -> Schema:
        return dict(self.shape or {})


@dataclass(frozen=True)
class Parsed(Kind):
    """What a function of the model reads, such as a new memory, from a text or an object."""

    parse: Callable[[Any], Any]
    shape: Callable[[], Schema]

    def check(self, name: str, value: Any) -> Any:  # noqa: ARG002 - it names the field inside
        return self.parse(value)

    def schema(self) -> Schema:
        return self.shape()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation or a field of a record."""

    name: str
    kind: Kind
    default: Any = None
    is_required: bool = False
    may_be_none: bool = True
    is_positional: bool = False

    def check(self, value: Any) -> Any:
        """The clean value; None where it was not given and need not be. Raises InvalidValue: it is
        not allowed."""
        return None if value is None and self.may_be_none else self.kind.check(self.name, value)

    def renamed(self, name: str, about: str) -> "Parameter":
        """The same parameter under another name."""
        return replace(self, name=name, kind=replace(self.kind, about=about))

    def schema(self) -> Schema:
        """The JSON schema, with null where that is allowed and with the default."""
        schema = self.kind.described()
        if not self.is_required and self.default is not None:
            return {**schema, "default": _plain(self.default)}
        if not self.may_be_none:
            return schema
        choices = schema.pop("anyOf", None)
        if choices is None:
            own = {name: schema.pop(name) for name in list(schema) if name not in _HELP}
            choices = [own]
        return {"anyOf": [*choices, {"type": "null"}], **schema}


def described_fields(
    annotations: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Parameter]:
    """The parameters that annotations with a kind describe, in their order."""
    found = {}
    for name, annotation in annotations.items():
        kind = kind_of(annotation)
        if kind is None:
            continue
        may_be_none = type(None) in get_args(get_args(annotation)[0])
        found[name] = Parameter(
            name,
            kind,
            default=defaults.get(name),
            is_required=name not in defaults and not may_be_none,
            may_be_none=may_be_none,
        )
    return found


def kind_of(annotation: Any) -> Kind | None:
    """The kind that an annotation names."""
    if get_origin(annotation) is not Annotated:
        return None
    return next((one for one in get_args(annotation)[1:] if isinstance(one, Kind)), None)


def by_alias(parameters: Iterable[Parameter]) -> dict[str, str]:
    """The parameters by their other names."""
    return {alias: one.name for one in parameters for alias in one.kind.aliases}


def _plain(value: Any) -> Any:
    return (
        value.value
        if isinstance(value, StrEnum)
        else list(value)
        if isinstance(value, tuple)
        else value
    )


def _also_any(is_allowed: bool, check: Callable[..., Any], *given: Any) -> Any:
    """The result of a check whose error says that ``any`` is allowed, too, where it is."""
    try:
        return check(*given)
    except InvalidValue as problem:
        if not is_allowed:
            raise
        raise InvalidValue(problem.field, f"{problem.problem}, {ANY}") from None
