"""Frozen dataclasses that are made in a fraction of the time.

The standard library compiles six methods for each class, and a short command makes two hundred.
Here they share theirs; only ``__init__`` is compiled, when the first instance is made.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field, replace
from inspect import Signature, signature
from operator import attrgetter
from typing import Any, Final, Literal, TypeVar, dataclass_transform

__all__ = ("dataclass", "field", "replace")

Made = TypeVar("Made")
_put: Final = object.__setattr__
_TO_BE_MADE: Final = object()


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *,
    frozen: Literal[True],  # noqa: ARG001 - for the reader
    slots: bool = False,
    kw_only: bool = False,
) -> Callable[[type[Made]], type[Made]]:
    """Like that of the standard library, but for ``InitVar``."""

    def decorate(cls: type[Made]) -> type[Made]:
        has_hash = _has_own_hash(cls)
        cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise its signature would be computed
        made: Any = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
        )(cls)
        fields = dataclasses.fields(made)
        methods = _common(made, fields) | _pickled(fields)
        if has_hash:
            del methods["__hash__"]
        own = made.__dict__
        for name, method in methods.items():
            if name not in own or name == "__hash__":
                setattr(made, name, method)
        return made  # type: ignore[no-any-return]

    return decorate


def _has_own_hash(cls: type) -> bool:
    """An ``__eq__`` makes Python set ``__hash__`` to None, which is nobody's own."""
    found = cls.__dict__.get("__hash__", MISSING)
    return found is not MISSING and not (found is None and "__eq__" in cls.__dict__)


def _common(cls: Any, fields: tuple["Field[Any]", ...]) -> dict[str, Any]:
    names = frozenset(one.name for one in fields)
    shown = [one.name for one in fields if one.repr]
    compared = _values([one.name for one in fields if one.compare])
    hashed = _values([one.name for one in fields if _is_hashed(one)])

    def first_init(self: Any, *args: Any, **given: Any) -> None:
        _compiled_init(cls, fields)(self, *args, **given)

    def shown_as(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    def equals(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    def refuse_setting(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def refuse_deleting(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {
        "__init__": first_init,
        "__signature__": _LaterSignature(cls, fields),
        "__repr__": shown_as,
        "__eq__": equals,
        "__hash__": hash_of,
        "__setattr__": refuse_setting,
        "__delattr__": refuse_deleting,
    }


def _is_hashed(one: "Field[Any]") -> bool:
    return one.compare if one.hash is None else one.hash


def _values(names: list[str]) -> Callable[[Any], Any]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _pickled(fields: tuple["Field[Any]", ...]) -> dict[str, Any]:
    names = [one.name for one in fields]

    def state(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def restore(self: Any, values: list[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            _put(self, name, value)

    return {"__getstate__": state, "__setstate__": restore}


class _LaterSignature:
    """Computed when somebody asks for it."""

    def __init__(self, cls: Any, fields: tuple["Field[Any]", ...]) -> None:
        self._cls, self._fields = cls, fields

    def __get__(self, instance: object, owner: type) -> Signature:
        init = signature(_compiled_init(self._cls, self._fields))
        first, *others = init.parameters.values()
        del first
        return init.replace(parameters=others)


def _compiled_init(cls: Any, fields: tuple["Field[Any]", ...]) -> Callable[..., None]:
    """Made of names and numbers of fields alone; what they are by default is bound beside it."""
    bound: dict[str, Any] = {"_put": _put, "_TO_BE_MADE": _TO_BE_MADE}
    by_place, by_name, body = ["self"], ["*"], []
    for number, one in enumerate(fields):
        value, default = one.name, ""
        if one.default_factory is not MISSING:
            bound[f"_make{number}"] = one.default_factory
            value = f"_make{number}()"
            if one.init:
                default = "=_TO_BE_MADE"
                value += f" if {one.name} is _TO_BE_MADE else {one.name}"
        elif one.default is not MISSING:
            bound[f"_default{number}"] = one.default
            default = f"=_default{number}"
            value = one.name if one.init else f"_default{number}"
        elif not one.init:
            continue
        if one.init:
            (by_name if one.kw_only else by_place).append(f"{one.name}{default}")
        body.append(f" _put(self, {one.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(by_place + (by_name if len(by_name) > 1 else []))
    exec(f"def __init__({parameters}):\n" + ("\n".join(body) or " pass"), bound)  # noqa: S102 - see above
    made: Any = bound["__init__"]
    made.__annotations__ = {one.name: one.type for one in fields if one.init} | {"return": None}
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    if cls.__dict__["__init__"].__name__ == "first_init":
        cls.__init__ = made
    return made  # type: ignore[no-any-return]
