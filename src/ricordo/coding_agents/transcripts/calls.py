"""Calls of tools as the agents record them, made alike: command, files, exit code, output.

Nothing is cut here: secrets are looked for in whole lines (see ``capture``).
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ricordo.coding_agents.entry import ToolCall
from ricordo.transfer.foreign_files import text

_FILE_ARGUMENTS: Final = ("file_path", "filePath", "notebook_path", "absolute_path", "path")
_COMMAND_ARGUMENTS: Final = ("command", "cmd", "script")
_PATCH_FILE: Final = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (\S[^\n]*?)[ \t]*$", re.MULTILINE
)
_EXIT_CODE: Final = re.compile(
    r"(?:^|\n)[ \t]*(?:Process exited with code|Exit [Cc]ode:?) (-?[0-9]{1,9})\b"
)
_STATED_WITHIN: Final = 400  # characters of the beginning or the end of an output
_EXIT_LINE: Final = re.compile(r"\AExit code -?[0-9]{1,9}\n")
_REMINDERS: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_SHELL_WORDS: Final = 3  # a shell, -c, and what it runs


def call_of(
    name: str,
    arguments: Mapping[str, Any],
    output: str,
    *,
    failed: bool = False,
    exit_code: int | None = None,
) -> ToolCall:
    """A call and how it ended. An exit code is read from the output where none is given.

    The error is the last line that a call which failed printed.
    """
    output = text(_REMINDERS.sub("", output))
    command = _command(arguments)
    if exit_code is None and command is not None:
        exit_code = stated_exit_code(output)
        output = _EXIT_LINE.sub("", output)
    failed = failed or exit_code not in (None, 0)
    return ToolCall(
        name=text(name) or "tool",
        arguments=arguments,
        files=files_of(arguments),
        command=command,
        exit_code=exit_code,
        error=(output.rpartition("\n")[2].strip() or "failed") if failed else None,
        output=output,
    )


def files_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a call names, by its arguments or in a patch."""
    named = [text(arguments.get(name)) for name in _FILE_ARGUMENTS]
    for patch in (arguments.get(name) for name in ("input", "patch", *_COMMAND_ARGUMENTS)):
        if isinstance(patch, str) and "*** Begin Patch" in patch:
            named += map(text, _PATCH_FILE.findall(patch))
    return tuple(dict.fromkeys(filter(None, named)))


def stated_exit_code(output: str) -> int | None:
    """The exit code that an output states in its first or last lines."""
    found = _EXIT_CODE.search(output[:_STATED_WITHIN]) or _EXIT_CODE.search(
        output[-_STATED_WITHIN:]
    )
    return int(found[1]) if found else None


def given_arguments(given: object) -> Mapping[str, Any]:
    """The arguments of a call, also where they are JSON or a plain text."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {"input": given}
    return given if isinstance(given, dict) else {}


def _command(arguments: Mapping[str, Any]) -> str | None:
    for name in _COMMAND_ARGUMENTS:
        given = arguments.get(name)
        if isinstance(given, list):
            words = [word for word in given if isinstance(word, str)]
            is_shell = len(words) == _SHELL_WORDS and words[1] in ("-c", "-lc")
            given = words[-1] if is_shell else " ".join(words)
        if command := text(given):
            return command
    return None
