"""Text and path operations of memory files, independent of how they are stored.

A memory has no white space at either end, so a file has none either. While it is edited, its last
line ends with a line break like all others, so that a model can match it with its line break.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_CONTENT_CHARS, MAX_KEY_CHARS, MAX_LISTED_FILES
from ricordo.model import checks

_NUMBER_WIDTH: Final = 6
_LINES_AROUND: Final = 2
_MAX_PLACES: Final = 20  # that are listed where a text occurs more than once
ROOT: Final = "/memories"
ROOT_KEY: Final = ""
"""The key of the root directory."""
_HINT: Final = f"allowed: {ROOT}/ and then names, such as {ROOT}/notes.md"
# Invisible although letters or marks by category: fillers, joiners, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ENCODED = re.compile(r"%[0-9a-fA-F]{2}")
_DRIVE = re.compile(r"[A-Za-z]:")
_LOOKS_LIKE_A_SLASH: Final = frozenset("\\⁄∕╱⧸⫽／﹨∖⧵⧹＼╲⟋⟍")
_LOOKS_LIKE_A_DOT: Final = frozenset(".․‥…．﹒｡。·•∙⋅")
_LEVELS: Final = 2
_UNITS: Final = ("B", "K", "M", "G")


def stored_text(field: str, text: object) -> str:
    """A text as a file stores it. Raises InvalidValue: empty, too long, or with characters that
    cannot be stored."""
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
    """Lines with their numbers, as the tool shows a file."""
    chosen = lines_of(content)[first - 1 : last]
    return "\n".join(
        f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(chosen, start=first)
    )


def checked_range(content: str, view_range: object) -> tuple[int, int]:
    """The first and the last line to show. Raises InvalidValue: not a valid range of this file."""
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
    """Replace a passage that occurs exactly once.

    Returns the text, and the numbered lines around the change. Raises InvalidValue: it does not
    occur, or more than once; or the result cannot be a file.
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
    """Insert lines after a line; 0 is before the first. Raises InvalidValue: there is no such line;
    or the result cannot be a file."""
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


def key_of(field: str, path: object) -> str:
    """The key of a path: the part below ``/memories``, with a leading slash.

    The slash distinguishes it from the keys of other memories. Repeated slashes are removed, and
    Unicode is normalised. A path never opens a file, but names that look like a way out or like
    another name are refused, so that a model gets what it sees. Raises InvalidValue: not below
    ``/memories``, or a name in it is not allowed.
    """
    if not isinstance(path, str):
        raise InvalidValue(field, f"expected a path, got {type(path).__name__}; {_HINT}")
    if not path.isprintable() or _INVISIBLE.search(path):
        raise InvalidValue(field, f"must not contain control characters or invisible ones; {_HINT}")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidValue(field, f"must begin with {ROOT}/; {_HINT}")
    written = unicodedata.normalize("NFC", path.removeprefix(ROOT))
    names = [name for name in written.split("/") if name]
    key = "".join(f"/{name}" for name in names)
    if len(key) > MAX_KEY_CHARS:  # first, because the messages below quote the name
        raise InvalidValue(
            field, f"{len(key)} characters after {ROOT}; allowed: at most {MAX_KEY_CHARS}"
        )
    for name in names:
        _check_name(field, name)
    return key


def shown(key: str) -> str:
    """The path of a key."""
    return f"{ROOT}{key}"


def directories_of(key: str) -> list[str]:
    """The keys of a file's directories, without the root."""
    names = key.split("/")[1:-1]
    return ["/" + "/".join(names[: depth + 1]) for depth in range(len(names))]


def is_file_key(key: str | None) -> bool:
    """Whether this key is a valid path: other tools may have stored the memory."""
    if not key:
        return False
    try:
        return key_of("path", shown(key)) == key
    except InvalidValue:
        return False


def _check_name(field: str, name: str) -> None:
    if not name.strip("."):
        raise InvalidValue(field, f"{name!r} is not a name; paths are absolute, {_HINT}")
    if name != name.strip():
        raise InvalidValue(field, f"a name must not have space at either end; {_HINT}")
    if _ENCODED.search(name):
        raise InvalidValue(field, f"write names as they are, not encoded with %; {_HINT}")
    if _DRIVE.match(name):
        raise InvalidValue(field, f"{name!r} looks like the drive of a computer; {_HINT}")
    if not _LOOKS_LIKE_A_SLASH.isdisjoint(name):
        raise InvalidValue(field, f"has a character that looks like a slash; use /; {_HINT}")
    compatible = unicodedata.normalize("NFKC", name)
    if "/" in compatible or "\\" in compatible:
        raise InvalidValue(field, f"has a character that stands for a slash; use /; {_HINT}")
    if not compatible.strip(".") or _LOOKS_LIKE_A_DOT.issuperset(name):
        raise InvalidValue(field, f"{name!r} looks like dots alone; {_HINT}")


def listed(directory: str, sizes: Mapping[str, int]) -> str:
    """A line for the directory and for each entry; ``sizes`` are in bytes, by key.

    A directory exists as long as it has a file, and its size is the sum of its files.
    """
    entries: dict[str, int] = {}
    for key, size in sizes.items():
        names = key.removeprefix(f"{directory}/").split("/")
        for depth in range(1, min(len(names), _LEVELS) + 1):
            ending = "" if depth == len(names) else "/"
            entry = f"{directory}/{'/'.join(names[:depth])}{ending}"
            entries[entry] = entries.get(entry, 0) + size
    lines = [_line(f"{directory}/", sum(sizes.values()))]
    lines += [_line(entry, entries[entry]) for entry in sorted(entries)[:MAX_LISTED_FILES]]
    left_out = len(entries) - MAX_LISTED_FILES
    if left_out > 0:
        lines.append(f"({left_out} more are not shown: view one of the directories)")
    return "\n".join(lines)


def size_of(text: str) -> int:
    """The size of a file in bytes."""
    return len(text.encode("utf-8"))


def _line(entry: str, size: int) -> str:
    return f"{_readable(size)}\t{shown(entry)}"


def _readable(size: int) -> str:
    amount = float(size)
    for unit in _UNITS:
        if amount < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    return f"{amount:.0f}{unit}" if amount == int(amount) else f"{amount:.1f}{unit}"
