"""Files: ``export``, ``import``, ``mirror`` and ``init``."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo import limits
from ricordo.cli.derived import Given, command_of, options_of
from ricordo.cli.json_answers import Exported
from ricordo.cli.render import Shown, answer, progress_bar, say, working, write_lines
from ricordo.cli.store import (
    DEFAULT_USER,
    STANDARD_STREAM,
    AllUsers,
    Named,
    Owner,
    Store,
    completing_names,
    file_of,
    is_made,
    open_store,
    open_user,
    untouched_database,
)
from ricordo.errors import (
    EmbeddingError,
    ImportFailed,
    InvalidInput,
    InvalidValue,
    RicordoError,
)
from ricordo.frozen import replace
from ricordo.operations import maintenance as describe

if TYPE_CHECKING:
    from ricordo.coding_agents.rules import AgentSettings
    from ricordo.model.reports import (
        HomeReport,
        ImportReport,
        MirrorEntry,
        MirrorReport,
        MirrorStatus,
    )
    from ricordo.user_memory import UserMemory

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


Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Of a coding agent: only sessions that went on since then."),
]


def import_file(
    *,
    given: Given = options_of(describe.import_file),
    since: Since = None,
    all_users: AllUsers = False,
    owner: Owner,
) -> None:
    """Bring in a ricordo export, what another system exported, a folder of such files, or sessions
    of a coding agent.

    Formats: auto, ricordo, mem0, chatgpt, claude, openwebui, letta, zep, mcp-memory, jsonl,
    keyvalue, markdown, lines, folder. All of it is checked before anything is written. The same
    file again changes nothing. The vectors of what it brings are made before it ends; with
    --all-users that is left to the service or a worker. --all-users brings what a ricordo export,
    or a file of another system that names its users, has of each to the user of that name.

    Coding agents: claude-code, codex, cursor, gemini-cli, opencode. Their name alone finds all
    sessions on this disk; with --format NAME it is a folder like theirs, or one file. Each session
    is a conversation of its project, as if it had been captured live: nothing is recorded twice,
    and an import that was interrupted goes on when it is run again. What CLAUDE.md, AGENTS.md and
    GEMINI.md of these projects say becomes memories, until they say something else.

    Example: ricordo import conversations.json --format chatgpt

    Example: ricordo import claude-code --since 2026-01-01
    """
    agent, place = _agent_of(given["path"], given.get("format", "auto"))
    dry_run = given.get("dry_run", False)
    if agent is not None:
        if all_users or given.get("consented") or "source_user" in given:
            taken = "neither --all-users nor --consented nor --source-user"
            raise InvalidValue("format", f"{agent} takes {taken}")
        _import_sessions(agent, place, since, owner, dry_run=dry_run)
        return
    if since is not None:
        raise InvalidValue("format", "--since is for coding agents only")
    if all_users and "source_user" in given:
        raise InvalidValue("source_user", "is for the import of one user; leave it out")
    wanted = not owner.as_json
    if all_users:
        with progress_bar("Importing", wanted=wanted) as progress, open_store(owner) as store:
            report = store.import_file(**given, progress=progress)
    else:
        with open_store(owner) as store:
            with progress_bar("Importing", wanted=wanted) as progress:
                report = owner.memory_in(store).import_file(**given, progress=progress)
            if not dry_run:
                _make_vectors(replace(owner, project="").memory_in(store), wanted=wanted)
    answer(owner.as_json, report, _counted if dry_run else _summary)


def _agent_of(path: str, format_name: str) -> tuple[str | None, Path | None]:
    """The coding agent that is meant, and where its sessions are; None: where it keeps them."""
    from ricordo.coding_agents.transcripts.readers import READABLE

    if format_name in READABLE:
        return format_name, None if path == format_name else Path(path).expanduser()
    return (path, None) if path in READABLE and format_name == "auto" else (None, None)


def _import_sessions(
    agent: str, place: Path | None, since: str | None, owner: Owner, *, dry_run: bool
) -> None:
    from ricordo.coding_agents.imports import SessionImport
    from ricordo.coding_agents.rules import read_settings as read_agent_settings
    from ricordo.coding_agents.transcripts.readers import place_of, sessions_at
    from ricordo.model.checks import parse_moment
    from ricordo.wiring import read_settings

    if owner.of_everyone:
        raise InvalidValue("format", f"sessions of {agent} are somebody's: --global takes none")
    earliest = None if since is None else parse_moment("since", since)
    home = read_settings(os.environ, owner.settings()).home.expanduser()
    settings = read_agent_settings(home)
    owner = _capturing(owner, settings)
    users_home = Path.home()
    looked_in = place or place_of(agent, os.environ, users_home)
    found = sessions_at(agent, looked_in)
    if not found:
        raise ImportFailed(f"{looked_in}: no session of {agent} is there")
    chosen = [one for one in found if earliest is None or one.updated_at >= earliest]
    wanted, only = not owner.as_json, owner.project or None
    with open_user(replace(owner, project="")) as user:
        importing = SessionImport(user, home, settings, only=only, dry_run=dry_run)
        with progress_bar("Importing", wanted=wanted) as progress:
            importing.take(chosen, progress)
        if place is None:
            importing.take_users_file(agent, users_home)
        if not dry_run:
            _make_vectors(user, wanted=wanted)
    answer(owner.as_json, importing.report(agent), _counted if dry_run else _told_sessions)


def _capturing(owner: Owner, settings: "AgentSettings") -> Owner:
    """Whose memory and which store, as live capture chooses them, unless an option says so."""
    named = os.environ.get("RICORDO_USER") or DEFAULT_USER
    user = settings.user if settings.user and owner.user == named else owner.user
    store = owner.db or os.environ.get("RICORDO_URL") or settings.url
    return replace(owner, user=user, db=store)


def _make_vectors(user: "UserMemory", *, wanted: bool) -> None:
    with (
        progress_bar("Making vectors", wanted=wanted) as progress,
        contextlib.suppress(EmbeddingError, InvalidInput),  # a job tries again
    ):
        user.fill_embeddings(progress=progress)


def _told_sessions(report: "ImportReport") -> str:
    formed = " Memories are formed by the service, or by: ricordo jobs run" if report.turns else ""
    return f"{_summary(report)}{formed}"


def _counted(report: "ImportReport") -> str:
    return f"{_summary(report)} Nothing was written."


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
    """Create the home folder: first prompt files, the mirror and the database.

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
