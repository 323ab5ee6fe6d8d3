"""What commands do with the text of a file. Nothing here knows where it is kept.

A memory has no blank space at either end, so a file has none either. While it is edited its last
line ends like all others, so that a model finds ``"last line\\n"`` where it wrote that.
"""

from collections.abc import Iterator
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_CONTENT_CHARS
from ricordo.model import checks

_NUMBER_WIDTH: Final = 6
_LINES_AROUND: Final = 2
_MAX_PLACES: Final = 20  # that are told where a text occurs more than once


def stored_text(field: str, text: object) -> str:
    """A text as a file keeps it.

    Raises:
        InvalidValue: nothing but blank space, too long, or with characters that cannot be kept.
    """
    if isinstance(text, str) and not text.strip():
        raise InvalidValue(
            field, "would leave the file empty, which no memory file is: write at least a line"
        )
    if isinstance(text, str) and len(text.strip()) > MAX_CONTENT_CHARS:
        raise InvalidValue(
            field,
            f"would make the file {len(text.strip())} characters long; allowed: at most"
            f" {MAX_CONTENT_CHARS}: split it into several files",
        )
    return checks.text(field, text, MAX_CONTENT_CHARS)


def lines_of(content: str) -> list[str]:
    """The lines of a file; only a line feed ends one."""
    return content.split("\n")


def numbered(content: str, first: int = 1, last: int | None = None) -> str:
    """Lines with their numbers in front, as the tool shows a file."""
    chosen = lines_of(content)[first - 1 : last]
    return "\n".join(
        f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(chosen, start=first)
    )


def checked_range(content: str, view_range: object) -> tuple[int, int]:
    """The first and the last line to be shown.

    Raises:
        InvalidValue: not two lines of this file, the first one first.
    """
    count = len(lines_of(content))
    allowed = f"allowed: [first, last] from 1 to {count}, or -1 for the last line"
    listed = checks.entries("view_range", view_range, 2)
    if len(listed) != 2 or any(isinstance(n, bool) or not isinstance(n, int) for n in listed):
        raise InvalidValue("view_range", f"expected two line numbers; {allowed}")
    first, last = listed
    last = count if last == -1 else last
    if not 1 <= first <= min(last, count):
        raise InvalidValue("view_range", f"these lines are not in the file; {allowed}")
    return first, min(last, count)


def replaced(content: str, old: object, new: object) -> tuple[str, str]:
    """The text with one passage in the place of another, which must occur exactly once.

    Also the lines around it as they are now, with their numbers.

    Raises:
        InvalidValue: it does not occur, or more than once; or what remains cannot be a file.
    """
    old, new = _text("old_str", old), _text("new_str", new)
    if not old:
        raise InvalidValue("old_str", "is empty: give the text to be replaced")
    whole = f"{content}\n"
    places = list(_places(whole, old))
    if not places:
        raise InvalidValue(
            "old_str",
            "does not occur in the file: view the file and copy the text exactly, with its spaces"
            " and line breaks",
        )
    if len(places) > 1:
        listed = ", ".join(str(_line_at(whole, at)) for at in places[:_MAX_PLACES])
        more = " and more" if len(places) > _MAX_PLACES else ""
        raise InvalidValue(
            "old_str",
            f"occurs {len(places)} times, in lines {listed}{more}: give more of the text around"
            " the one that you mean",
        )
    at = places[0]
    made = whole[:at] + new + whole[at + len(old) :]
    text = stored_text("new_str", made)
    trimmed = made[: len(made) - len(made.lstrip())]
    line = min(max(1, _line_at(made, at) - trimmed.count("\n")), len(lines_of(text)))
    first, last = max(1, line - _LINES_AROUND), line + new.count("\n") + _LINES_AROUND
    return text, numbered(text, first, last)


def inserted(content: str, after_line: object, text: object) -> str:
    """The text with lines put in after one of its lines; 0 is before the first.

    Raises:
        InvalidValue: there is no such line; or the result cannot be a file.
    """
    lines = lines_of(content)
    if isinstance(after_line, bool) or not isinstance(after_line, int):
        raise InvalidValue("insert_line", f"expected a line number from 0 to {len(lines)}")
    if not 0 <= after_line <= len(lines):
        raise InvalidValue(
            "insert_line",
            f"there is no such line; allowed: 0 (before the first line) to {len(lines)}"
            " (after the last one)",
        )
    new = _text("insert_text", text).removesuffix("\n")
    return stored_text("insert_text", "\n".join([*lines[:after_line], new, *lines[after_line:]]))


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValue(field, f"expected text, got {type(value).__name__}")
    return value


def _places(whole: str, passage: str) -> Iterator[int]:
    at = whole.find(passage)
    while at >= 0:
        yield at
        at = whole.find(passage, at + 1)


def _line_at(whole: str, at: int) -> int:
    return whole.count("\n", 0, at) + 1
