"""Answers: one JSON document for programs, tables and sentences for people.

Text of memories comes from anywhere, so nothing in it may reach the terminal as a command.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from ricordo.model.record import plain

if TYPE_CHECKING:
    from rich.console import Console

Value = TypeVar("Value")
_UNBOUNDED_COLUMNS: Final = 1_000_000
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
        sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """Tell people something beside the answer, on standard error."""
    sys.stderr.write(f"{harmless(text)}\n")
    sys.stderr.flush()


def harmless(text: str) -> str:
    """The text without the characters that a terminal takes as commands."""
    return text.translate(_COMMANDS)


@contextlib.contextmanager
def progress_bar(description: str, *, wanted: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error that moves when told; nothing where nobody would see it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    hidden = not (wanted and console.is_terminal)
    with Progress(console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(description, total=None)

        def move(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield move


def _indent() -> int | None:
    return 2 if sys.stdout.isatty() else None


def _console() -> "Console":
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:  # a pipe or a file gets each row on one line
        console.width = _UNBOUNDED_COLUMNS
    return console


def _print_listing(listing: Listing) -> None:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    console = _console()
    piped = not console.is_terminal
    table = Table(
        *listing.headings,
        box=None if piped else SIMPLE,
        pad_edge=False,
        show_header=bool(listing.headings),
        padding=(0, 2, 0, 0),
    )
    for row in listing.rows:
        table.add_row(*(Text(harmless(cell), listing.colours.get(cell, "")) for cell in row))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().removesuffix("\n").split("\n"):
        sys.stdout.write(f"{line.rstrip()}\n")
    if listing.note is not None:
        say(listing.note)
