"""Answers: one JSON document for programs, tables and sentences for people.

Text of memories comes from anywhere, so nothing in it may reach the terminal as a command.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from ricordo.model.record import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

Value = TypeVar("Value")
_UNBOUNDED_COLUMNS: Final = 1_000_000
_FEWEST_COLUMNS: Final = 10
"""Of the terminal for each column of a table, below which nobody could read it."""
_TEXT_DIRECTIONS: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_COMMANDS: Final = {
    code: "�"
    for code in (*range(0x20), *range(0x7F, 0xA0), *_TEXT_DIRECTIONS)
    if chr(code) not in "\n\t"
}


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows for people to read.

    ``note`` is said beside it, on standard error. ``colours`` are for cells that say just that.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str | None = None
    colours: Mapping[str, str] = field(default_factory=dict)


Shown = Listing | str


def answer(as_json: bool, value: Value, for_people: Callable[[Value], Shown]) -> None:
    """Show what a command found or did."""
    if as_json:
        write_lines([json.dumps(plain(value), ensure_ascii=False, indent=_indent())])
        return
    shown = for_people(value)
    if isinstance(shown, str):
        _console().print(harmless(shown), soft_wrap=True)
    else:
        _print_listing(shown)


def write_lines(lines: Iterable[str]) -> None:
    """Write lines for programs: in UTF-8, whatever the terminal is set to."""
    sys.stdout.flush()
    for line in lines:
        _write_all(line.encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


def _write_all(data: bytes) -> None:
    """Write everything: where Python is told not to buffer, a write may end in the middle."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]


def say(text: str) -> None:
    """Tell people something beside the answer, on standard error."""
    sys.stderr.write(f"{harmless(text)}\n")
    sys.stderr.flush()


def harmless(text: str) -> str:
    """The text without the characters that a terminal takes as commands."""
    return text.translate(_COMMANDS)


def _indent() -> int | None:
    return 2 if sys.stdout.isatty() else None


def wants_colours() -> bool:
    """True where standard output is a terminal that is to show colours."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in (None, "", "dumb")
    return sys.stdout.isatty() and not is_plain


def _console() -> "Console":
    from rich.console import Console

    # Said outright, because rich would let other variables decide even for a pipe.
    console = Console(
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=sys.stdout.isatty(),
        color_system="auto" if wants_colours() else None,
    )
    if not console.is_terminal:  # a pipe or a file gets each row on one line
        console.width = _UNBOUNDED_COLUMNS
    return console


def _print_listing(listing: Listing) -> None:
    console = _console()
    is_narrow = console.width < _FEWEST_COLUMNS * len(listing.headings)
    with console.capture() as captured:
        console.print(_cards(listing) if is_narrow else _table(listing, console))
    for line in captured.get().removesuffix("\n").split("\n"):
        sys.stdout.write(f"{line.rstrip()}\n")
    if listing.note is not None:
        sys.stdout.flush()  # where nobody takes the table, nothing is said beside it
        say(listing.note)


def _table(listing: Listing, console: "Console") -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(
        *listing.headings,
        box=SIMPLE if console.is_terminal else None,
        pad_edge=False,
        show_header=bool(listing.headings),
        padding=(0, 2, 0, 0),
    )
    for row in listing.rows:
        table.add_row(*(Text(harmless(cell), listing.colours.get(cell, "")) for cell in row))
    return table


def _cards(listing: Listing) -> "Text":
    """The same for a terminal that is too narrow for columns: below each other, named."""
    from rich.text import Text

    cards = Text()
    for row in listing.rows:
        if cards:
            cards.append("\n")
        for heading, cell in zip(listing.headings, row, strict=True):
            if cell:
                cards.append(f"{heading}: " if heading else "", "bold")
                cards.append(f"{harmless(cell)}\n", listing.colours.get(cell, ""))
    cards.rstrip()
    return cards
