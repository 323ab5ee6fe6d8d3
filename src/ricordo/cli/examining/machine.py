"""The computer: versions, clock, and what is set in the environment."""

import difflib
import platform
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from ricordo.cli.finding import CheckFinding, ok, problem, warning
from ricordo.clock import system_clock
from ricordo.version import __version__

_OLDEST_SQLITE: Final = (3, 35, 0)  # the first with RETURNING
_YEARS: Final = range(2024, 2100)
_SET_CLOCK: Final = "set the clock of this computer, e.g. timedatectl set-ntp true"
_PREFIX: Final = "RICORDO_"
_OF_THE_COMMAND_LINE: Final = (
    "USER",
    "DEBUG",
    "API_KEY",
    "EMBEDDINGS_KEY",
    "ROLE_PASSWORD",
    "NEW_DATABASE_KEY",
)
_LIKENESS: Final = 0.75


def version() -> CheckFinding:
    """Which ricordo this is."""
    return ok("version", f"ricordo {__version__}")


def python() -> CheckFinding:
    """Which Python runs it."""
    return ok("python", platform.python_version())


def sqlite() -> CheckFinding:
    """Whether Python's SQLite is new enough."""
    if sqlite3.sqlite_version_info >= _OLDEST_SQLITE:
        return ok("sqlite", sqlite3.sqlite_version)
    needed = ".".join(map(str, _OLDEST_SQLITE))
    return problem("sqlite", sqlite3.sqlite_version, f"use a Python with SQLite {needed} or newer")


def clock() -> CheckFinding:
    """Whether the time can be right. What is stored is held against it later."""
    now = system_clock()
    shown = now.isoformat(timespec="seconds")
    return ok("clock", shown) if now.year in _YEARS else problem("clock", shown, _SET_CLOCK)


def settings(environment: Mapping[str, str], given: Mapping[str, Any]) -> CheckFinding:
    """Whether all settings are allowed, and none is misspelt. Values are not shown.

    Raises:
        InvalidInput: one is not.
    """
    from ricordo.settings import Settings
    from ricordo.wiring import read_settings

    read_settings(environment, given)
    names = {name.upper() for name in Settings.model_fields}
    present = sorted(name.removeprefix(_PREFIX) for name in environment if name.startswith(_PREFIX))
    meant: dict[str, str] = {}
    for name in present:
        if name not in names and name not in _OF_THE_COMMAND_LINE:
            near = difflib.get_close_matches(name, sorted(names), 1, _LIKENESS)
            meant |= {f"{_PREFIX}{name}": f"{_PREFIX}{near[0]}"} if near else {}
    if meant:
        wrong, right = ", ".join(meant), ", ".join(meant.values())
        those = "is set, but is no setting" if len(meant) == 1 else "are set, but are no settings"
        it = "it" if len(meant) == 1 else "them"
        return warning("settings", f"{wrong} {those}", f"call {it} {right}, or unset {it}")
    used = [f"{_PREFIX}{name}" for name in present if name in names]
    return ok("settings", f"set in the environment: {', '.join(used) or 'none'}")
