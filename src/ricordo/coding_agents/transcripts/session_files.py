"""What all agents' session files have in common: JSON in lines, which grow while they are read.

Nothing in them is trusted: a line can be half written, of any size, no JSON, or no UTF-8.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from ricordo.coding_agents.entry import Entry, Position, ToolCall
from ricordo.frozen import dataclass, replace
from ricordo.limits import MAX_REFERENCE_CHARS
from ricordo.transfer.foreign_files import JsonObject, text

MAX_LINE_BYTES: Final = 32 * 1024 * 1024
_HEAD_LINES: Final = 50
_READ_BYTES: Final = 1024 * 1024

_OWN_BLOCK: Final = re.compile(r"<ricordo-memory>.*?(?:</ricordo-memory>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session on this disk. ``folder`` is where it was held; None where nothing tells."""

    agent: str
    session_id: str
    path: Path
    folder: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON object and the bytes of the file that it takes."""

    start: int
    end: int
    value: JsonObject


def lines(path: Path, offset: int = 0) -> Iterator[Line]:
    """The objects of a file from an offset on; all of them where the file is another by now.

    What is not an object is left out, and so is a last line that is not complete yet. Raises
    OSError: it cannot be read.
    """
    with path.open("rb") as file:
        start = offset if _is_start_of_line(file, offset) else 0
        file.seek(start)
        while line := file.readline(MAX_LINE_BYTES):
            end = start + len(line)
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                end = _after_line(file)
            elif (value := parsed(line)) is not None:
                yield Line(start, end, value)
            start = end


def head(path: Path) -> Iterator[JsonObject]:
    """The first objects of a file; none where it cannot be read."""
    try:
        for number, line in enumerate(lines(path)):
            if number == _HEAD_LINES:
                return
            yield line.value
    except OSError:
        return


def parsed(given: bytes | str) -> JsonObject | None:
    """A JSON object; None for anything else."""
    if isinstance(given, bytes):
        given = given.decode("utf-8", "replace")
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def placed(entries: Sequence[Entry], start: int, end: int) -> Iterator[Entry]:
    """Entries of one record, with how far one has read: only the last of them has all of it."""
    for number, entry in enumerate(entries, start=1):
        offset = end if number == len(entries) else start
        yield replace(entry, after=Position(offset, entry.id))


def made_id(*parts: object) -> str:
    """An id for what has none, or one that cannot be stored: the same for the same parts."""
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:32]


def stored_id(given: str) -> str:
    """An id as it can be stored."""
    fits = 0 < len(given) <= MAX_REFERENCE_CHARS and given == given.strip() and given.isprintable()
    return given if fits else made_id(given)


def said(given: object) -> str:
    """What somebody said, without what ricordo had put there."""
    return text(_OWN_BLOCK.sub("", text(given)))


def texts(content: Any) -> str:
    """The text of a content: a string, or a list of parts of which some have text."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "\n".join(filter(None, map(text, parts)))
    return text(content)


def updated(path: Path) -> datetime | None:
    """When a file was last written; None where it is gone."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    except (OSError, ValueError, OverflowError):
        return None


def _is_start_of_line(file: IO[bytes], offset: int) -> bool:
    if offset <= 0:
        return False
    file.seek(offset - 1)
    around = file.read(2)
    return around[:1] == b"\n" or around[1:] == b"\n"


def _after_line(file: IO[bytes]) -> int:
    while piece := file.readline(_READ_BYTES):
        if piece.endswith(b"\n"):
            break
    return file.tell()


# Calls of tools as the agents record them, made alike: command, files, exit code, output.
#
# Nothing is cut here: secrets are looked for in whole lines (see ``capture``).

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
