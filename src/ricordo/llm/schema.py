"""A JSON schema that every endpoint with structured output understands.

Endpoints differ in what they know of JSON schema, and some refuse a schema for one word that they
do not know. So only the words that all of them know are used: references are written out, every
field is required, no other fields are allowed, and titles and defaults are left out.

Bounds (``maxLength``, ``pattern`` …) are what they agree on least. They are put in words, into the
description of their field, where the model reads them; whether they were kept is checked when the
answer is validated. Endpoints that turn a schema into a grammar may be given the bounds of numbers
and lists (``keep_bounds``), because small models run on without them. Bounds of texts are not among
these: as a grammar they become hundreds of rules.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]

_KEPT: Final = ("type", "enum", "description")
_KEPT_BOUNDS: Final = ("minimum", "maximum", "minItems", "maxItems")
_IN_WORDS: Final[Mapping[str, str]] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "pattern": "matching {}",
    "format": "as {}",
}
_NAME_SIGNS = re.compile(r"[^A-Za-z0-9_-]+")


@functools.lru_cache(maxsize=64)
def strict_schema(model: type[BaseModel], *, keep_bounds: bool = False) -> Schema:
    """The schema of a model. It is shared: do not change it.

    Raises:
        TypeError: the model has a field that cannot be described this way, such as an open
            mapping, a value of any kind, or the model itself.
    """
    whole = model.model_json_schema()
    return _Strict(whole.get("$defs", {}), keep_bounds).of(whole, model.__name__, ())


def schema_name(model: type[BaseModel]) -> str:
    """A name for the schema, in the characters that endpoints allow."""
    return _NAME_SIGNS.sub("_", model.__name__)[:64]


class _Strict:
    """Writes one schema anew."""

    def __init__(self, definitions: Mapping[str, Schema], keep_bounds: bool) -> None:
        self._definitions = definitions
        self._keep_bounds = keep_bounds

    def of(self, given: Schema, path: str, inside: tuple[str, ...]) -> Schema:
        """``inside`` are the definitions that this one is a part of."""
        reference = given.get("$ref")
        if reference is not None:
            return self._referred(given, str(reference).rpartition("/")[2], path, inside)
        strict: Schema = {name: given[name] for name in _KEPT if name in given}
        if "const" in given:
            strict["enum"] = [given["const"]]
        choices = given.get("anyOf") or given.get("oneOf")
        if choices:
            strict["anyOf"] = [self.of(choice, path, inside) for choice in choices]
        elif given.get("type") == "object":
            strict |= self._fields(given, path, inside)
        elif given.get("type") == "array":
            if not given.get("items"):
                raise TypeError(f"{path}: a list must say what is in it")
            strict["items"] = self.of(given["items"], f"{path}[]", inside)
        elif "type" not in strict and "enum" not in strict:
            raise TypeError(f"{path}: a value of any kind cannot be described")
        self._add_bounds(strict, given)
        return strict

    def _referred(self, given: Schema, name: str, path: str, inside: tuple[str, ...]) -> Schema:
        if name in inside:
            raise TypeError(f"{path}: {name} contains itself")
        strict = self.of(self._definitions[name], path, (*inside, name))
        if "description" in given:  # that of the field says more than that of its type
            strict["description"] = given["description"]
        return strict

    def _fields(self, given: Schema, path: str, inside: tuple[str, ...]) -> Schema:
        fields: Mapping[str, Schema] = given.get("properties", {})
        if not fields or given.get("additionalProperties") not in (None, False):
            raise TypeError(f"{path}: every field must have a name")
        return {
            "properties": {
                name: self.of(field, f"{path}.{name}", inside) for name, field in fields.items()
            },
            "required": list(fields),
            "additionalProperties": False,
        }

    def _add_bounds(self, strict: Schema, given: Schema) -> None:
        words = []
        for name, wording in _IN_WORDS.items():
            if name not in given:
                continue
            if self._keep_bounds and name in _KEPT_BOUNDS:
                strict[name] = given[name]
            words.append(wording.format(given[name]))
        if words:
            described = [strict["description"]] if "description" in strict else []
            strict["description"] = " ".join([*described, f"({', '.join(words)})"])
