"""Texts, batches and transcripts from arguments, files and standard input."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ricordo import limits
from ricordo.cli.store import STANDARD_STREAM
from ricordo.errors import ImportFailed, InvalidInput
from ricordo.frozen import dataclass
from ricordo.model.thread import NewTurn

if TYPE_CHECKING:
    from ricordo.model.draft import NewMemory

_MAX_TRANSCRIPT_BYTES: Final = 64 * 1024 * 1024  # the whole file is read at once
_USUAL_ROLE: Final = "user"
_MAX_NAME_CHARS: Final = 60
_NAME: Final = re.compile(r"[^\W_][\w.'’-]*(?: [\w.'’-]+){0,3}")
_LIST_OF_MESSAGES: Final = re.compile(r"\[\s*[{\]]")


def read_text(given: str) -> str:
    """The text, or standard input for ``-``. Raises ImportFailed."""
    if given != STANDARD_STREAM:
        return given
    return _decoded("standard input", _limited(sys.stdin.buffer.read, "standard input"))


def read_batch(path: Path, defaults: Mapping[str, Any]) -> "list[NewMemory]":
    """Read memories from a file (``-``: standard input), one per line: JSON objects or plain text.

    It is JSON Lines if the first non-blank line begins with ``{``. The defaults fill in what a line
    leaves out. Raises ImportFailed: the file cannot be read; or names the line and what is wrong
    with it.
    """
    from ricordo.model.draft import NewMemory

    drafts: list[NewMemory] = []
    is_json: bool | None = None
    for place, line in _lines_of(path):
        is_json = line.startswith("{") if is_json is None else is_json
        try:
            values = _json_object(line) if is_json else {"content": line}
            drafts.append(NewMemory.parse(_completed(values, defaults)))
        except InvalidInput as problem:
            raise ImportFailed(f"{place}: {problem}") from None
        if len(drafts) > limits.MAX_BULK_ITEMS:
            break  # enough for the library to refuse it; an endless file must not fill the memory
    return drafts


def _lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Non-blank lines, each with its location for error messages."""
    if str(path) == STANDARD_STREAM:
        yield from _numbered(sys.stdin.buffer, "standard input")
        return
    try:
        with path.open("rb") as file:
            yield from _numbered(file, str(path))
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None


def _numbered(file: IO[bytes], name: str) -> Iterator[tuple[str, str]]:
    number = 1
    while line := _limited(file.readline, f"{name}, line {number}"):
        text = _decoded(f"{name}, line {number}", line).strip()
        if text:
            yield f"{name}, line {number}", text
        number += 1


def _limited(read: Callable[[int], bytes], place: str) -> bytes:
    line = read(limits.MAX_IMPORT_LINE_BYTES + 1)
    if len(line) > limits.MAX_IMPORT_LINE_BYTES:
        raise ImportFailed(f"{place}: longer than {limits.MAX_IMPORT_LINE_BYTES} bytes")
    return line


def _decoded(place: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ImportFailed(f"{place}: not text in UTF-8") from None


def _json_object(line: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"not JSON ({problem})") from None
    if not isinstance(values, dict):
        raise InvalidInput("not a JSON object")
    return values


def _completed(values: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    if "category" in values:  # an alias of "theme"
        defaults = {name: value for name, value in defaults.items() if name != "theme"}
    return {**defaults, **values}


@dataclass(frozen=True, slots=True)
class Unnamed:
    """The speaker where a transcript names none."""

    role: str | None
    actor: str | None

    @property
    def is_known(self) -> bool:
        return self.role is not None or self.actor is not None

    def completing(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message with the missing fields filled in. The actor only applies to its role."""
        if message.get("role") is None and self.role is not None:
            message = {**message, "role": self.role}
        in_role = message.get("role") == (self.role or _USUAL_ROLE)
        if message.get("actor") is None and self.actor is not None and in_role:
            message = {**message, "actor": self.actor}
        return message


def read_transcript(path: Path, unnamed: Unnamed) -> list[NewTurn]:
    """Read the turns of a transcript. Raises ImportFailed."""
    name = "standard input" if str(path) == STANDARD_STREAM else str(path)
    said: list[NewTurn] = []
    for place, message in _messages(name, _content(path, name), unnamed):
        try:
            if not isinstance(message, dict):
                raise InvalidInput("not a message, that is an object with role and content")
            said.append(NewTurn.parse(unnamed.completing(message)))
        except InvalidInput as problem:
            raise ImportFailed(f"{name}, {place}: {problem}") from None
    if not said:
        raise ImportFailed(f"{name}: nothing was said in it")
    return said


def _content(path: Path, name: str) -> str:
    if str(path) == STANDARD_STREAM:
        return _limited_text(sys.stdin.buffer, name)
    try:
        with path.open("rb") as file:
            return _limited_text(file, name)
    except OSError as error:
        raise ImportFailed(f"{name}: cannot be read ({error.strerror})") from None


def _limited_text(file: IO[bytes], name: str) -> str:
    content = file.read(_MAX_TRANSCRIPT_BYTES + 1)
    if len(content) > _MAX_TRANSCRIPT_BYTES:
        raise ImportFailed(f"{name}: longer than {_MAX_TRANSCRIPT_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        number = content.count(b"\n", 0, problem.start) + 1
        raise ImportFailed(f"{name}, line {number}: not text in UTF-8") from None


def _messages(name: str, text: str, unnamed: Unnamed) -> Iterator[tuple[str, Any]]:
    """The messages of a transcript in any format, each with its location for error messages."""
    begin = text.lstrip()
    if _LIST_OF_MESSAGES.match(begin):
        listed = _loaded(name, text, 1)
        yield from ((f"message {number}", one) for number, one in enumerate(listed, 1))
    elif begin.startswith("{"):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"line {number}", _loaded(name, line, number)
    else:
        yield from _plain_text_turns(name, text, unnamed)


def _loaded(name: str, text: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        number = first_line + problem.lineno - 1
        raise ImportFailed(f"{name}, line {number}: not JSON ({problem.msg})") from None
    except (ValueError, RecursionError) as problem:
        raise ImportFailed(f"{name}, line {first_line}: not JSON ({problem})") from None


def _plain_text_turns(
    name: str, text: str, unnamed: Unnamed
) -> Iterator[tuple[str, dict[str, str]]]:
    """Turns of plain text: a line with a speaker begins one, all others continue it."""
    place = ""
    turn: dict[str, str] = {}
    lines: list[str] = []  # joined once: a turn may be the whole text
    for number, line in enumerate(text.split("\n"), 1):
        begun = _turn_start(line, unnamed)
        if begun is None and turn:
            lines.append(line)
            continue
        if begun is None and not line.strip():
            continue
        if begun is None and not unnamed.is_known:
            raise ImportFailed(
                f"{name}, line {number}: no speaker; expected NAME: TEXT (--actor or --role says"
                " who speaks where there is no name)"
            )
        if turn:
            yield place, {**turn, "content": "\n".join(lines)}
        place = f"line {number}"
        turn = begun or {"role": unnamed.role or _USUAL_ROLE, "content": line}
        lines = [turn["content"]]
    if turn:
        yield place, {**turn, "content": "\n".join(lines)}


def _turn_start(line: str, unnamed: Unnamed) -> dict[str, str] | None:
    """The turn that a line begins; None where it names no speaker."""
    given, colon, said = line.partition(":")
    speaker = given.strip()
    is_spaced = not said or said[0].isspace()  # "10:30" and "https://" are no speakers
    if not colon or not is_spaced or not _is_name(speaker):
        return None
    if speaker.lower() in ("user", "assistant", "system", "tool"):
        return {"role": speaker.lower(), "content": said}
    return {"role": unnamed.role or _USUAL_ROLE, "actor": speaker, "content": said}


def _is_name(given: str) -> bool:
    if len(given) > _MAX_NAME_CHARS or not _NAME.fullmatch(given):
        return False
    first, *others = given.split()
    # "Here is why:" is a sentence; names of several words are capitalised at both ends.
    return not others or not (first.islower() or others[-1].islower())
