"""The named sets of tools."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.tools.profile import PROFILE
from ricordo.tools.query import QUERY
from ricordo.tools.single import SINGLE
from ricordo.tools.standard import STANDARD
from ricordo.tools.tool import Tool

DEFAULT_SET: Final = "standard"
_SHOWN_CHARS: Final = 60  # of a name that comes from outside
TOOL_SETS: Final[Mapping[str, tuple[Tool, ...]]] = MappingProxyType(
    {"standard": STANDARD, "single": SINGLE, "query": QUERY, "profile": PROFILE}
)


def chosen_sets(*sets: str) -> tuple[str, ...]:
    """The sets of these names, each once; without any, the standard one.

    Raises:
        InvalidValue: there is no such set.
    """
    for name in sets:
        if not isinstance(name, str) or name not in TOOL_SETS:
            allowed = ", ".join(TOOL_SETS)
            shown = repr(str(name)[:_SHOWN_CHARS])
            raise InvalidValue("tools", f"there is no set {shown}; allowed: {allowed}")
    return tuple(dict.fromkeys(sets)) or (DEFAULT_SET,)


def named_sets(given: str) -> tuple[str, ...]:
    """The sets in a text that names them with commas.

    Raises:
        InvalidValue: there is no such set.
    """
    return chosen_sets(*(name.strip() for name in given.split(",") if name.strip()))


def chosen(*sets: str) -> tuple[Tool, ...]:
    """The tools of these sets, each once.

    Raises:
        InvalidValue: there is no such set.
    """
    named = {tool.name: tool for name in chosen_sets(*sets) for tool in TOOL_SETS[name]}
    return tuple(named.values())
