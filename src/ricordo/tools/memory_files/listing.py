"""What a directory is shown as: what is in it, two levels deep, with sizes.

Directories are the beginnings of names: one is there as long as a file is in it, and its size is
that of its files.
"""

from collections.abc import Mapping
from typing import Final

from ricordo.limits import MAX_LISTED_FILES
from ricordo.tools.memory_files.paths import shown

_LEVELS: Final = 2
_UNITS: Final = ("B", "K", "M", "G")


def listed(directory: str, sizes: Mapping[str, int]) -> str:
    """A line for the directory and for each thing in it; ``sizes`` are in bytes, by key."""
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
    """How many bytes a file has."""
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
