"""Reading the text and the batches that people hand over."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ricordo import limits
from ricordo.cli.options import STANDARD_STREAM
from ricordo.errors import ImportFailed, InvalidInput

if TYPE_CHECKING:
    from ricordo.model.draft import NewMemory


def read_text(given: str) -> str:
    """A text as it was typed, or what standard input says when it is ``-``.

    Raises:
        ImportFailed: standard input is not UTF-8, or much longer than a memory may be.
    """
    if given != STANDARD_STREAM:
        return given
    return _decoded("standard input", _limited(sys.stdin.buffer.read, "standard input"))


def read_batch(path: Path, defaults: Mapping[str, Any]) -> "list[NewMemory]":
    """The memories of a file, one a line: JSON objects, or plain text. ``-`` is standard input.

    It is JSON Lines when the first line that is not blank begins with ``{``. The defaults hold
    for what a line leaves open.

    Raises:
        ImportFailed: the file cannot be read; or names the line and what is wrong with it.
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
            break  # enough for the library to refuse it; an endless file shall not fill the memory
    return drafts


def _lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """The lines that are not blank, each with its place for error messages."""
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
    if "category" in values:  # the other name of a theme
        defaults = {name: value for name, value in defaults.items() if name != "theme"}
    return {**defaults, **values}
