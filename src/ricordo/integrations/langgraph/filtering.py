"""What a search of a LangGraph store asks of values, and which namespaces a listing wants."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from langgraph.store.base import MatchCondition

from ricordo.errors import InvalidValue

_ANY_LABEL: Final = "*"
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_ORDERED: Final = frozenset({"$gt", "$gte", "$lt", "$lte"})


def check_filter(wanted: object) -> None:
    """Refuse what is no filter, and operators that do not exist, wherever they stand in one.

    Raises:
        InvalidValue: names the operator and those that exist.
    """
    if wanted is not None and not isinstance(wanted, Mapping):
        raise InvalidValue("filter", f"expected a mapping, got {type(wanted).__name__}")
    _check_operators(wanted)


def _check_operators(wanted: object) -> None:
    if isinstance(wanted, Mapping):
        for name, inner in wanted.items():
            if str(name).startswith("$") and name not in _COMPARISONS:
                allowed = ", ".join(_COMPARISONS)
                raise InvalidValue("filter", f"unknown operator {name!r}; allowed: {allowed}")
            _check_operators(inner)
    elif isinstance(wanted, list | tuple):
        for inner in wanted:
            _check_operators(inner)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether each field that a filter names is as it says."""
    return all(_fits(value.get(name), condition) for name, condition in wanted.items())


def _fits(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compared(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and matches(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(map(_fits, value, condition))
        )
    return bool(value == condition)


def _compared(value: Any, name: str, other: Any) -> bool:
    """Order is only between two numbers or two texts; nothing else is more or less."""
    if name in _ORDERED and not (_both(value, other, str) or _both(value, other, (int, float))):
        return False
    return bool(_COMPARISONS[name](value, other))


def _both(one: object, other: object, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(one, kinds) and isinstance(other, kinds)


def namespace_matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, as a condition says; ``*`` is any one label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidValue("match_type", f"{condition.match_type!r} is not one of: prefix, suffix")
    if len(path) > len(namespace):
        return False
    if not path:
        return True
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(want in (_ANY_LABEL, label) for label, want in zip(labels, path, strict=True))
