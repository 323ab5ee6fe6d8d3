"""Reading what was said from a file: JSON, JSON Lines or plain text."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from ricordo.cli.options import STANDARD_STREAM
from ricordo.errors import ImportFailed, InvalidInput
from ricordo.model.thread import NewTurn

_MAX_TRANSCRIPT_BYTES: Final = 64 * 1024 * 1024  # it is read as a whole
_ROLES: Final = ("user", "assistant", "system", "tool")
_USUAL_ROLE: Final = "user"
_MAX_NAME_CHARS: Final = 60
_NAME: Final = re.compile(r"[^\W_][\w.'’-]*(?: [\w.'’-]+){0,3}")
_LIST_OF_MESSAGES: Final = re.compile(r"\[\s*[{\]]")


@dataclass(frozen=True, slots=True)
class Unnamed:
    """Who speaks where a transcript does not say so."""

    role: str | None
    actor: str | None

    @property
    def is_known(self) -> bool:
        """True where the caller has said who speaks."""
        return self.role is not None or self.actor is not None

    def completing(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message with what it leaves open. The actor is somebody in that one role."""
        if message.get("role") is None and self.role is not None:
            message = {**message, "role": self.role}
        in_role = message.get("role") == (self.role or _USUAL_ROLE)
        if message.get("actor") is None and self.actor is not None and in_role:
            message = {**message, "actor": self.actor}
        return message


def read_transcript(path: Path, unnamed: Unnamed) -> list[NewTurn]:
    """What was said in a file.

    Raises:
        ImportFailed: the file cannot be read; or names the place and what is wrong with it.
    """
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
        return _limited(sys.stdin.buffer, name)
    try:
        with path.open("rb") as file:
            return _limited(file, name)
    except OSError as error:
        raise ImportFailed(f"{name}: cannot be read ({error.strerror})") from None


def _limited(file: IO[bytes], name: str) -> str:
    content = file.read(_MAX_TRANSCRIPT_BYTES + 1)
    if len(content) > _MAX_TRANSCRIPT_BYTES:
        raise ImportFailed(f"{name}: longer than {_MAX_TRANSCRIPT_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        number = content.count(b"\n", 0, problem.start) + 1
        raise ImportFailed(f"{name}, line {number}: not text in UTF-8") from None


def _messages(name: str, text: str, unnamed: Unnamed) -> Iterator[tuple[str, Any]]:
    """The messages of a transcript, whatever it is, each with its place for error messages."""
    begin = text.lstrip()
    if _LIST_OF_MESSAGES.match(begin):
        listed = _loaded(name, text, 1)
        yield from ((f"message {number}", one) for number, one in enumerate(listed, 1))
    elif begin.startswith("{"):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"line {number}", _loaded(name, line, number)
    else:
        yield from _spoken(name, text, unnamed)


def _loaded(name: str, text: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        number = first_line + problem.lineno - 1
        raise ImportFailed(f"{name}, line {number}: not JSON ({problem.msg})") from None
    except (ValueError, RecursionError) as problem:
        raise ImportFailed(f"{name}, line {first_line}: not JSON ({problem})") from None


def _spoken(name: str, text: str, unnamed: Unnamed) -> Iterator[tuple[str, dict[str, str]]]:
    """The turns of plain text: a line with a speaker begins one, all others go on with it."""
    place = ""
    turn: dict[str, str] = {}
    lines: list[str] = []  # of the turn, put together once: it may be the whole text
    for number, line in enumerate(text.split("\n"), 1):
        begun = _beginning(line, unnamed)
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


def _beginning(line: str, unnamed: Unnamed) -> dict[str, str] | None:
    """The turn that a line begins; None where it names no speaker."""
    given, colon, said = line.partition(":")
    speaker = given.strip()
    is_spaced = not said or said[0].isspace()  # "10:30" and "https://" name nobody
    if not colon or not is_spaced or not _is_name(speaker):
        return None
    if speaker.lower() in _ROLES:
        return {"role": speaker.lower(), "content": said}
    return {"role": unnamed.role or _USUAL_ROLE, "actor": speaker, "content": said}


def _is_name(given: str) -> bool:
    if len(given) > _MAX_NAME_CHARS or not _NAME.fullmatch(given):
        return False
    first, *others = given.split()
    # "Here is why:" is a sentence that goes on; names of several words have capitals at both ends.
    return not others or not (first.islower() or others[-1].islower())
