"""JSON Schema of what commands answer, from the types of the records themselves."""

import enum
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import (
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from ricordo.cli.answers import ANSWERS, Answer
from ricordo.model.context import TokenSplit
from ricordo.model.job import Job

Schema = dict[str, Any]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Any: {},
    object: {},
}
_LEFT_OUT: Final = {Job: ("lease_token",)}
"""Fields that a record keeps to itself."""
_COMPUTED: Final[Mapping[type, Mapping[str, Any]]] = {TokenSplit: {"total": int}}
"""What a record says beside its fields."""


def document() -> Schema:
    """One JSON Schema for all commands: under ``commands``, each by its words."""
    shapes = Shapes()
    commands = {name: answer_schema(answer, shapes) for name, answer in ANSWERS.items()}
    return {
        "$schema": DIALECT,
        "title": "What the commands of ricordo answer with --json",
        "commands": commands,
        "error": ERROR,
        "$defs": dict(sorted(shapes.definitions.items())),
    }


ERROR: Final[Schema] = {
    "type": "object",
    "description": "What standard error carries with --json when a command fails.",
    "properties": {
        "error": {"type": "string", "description": "Name of the error, or UsageError."},
        "message": {"type": "string", "description": "What is wrong, in one sentence."},
        "fix": {"type": "string", "description": "What to do about it, where that is known."},
    },
    "required": ["error", "message"],
    "additionalProperties": False,
}


def answer_schema(answer: Answer, shapes: "Shapes") -> Schema:
    """What one answer of a command looks like; where there are lines, each of them."""
    kinds = [shapes.schema(kind) for kind in answer.types.values()]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


class Shapes:
    """Schemas of types; those with a name are kept once, under ``definitions``."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._origins: dict[str, Any] = {}

    def schema(self, kind: Any, bound: Mapping[Any, Any] = types.MappingProxyType({})) -> Schema:
        """The schema of a type. ``bound`` says what stands for the variables of a generic one.

        Raises:
            TypeError: no JSON is known for it, or another type has its name.
        """
        if isinstance(kind, TypeVar):
            return self.schema(bound[kind])
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"type": "string", "enum": [member.value for member in kind]}
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema(one, bound) for one in arguments]}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin in (tuple, list, Sequence):
            return {"type": "array", "items": self.schema(arguments[0], bound)}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.schema(arguments[1], bound)}
        if is_dataclass(origin or kind) or is_typeddict(kind):
            return self._named(kind, bound)
        raise TypeError(f"no JSON Schema for {kind!r}")

    def _named(self, kind: Any, bound: Mapping[Any, Any]) -> Schema:
        """A reference to a type that has fields; the same type with other parts is another."""
        origin = get_origin(kind) or kind
        parts = [bound.get(one, one) for one in get_args(kind)]
        name = name_of(origin, parts)
        if self._origins.setdefault(name, origin) is not origin:
            raise TypeError(f"{name} is the name of two types: {origin}, {self._origins[name]}")
        if name not in self.definitions:
            self.definitions[name] = {}  # it may speak of itself
            inner = dict(zip(getattr(origin, "__parameters__", ()), parts, strict=True))
            properties = {
                field: self.schema(hint, inner) for field, hint in fields_of(origin).items()
            }
            self.definitions[name] = {
                "type": "object",
                "description": " ".join((origin.__doc__ or "").replace("``", "`").split()),
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}


def name_of(origin: Any, parts: Sequence[Any] = ()) -> str:
    """What a type is called: ``Page of Item`` becomes ``ItemPage``."""
    return "".join([*(str(one.__name__) for one in parts), str(origin.__name__)])


def fields_of(kind: Any) -> dict[str, Any]:
    """The fields of a record as JSON has them, with their types."""
    hints = get_type_hints(kind)
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else list(hints)
    shown = {name: hints[name] for name in names if name not in _LEFT_OUT.get(kind, ())}
    return {**shown, **_COMPUTED.get(kind, {})}
