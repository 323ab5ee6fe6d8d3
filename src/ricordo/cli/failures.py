"""Telling people and programs what went wrong, and what to do about it."""

import json
import sys
from collections.abc import Sequence

from ricordo import errors
from ricordo.cli.fixes import fix_of, nearest
from ricordo.cli.names import Named, names_in_store
from ricordo.cli.render import say

_NAMED: dict[type[errors.RicordoError], Named] = {
    errors.ThemeNotFound: Named.THEME,
    errors.ThreadNotFound: Named.THREAD,
    errors.UserNotFound: Named.USER,
}


def report(
    error: errors.RicordoError, arguments: Sequence[str], command: str, *, as_json: bool
) -> None:
    """Say on standard error what the library refused or could not do."""
    fix = fix_of(error, command)
    kind = _NAMED.get(type(error))
    if kind is not None:
        meant = nearest(arguments, names_in_store(kind, arguments))
        fix = fix if meant is None else f"{meant} {fix}"
    report_as(type(error).__name__, told(error), fix, as_json=as_json)


def told(error: Exception) -> str:
    """What an error says, on one line, without the password of an address in it."""
    # What a driver says may go over several lines.
    return errors.without_password(" ".join(str(error).split()))


def report_as(name: str, message: str, fix: str | None, *, as_json: bool) -> None:
    """Say on standard error what went wrong: one JSON object, or lines for people."""
    if as_json:
        told = {"error": name, "message": message}
        if fix is not None:
            told["fix"] = fix
        sys.stderr.write(f"{json.dumps(told)}\n")
        return
    say(f"error: {message}")
    if fix is not None:
        say(f"hint: {fix}")
