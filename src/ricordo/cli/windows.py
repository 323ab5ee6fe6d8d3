"""Long conversations: ``window``, ``compact``, ``resume`` and ``log``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import Owner
from ricordo.cli.progress import working
from ricordo.cli.render import Listing, Shown, answer
from ricordo.cli.session import open_user
from ricordo.cli.tables import moment_text

if TYPE_CHECKING:
    from ricordo.model.thread import CompactionReport, DayLog, Window

ThreadName = Annotated[
    str,
    typer.Argument(
        metavar="THREAD",
        help="Name of the conversation.",
        autocompletion=completing_names(Named.THREAD),
    ),
]
OfDay = Annotated[
    str | None, typer.Option(metavar="DATE", help="Day, such as 2026-01-31 (default: today).")
]


def window(*, thread: ThreadName, owner: Owner) -> None:
    """Show what a prompt shows of a conversation: its latest turns, and the rest in short."""
    with open_user(owner) as memory:
        found = memory.window(thread)
    answer(owner.as_json, found, window_text)


def compact(*, thread: ThreadName, owner: Owner) -> None:
    """Tell all but the latest turns of a conversation in short, now.

    A job does that by itself when a conversation has grown long enough. The turns stay recorded.
    """
    with open_user(owner) as memory, working("Compacting", wanted=not owner.as_json):
        report = memory.compact(thread)
    answer(owner.as_json, report, _report_text)


def resume(*, thread: ThreadName, owner: Owner) -> None:
    """Take up a conversation again: its last turns, what came before, what else was said today."""
    with open_user(owner) as memory:
        found = memory.resume(thread)
    answer(owner.as_json, found, window_text)


def log(*, day: OfDay = None, owner: Owner) -> None:
    """Show what the conversations of a day were about."""
    with open_user(owner) as memory:
        found = memory.day_log(day)
    answer(owner.as_json, found, _log_table)


def window_text(found: "Window") -> str:
    """A window as people read it."""
    parts = []
    if found.today is not None:
        parts.append(f"Else today:\n{found.today}")
    if found.bridge is not None:
        parts.append(f"Up to turn {found.compacted_to}, in short:\n{found.bridge}")
    parts += [
        f"{turn.position}. {turn.actor or turn.role} ({moment_text(turn.at)}): {turn.content}"
        for turn in found.turns
    ]
    return "\n\n".join(parts) or "Nothing was said in this conversation."


def _report_text(report: "CompactionReport") -> str:
    if not report.compactions:
        return f"Nothing to compact: {report.open_turns} turns stay as they are."
    return (
        f"Told {report.turns} turns in short ({', '.join(report.made_by)});"
        f" {report.open_turns} stay as they are."
    )


def _log_table(found: "DayLog") -> Shown:
    if not found.entries:
        return f"Nothing was put into a summary on {found.day}."
    rows = [[moment_text(one.at), one.thread_id, one.summary] for one in found.entries]
    return Listing(["Until (UTC)", "Thread", "What was said"], rows)
