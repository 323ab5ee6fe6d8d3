"""What may name a memory file, and the key that its memory has.

A path is a name in a database and opens nothing. It is checked all the same: a name that looks
like a way out, or like another name, is refused, so that what a model sees is what it gets, also
where somebody writes the files of a user to a disk.
"""

import re
import unicodedata
from typing import Final

from ricordo.errors import InvalidValue
from ricordo.limits import MAX_KEY_CHARS

ROOT: Final = "/memories"
ROOT_KEY: Final = ""
"""Stands for the directory that all files are in."""

_HINT: Final = f"allowed: {ROOT}/ and then names, such as {ROOT}/notes.md"
# Letters and marks by their category, yet nothing is seen of them: fillers, joiners, selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ENCODED = re.compile(r"%[0-9a-fA-F]{2}")
_DRIVE = re.compile(r"[A-Za-z]:")
_LOOKS_LIKE_A_SLASH: Final = frozenset("\\⁄∕╱⧸⫽／﹨∖⧵⧹＼╲⟋⟍")
_LOOKS_LIKE_A_DOT: Final = frozenset(".․‥…．﹒｡。·•∙⋅")


def key_of(field: str, path: object) -> str:
    """The key of the file or directory of this path: the part below ``/memories``.

    It begins with a slash, which sets it apart from the keys of other memories; for ``/memories``
    itself it is empty. Slashes too many are left out, and letters that can be written in two ways
    are written in one.

    Raises:
        InvalidValue: not below ``/memories``, or a name in it is not allowed.
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
    if len(key) > MAX_KEY_CHARS:  # first: what is said of a name below repeats it
        raise InvalidValue(
            field, f"{len(key)} characters after {ROOT}; allowed: at most {MAX_KEY_CHARS}"
        )
    for name in names:
        _check_name(field, name)
    return key


def shown(key: str) -> str:
    """The path that a key stands for."""
    return f"{ROOT}{key}"


def directories_of(key: str) -> list[str]:
    """The keys of the directories that a file is in, without ``/memories`` itself."""
    names = key.split("/")[1:-1]
    return ["/" + "/".join(names[: depth + 1]) for depth in range(len(names))]


def is_file_key(key: str | None) -> bool:
    """Whether a memory with this key can be reached as a file: others may have filed it."""
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
