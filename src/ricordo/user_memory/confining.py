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
from dataclasses import replace
from typing import Any, Final

from ricordo.errors import PermissionMissing
from ricordo.model.filters import ItemFilter
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


def close_to_confined(operations: type) -> None:
    """Let every public method of a class that is not in the list refuse a confined scope."""
    for name, method in list(vars(operations).items()):
        is_public = inspect.isfunction(method) and not name.startswith("_")
        if is_public and name not in OPEN_TO_CONFINED:
            setattr(operations, name, _refusing(name, method))


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


def _refusing(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        check_whole(self.scope, name)
        return method(self, *args, **kwargs)

    return call
