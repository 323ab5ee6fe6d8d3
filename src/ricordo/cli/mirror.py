"""Memories in a file that can be read and edited: ``mirror status``, ``sync`` and ``watch``."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.options import Owner
from ricordo.cli.progress import working
from ricordo.cli.render import Shown, answer, say
from ricordo.cli.session import open_store, open_user
from ricordo.errors import RicordoError

if TYPE_CHECKING:
    from ricordo.model.reports import MirrorEntry, MirrorReport, MirrorStatus

AllowDeletes = Annotated[
    bool,
    typer.Option("--allow-deletes", help="Take over a file, too, that lost many lines or its end."),
]


def status(*, owner: Owner) -> None:
    """Show whether memories are kept in a file, and how far it is."""
    with open_user(owner) as memory:
        found = memory.mirror_status()
    answer(owner.as_json, found, _status_text)


def sync(*, allow_deletes: AllowDeletes = False, owner: Owner) -> None:
    """Take over what was edited in MEMORY.md, and write it and the daily logs anew.

    The first time switches the mirror on.
    """
    with open_user(owner) as memory, working("Syncing files", wanted=not owner.as_json):
        report = memory.sync_mirror(allow_deletes=allow_deletes)
    answer(owner.as_json, report, _report_text)


def watch(*, owner: Owner) -> None:
    """Keep MEMORY.md and the daily logs in step until stopped, telling what is done."""
    from ricordo.user_memory.mirroring import followed_mirror
    from ricordo.workers.process import told_to_stop

    with told_to_stop() as stopped, open_store(owner) as memory:
        whole = memory.global_memories() if owner.of_everyone else memory.user(owner.user)
        mirror = followed_mirror(whole.parts, whole.scope.user_id)
        _show(owner, mirror.sync())
        told: str | None = None
        while not stopped.wait(limits.MIRROR_SECONDS):
            try:
                report = mirror.follow()
            except RicordoError as problem:  # it may pass
                if str(problem) != told:
                    told = str(problem)
                    say(told)
                continue
            if report is not None and not report.is_quiet:
                _show(owner, report)


def _show(owner: Owner, report: "MirrorReport") -> None:
    answer(owner.as_json, report, _report_text)
    sys.stdout.flush()


def _status_text(found: "MirrorStatus") -> Shown:
    if found.path is None:
        return "There is no folder for files here: name one (RICORDO_FILES)."
    if not found.on:
        return f"Off. This would begin {found.path}: ricordo mirror sync"
    far = 0 if found.mirrored_revision is None else found.mirrored_revision
    lines = [f"{found.path}: revision {far} of {found.revision}."]
    if found.edited:
        lines.append("It was edited since. Every command takes that over when it ends.")
    lines += _told(found.problems)
    return "\n".join(lines)


def _report_text(report: "MirrorReport") -> Shown:
    counts = (
        f"Added: {len(report.added)}. Changed: {len(report.changed)}. Moved: {len(report.moved)}."
        f" Forgotten: {len(report.forgotten)}. Conflicts: {len(report.conflicts)}."
        f" Entries of the log: {report.daily_entries}."
    )
    state = "written anew" if report.written else "as it was"
    lines = [f"{report.path}: {state}.", counts, *_told((*report.conflicts, *report.problems))]
    return "\n".join(lines)


def _told(entries: Iterable["MirrorEntry"]) -> list[str]:
    return [
        f"- {entry.note}" if entry.line is None else f"- Line {entry.line}: {entry.note}"
        for entry in entries
    ]
