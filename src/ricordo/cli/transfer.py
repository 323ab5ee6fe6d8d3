"""Files: ``export``, ``import``, ``mirror`` and ``init``."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ricordo import limits
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import Exported
from ricordo.cli.options import (
    DEFAULT_USER,
    STANDARD_STREAM,
    AllUsers,
    Named,
    Owner,
    Store,
    completing_names,
)
from ricordo.cli.render import Shown, answer, progress_bar, say, working, write_lines
from ricordo.cli.session import file_of, is_made, open_store, open_user, untouched_database
from ricordo.errors import EmbeddingError, InvalidInput, InvalidValue, RicordoError
from ricordo.operations import maintenance as describe

if TYPE_CHECKING:
    from ricordo.model.reports import (
        HomeReport,
        ImportReport,
        MirrorEntry,
        MirrorReport,
        MirrorStatus,
    )

_OF_ALL_USERS: Final = ("auto", "ricordo")
"""Formats of files that have several users."""

ExportPath = Annotated[
    str, typer.Argument(metavar="FILE", help="Where to write; - is standard output.")
]


def export(
    *, path: ExportPath = STANDARD_STREAM, all_users: AllUsers = False, owner: Owner
) -> None:
    """Write everything of a user, or of all users, as JSON Lines.

    Example: ricordo export backup.jsonl --all-users
    """
    with open_store(owner) if all_users else open_user(owner) as source:
        if path == STANDARD_STREAM:
            write_lines(source.export_lines())
            return
        with working("Exporting", wanted=not owner.as_json):
            count = source.export(path)
    done = Exported(path=path, lines=count)
    answer(owner.as_json, done, lambda _: f"Wrote {count} lines: {path}")


def import_file(
    *,
    given: Given = options_of(describe.import_file),
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """Bring in a ricordo export, or what another system exported.

    Formats: auto, ricordo, mem0, chatgpt, claude, keyvalue, markdown. The whole file is checked
    before anything is written. The same file again changes nothing. The vectors of what it
    brings are made before it ends; with --all-users that is left to the service or a worker.

    Example: ricordo import conversations.json --format chatgpt
    """
    if all_users and given.pop("format", "auto") not in _OF_ALL_USERS:
        raise InvalidValue("format", "--all-users takes a ricordo export only")
    if all_users and given.pop("consented", False):
        raise InvalidValue("consented", "a ricordo export needs none; leave it out")
    wanted = not owner.as_json
    if all_users:
        with progress_bar("Importing", wanted=wanted) as progress, open_store(owner) as store:
            report = store.import_file(**given, progress=progress)
    else:
        with open_user(owner) as user:
            with progress_bar("Importing", wanted=wanted) as progress:
                report = user.import_file(**given, progress=progress)
            with (
                progress_bar("Making vectors", wanted=wanted) as progress,
                contextlib.suppress(EmbeddingError, InvalidInput),  # a job tries again
            ):
                user.fill_embeddings(progress=progress)
    answer(owner.as_json, report, _summary)


def _summary(report: "ImportReport") -> str:
    counts = {
        "restored": report.restored_rows,
        "added": report.added,
        "updated": report.updated,
        "known already": report.duplicates,
        "waiting for consent (see: ricordo proposals)": report.proposed,
        "conversations": report.threads,
        "turns": report.turns,
    }
    said = ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "nothing new"
    left_out = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
    return f"From {report.format}: {said}.{f' Left out: {left_out}.' if left_out else ''}"


def watch(*, owner: Owner) -> None:
    """Keep MEMORY.md and the daily logs in step until stopped, telling what is done."""
    from ricordo.user_memory.base import check_all_projects
    from ricordo.user_memory.maintenance import followed_mirror
    from ricordo.workers.process import stop_signals

    with stop_signals() as stopped, open_store(owner) as memory:
        whole = owner.memory_in(memory)
        check_all_projects(whole.scope, "mirror watch")
        mirror = followed_mirror(whole.parts, whole.scope.user_id)
        _show_report(owner, mirror.sync())
        last_problem: str | None = None
        while not stopped.wait(limits.MIRROR_SECONDS):
            try:
                report = mirror.follow()
            except RicordoError as problem:  # the failure may be temporary
                if str(problem) != last_problem:
                    last_problem = str(problem)
                    say(last_problem)
                continue
            if report is not None and not report.is_quiet:
                _show_report(owner, report)


def _show_report(owner: Owner, report: "MirrorReport") -> None:
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
    lines += _entry_lines(found.problems)
    return "\n".join(lines)


def _report_text(report: "MirrorReport") -> Shown:
    counts = (
        f"Added: {len(report.added)}. Changed: {len(report.changed)}. Moved: {len(report.moved)}."
        f" Forgotten: {len(report.forgotten)}. Conflicts: {len(report.conflicts)}."
        f" Entries of the log: {report.daily_entries}."
    )
    state = "written anew" if report.written else "as it was"
    lines = [
        f"{report.path}: {state}.",
        counts,
        *_entry_lines((*report.conflicts, *report.problems)),
    ]
    return "\n".join(lines)


def _entry_lines(entries: Iterable["MirrorEntry"]) -> list[str]:
    return [
        f"- {entry.note}" if entry.line is None else f"- Line {entry.line}: {entry.note}"
        for entry in entries
    ]


User = Annotated[
    str,
    typer.Option(
        "--user",
        "-u",
        metavar="NAME",
        envvar="RICORDO_USER",
        help="For whom to make a USER.md and a mirror.",
        autocompletion=completing_names(Named.USER),
    ),
]


def init(*, user: User = DEFAULT_USER, store: Store) -> None:
    """Make the home folder: prompt files to begin with, the mirror and the database.

    Nothing that is there is changed, so it can be run again, and for more users.
    """
    report = _make_home(store, user)
    answer(store.as_json, report, _home_text)


def _make_home(store: Store, user: str) -> "HomeReport":
    from ricordo.files.home import make_home
    from ricordo.model import checks
    from ricordo.model.reports import HomeReport
    from ricordo.wiring import files_folder, read_settings

    owner = checks.user_id(user)
    folder = files_folder(read_settings(os.environ, store.settings()))
    if folder is None:
        raise InvalidValue(
            "setting files",
            "is not set, and this database is not the one in the home folder:"
            " set RICORDO_FILES to the folder for its prompt files and mirrors",
        )
    with untouched_database(store) as database:
        location, file = database.backend.location, file_of(database)
        was_made = is_made(database)
    with open_store(store):
        made, present = make_home(folder, owner)
    databases: list[Path] = [] if file is None else [file]
    (present if was_made else made).extend(databases)
    return HomeReport(
        folder=str(folder.top),
        user=owner,
        database=location,
        made=tuple(map(str, made)),
        present=tuple(map(str, present)),
    )


def _home_text(report: "HomeReport") -> str:
    lines = [f"Made {path}" for path in report.made]
    lines += [f"There already: {path}" for path in report.present]
    lines += [
        "",
        "Next:",
        "- Say who the assistant is, how it works and who you are: edit SOUL.md, RULES.md, USER.md",
        "- Set a field of the profile: ricordo profile set city=Bekasi --explicit",
        '- Remember something: ricordo add "Prefers tea to coffee"',
        '- See what a model would be told: ricordo context "What do I like to drink?"',
    ]
    return "\n".join(lines)


status = command_of(describe.mirror_status, _status_text)
sync = command_of(
    describe.sync_mirror,
    _report_text,
    about="Apply the edits of MEMORY.md, then rewrite it and the daily logs.\n\n"
    "The first time switches the mirror on.",
    doing="Syncing files",
)
