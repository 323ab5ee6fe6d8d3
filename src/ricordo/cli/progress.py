"""What is shown while something takes longer than a moment: a bar, or a line with what is done.

It appears on standard error, after a second, where that is a terminal; it is gone when the work is
done. Whoever pipes, redirects or asks for JSON sees nothing of it.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_AFTER_SECONDS: Final = 1.0
"""What is done sooner needs no progress."""


@contextlib.contextmanager
def progress_bar(description: str, *, wanted: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar that moves when told what is done, and what there is to do in all."""
    with _display(description, wanted=wanted) as display:

        def move(done: int, total: int) -> None:
            if display is not None:
                display.move(done, total)

        yield move


@contextlib.contextmanager
def working(description: str, *, wanted: bool) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, for work that cannot tell how far it is.

    What is yielded changes the line.
    """
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
    """True where standard error is a terminal that can take back what it shows."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


class _Display:
    """A bar or a line that is not there yet, that is there, or that is gone again."""

    def __init__(self, description: str) -> None:
        self._lock = threading.Lock()
        self._description = description
        self._done: tuple[int, int] | None = None
        self._shown: tuple[Progress, TaskID] | None = None
        self._is_over = False

    def appear(self) -> None:
        """Become visible, unless it is over already."""
        # Loading takes a while, which only those wait for who would wait anyway.
        import rich.progress  # noqa: F401 - before the lock, which the work may need meanwhile

        with self._lock:
            if not self._is_over:
                self._shown = _started(self._description)
                self._update()

    def vanish(self) -> None:
        """Leave nothing on the screen."""
        with self._lock:
            self._is_over = True
            if self._shown is not None:
                self._shown[0].stop()
                self._shown = None

    def move(self, done: int, total: int) -> None:
        """Note how far the work is."""
        with self._lock:
            self._done = (done, total)
            self._update()

    def describe(self, what: str) -> None:
        """Note what is being done."""
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
