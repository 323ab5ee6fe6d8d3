"""Whose memory a request is about, and what of it is offered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ricordo.errors import InvalidValue
from ricordo.tools.sets import named_sets
from ricordo.user_memory import UserMemory

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from ricordo.mcp.threads import Threads

Asked: TypeAlias = "ServerRequestContext[Threads, Any]"
"""A request: its session, and over HTTP the request that it came with."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The memory that one request is about, and the sets of tools; none for the standard one."""

    user: UserMemory
    sets: tuple[str, ...] = ()


def default_sets(setting: str) -> tuple[str, ...]:
    """The sets that the setting ``mcp_tools`` names, for where nobody asks for others.

    Raises:
        InvalidValue: there is no such set.
    """
    try:
        return named_sets(setting)
    except InvalidValue as problem:
        raise InvalidValue("setting mcp_tools", problem.problem) from None


Who: TypeAlias = Callable[["Asked"], Binding]
"""Finds out whom a request is about, for each anew. Runs in the thread of the request."""
