"""Output: one JSON document for programs, tables and sentences for people."""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeVar

from ricordo.errors import InvalidInput
from ricordo.frozen import dataclass, field
from ricordo.model.record import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table
    from rich.text import Text

# Memories can hold any text, so control characters must not reach the terminal.

Value = TypeVar("Value")
_FEWEST_COLUMNS: Final = 10
"""Below this many terminal columns per table column, rows are shown as cards."""
_TEXT_DIRECTIONS: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_COMMANDS: Final = {
    code: "�"
    for code in (*range(0x20), *range(0x7F, 0xA0), *_TEXT_DIRECTIONS)
    if chr(code) not in "\n\t"
}

SHOWN_AFTER_SECONDS: Final = 1.0
"""Work that is done sooner shows no progress."""


@dataclass(frozen=True, slots=True)
class TableListing:
    """A table for people.

    ``note`` goes to standard error. ``colours`` maps cell texts to styles.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str | None = None
    colours: Mapping[str, str] = field(default_factory=dict)


Shown = TableListing | str


def answer(as_json: bool, value: Value, for_people: Callable[[Value], Shown]) -> None:
    if as_json:
        indent = 2 if sys.stdout.isatty() else None
        write_lines([json.dumps(plain(value), ensure_ascii=False, indent=indent)])
        return
    shown = for_people(value)
    if isinstance(shown, str):
        sys.stdout.write(f"{harmless(shown).expandtabs()}\n")
    else:
        _print_listing(shown)


def write_lines(lines: Iterable[str]) -> None:
    """Write lines in UTF-8, whatever the terminal's encoding."""
    sys.stdout.flush()
    for line in lines:
        _write_all(line.encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


def _write_all(data: bytes) -> None:
    """Write everything: an unbuffered stream may write only a part."""
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]


def say(text: str) -> None:
    sys.stderr.write(f"{harmless(text)}\n")
    sys.stderr.flush()


def harmless(text: str) -> str:
    """The text without control characters."""
    return text.translate(_COMMANDS)


def wants_colours() -> bool:
    """True where standard output is a terminal with colours enabled."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in (None, "", "dumb")
    return sys.stdout.isatty() and not is_plain


def _console() -> "Console":
    from rich.console import Console

    return Console(  # explicit, because rich would let other variables decide
        markup=False,
        emoji=False,
        highlight=False,
        force_terminal=True,
        color_system="auto" if wants_colours() else None,
    )


def _print_listing(listing: TableListing) -> None:
    text = _drawn(listing) if sys.stdout.isatty() else _aligned(listing)
    for line in text.split("\n"):
        sys.stdout.write(f"{line.rstrip()}\n")
    if listing.note is not None:
        sys.stdout.flush()  # without a table there is no note
        say(listing.note)


def _aligned(listing: TableListing) -> str:
    """The table as a pipe or a file gets it: no line is wrapped. rich would load slowly."""
    from rich.cells import cell_len

    rows = [
        [harmless(cell).expandtabs().split("\n") for cell in row]
        for row in ([listing.headings] if listing.headings else []) + [*listing.rows]
    ]
    columns = max(map(len, rows), default=0)
    widths = [
        max(cell_len(line) for row in rows for line in (row[place] if place < len(row) else [""]))
        for place in range(columns)
    ]
    return "\n".join(
        "  ".join(
            f"{line}{' ' * (width - cell_len(line))}"
            for line, width in zip(lines, widths, strict=False)
        )
        for row in rows
        for lines in zip_longest(*row, fillvalue="")
    )


def _drawn(listing: TableListing) -> str:
    console = _console()
    is_narrow = console.width < _FEWEST_COLUMNS * len(listing.headings)
    with console.capture() as captured:
        console.print(_cards(listing) if is_narrow else _table(listing))
    return captured.get().removesuffix("\n")


def _table(listing: TableListing) -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(
        *listing.headings,
        box=SIMPLE,
        pad_edge=False,
        show_header=bool(listing.headings),
        padding=(0, 2, 0, 0),
    )
    for row in listing.rows:
        table.add_row(*(Text(harmless(cell), listing.colours.get(cell, "")) for cell in row))
    return table


def _cards(listing: TableListing) -> "Text":
    """The table as cards, for a terminal that is too narrow for columns."""
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


# Progress is shown on standard error after a second, on a terminal only, and removed when the work
# is done.


@contextlib.contextmanager
def progress_bar(description: str, *, wanted: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar; call what is yielded with (done, total)."""
    with _display(description, wanted=wanted) as display:

        def move(done: int, total: int) -> None:
            if display is not None:
                display.move(done, total)

        yield move


@contextlib.contextmanager
def working(description: str, *, wanted: bool) -> Iterator[Callable[[str], None]]:
    """A spinner with a text, for work of unknown length; call what is yielded to change it."""
    with _display(description, wanted=wanted) as display:

        def say(what: str) -> None:
            if display is not None:
                display.describe(what)

        yield say


@contextlib.contextmanager
def _display(description: str, *, wanted: bool) -> Iterator["_Display | None"]:
    if not (wanted and is_seen()):
        yield None
        return
    display = _Display(description)
    timer = threading.Timer(SHOWN_AFTER_SECONDS, display.appear)
    timer.daemon = True
    timer.start()
    try:
        yield display
    finally:
        timer.cancel()
        display.vanish()


def is_seen() -> bool:
    """True where standard error is a terminal that can erase what it shows."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


class _Display:
    """A progress display that appears late and may be closed before it appears."""

    def __init__(self, description: str) -> None:
        self._lock = threading.Lock()
        self._description = description
        self._done: tuple[int, int] | None = None
        self._shown: tuple[Progress, TaskID] | None = None
        self._is_over = False

    def appear(self) -> None:
        # Import rich only when it is about to be shown, because it loads slowly.
        import rich.progress  # noqa: F401 - before the lock, which the work may need meanwhile

        with self._lock:
            if not self._is_over:
                self._shown = _started(self._description)
                self._update()

    def vanish(self) -> None:
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown[0].stop()
                self._shown = None

    def move(self, done: int, total: int) -> None:
        with self._lock:
            self._done = (done, total)
            self._update()

    def describe(self, what: str) -> None:
        with self._lock:
            self._description = what
            self._update()

    def _update(self) -> None:
        if self._shown is None:
            return
        progress, task = self._shown
        if self._done is None:
            progress.update(task, description=self._description)
        else:
            done, total = self._done
            progress.update(task, description=self._description, completed=done, total=total)


def _started(description: str) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")))
    progress = Progress(console=console, transient=True)
    task = progress.add_task(description, total=None)
    progress.start()
    return progress, task


def confirm(consequence: str, expected: str) -> None:
    """Make the user type a word to confirm. Raises InvalidInput."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"this {consequence}; without a terminal it needs --yes")
    sys.stderr.write(f"This {consequence}.\nType {expected} to go on: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != expected:
        raise InvalidInput("not confirmed; nothing was done")
