"""What a scope that is kept to some categories can do: the one place that says so.

What is filed under a theme is read and written through :class:`~ricordo.storage.where.Audience`,
``own_item`` and ``NewMemory.stamped``, which all ask the scope what it reaches. What is filed under
none (conversations, the change feed, the profile, states of programs, files) cannot be cut along
categories, so a confined scope gets none of it. What is not in the list below is refused, also
what will be added later.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

from ricordo.errors import PermissionMissing
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Change, Item
from ricordo.model.record import Record
from ricordo.model.scope import Scope

OPEN_TO_CONFINED: Final = frozenset(
    {
        "add",
        "add_many",
        "archive",
        "context",
        "describe_theme",
        "embedding_states",
        "feedback",
        "forget",
        "get",
        "get_many",
        "history",
        "lineage",
        "link",
        "links",
        "list",
        "merge",
        "narrow",
        "observe",  # an agent has to tell what was said; reading it again is another thing
        "pin",
        "query",
        "related",
        "relation_graph",
        "restore",
        "search",
        "themes",
        "undo",
        "unlink",
        "verify",
    }
)
"""The operations on what is filed under a theme, each within the categories of its scope."""


_QUOTE: Final = "source_context"


def close_to_confined(operations: type) -> None:
    """Let every public method of a class that is not in the list refuse a confined scope, and
    those that are show it no quote that tells of something else."""
    for name, method in list(vars(operations).items()):
        is_public = inspect.isfunction(method) and not name.startswith("_")
        if is_public:
            wrapped = _showing if name in OPEN_TO_CONFINED else _refusing
            setattr(operations, name, wrapped(name, method))


def check_whole(scope: Scope, what: str) -> None:
    """Refuse something that cannot be cut along categories.

    Raises:
        PermissionMissing: the scope is confined.
    """
    if scope.categories is not None:
        listed = ", ".join(sorted(scope.categories)) or "none"
        raise PermissionMissing(
            f"{what} is about a user's whole memory; allowed here: the categories {listed}"
        )


def confined(wanted: ItemFilter, scope: Scope) -> ItemFilter:
    """The filter within the categories of a scope.

    Raises:
        CategoryNotAllowed: it asks for a theme that the scope does not reach.
    """
    if scope.categories is None:
        return wanted
    if wanted.theme is None:
        return replace(wanted, theme=tuple(sorted(scope.categories)))
    scope.check_reaches(wanted.theme)
    return wanted


def _showing(_name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        return _shown(found) if self.scope.is_confined else found

    return call


def _shown(found: Any) -> Any:
    """The same with quotes that tell no more than their memories: also inside of pages, answers
    and history."""
    if isinstance(found, Item):
        if found.source_context is None:
            return found
        from ricordo.formation.evidence import quote_for_others  # takes long to load

        quote = quote_for_others(found.content, found.key, found.source_context)
        return replace(found, source_context=quote)
    if isinstance(found, Change):
        before = found.before
        if before and before.get(_QUOTE) is not None:
            return replace(found, before={**before, _QUOTE: None})
        return found
    if isinstance(found, tuple | list):
        return type(found)(map(_shown, found))
    if isinstance(found, Record):
        values = {field.name: getattr(found, field.name) for field in fields(found)}  # type: ignore[arg-type]
        changed = {
            name: shown
            for name, value in values.items()
            if isinstance(value, Record | tuple) and (shown := _shown(value)) != value
        }
        return replace(found, **changed) if changed else found  # type: ignore[type-var]
    return found


def _refusing(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        check_whole(self.scope, name)
        return method(self, *args, **kwargs)

    return call
