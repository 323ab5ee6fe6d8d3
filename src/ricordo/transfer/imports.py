"""Importing files: what a file has goes into a draft, is checked there, and is then merged."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Final

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.formation.service import Formation
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.reports import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.thread import NewTurn
from ricordo.model.vocabulary import Status
from ricordo.storage.database import Database
from ricordo.storage.users import has_anything
from ricordo.transfer import chat_exports, foreign_files, markdown, memory_systems, plain_files
from ricordo.transfer.drafts import FileOpener, ImportedData, UserDraft, imported_draft
from ricordo.transfer.exports import Progress, no_progress
from ricordo.transfer.merge import check_memories, merge_user
from ricordo.transfer.rows import FORMAT_NAME, DraftRow, Row, is_export, read_rows
from ricordo.transfer.user_restore import check_coherence, restore_user

Importer = Callable[[Path], Iterator[ImportedData]]
"""Yields data as it reads, so that memory does not hold the whole file."""

_FOLDER: Final = "folder"


def _read_folder(path: Path) -> Iterator[ImportedData]:
    """What the files of a folder hold, each in its own format.

    Pictures and other files that are no text are left out. Raises ImportFailed: names the file.
    """
    skipped: Counter[str] = Counter()
    is_read = False
    with foreign_files.opened_folder(path) as files:
        for file in files:
            try:
                name = _format_in_folder(file.path)
                if name is None:
                    skipped["files that are no text"] += 1
                    continue
                is_read = True
                yield from IMPORTERS[name](file.path)
            except ImportFailed as failed:
                raise ImportFailed(str(failed).replace(str(file.path), file.place)) from None
    if not is_read:
        raise ImportFailed(f"{path}: no file in it that can be read; {_ALLOWED}")
    yield ImportedData(skipped=skipped)


def _format_in_folder(path: Path) -> str | None:
    """The format of a file in a folder; None for one to leave out. Raises ImportFailed."""
    if is_export(path):
        raise ImportFailed(f"{path}: is an export of ricordo; import it by itself")
    try:
        name = recognise(path)
    except ImportFailed:
        if foreign_files.is_binary(path):
            return None
        raise
    if name == _FOLDER:
        raise ImportFailed(f"{path}: is an archive of files; unpack it first")
    return name


IMPORTERS: Final[Mapping[str, Importer]] = {
    "mem0": memory_systems.read_mem0,
    "chatgpt": chat_exports.read_chatgpt,
    "claude": chat_exports.read_claude,
    "openwebui": chat_exports.read_open_webui,
    "letta": memory_systems.read_letta,
    "zep": memory_systems.read_zep,
    "mcp-memory": memory_systems.read_mcp,
    "jsonl": plain_files.read_records,
    "keyvalue": plain_files.read_keyvalue,
    "markdown": markdown.read,
    "lines": plain_files.read_lines,
    _FOLDER: _read_folder,
}

# Ordered: what fits an earlier one may look like flat key-value JSON as well.
_JSON_SHAPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "chatgpt": chat_exports.fits_chatgpt,
    "claude": chat_exports.fits_claude,
    "mcp-memory": memory_systems.fits_mcp,
    "letta": memory_systems.fits_letta,
    "zep": memory_systems.fits_zep,
    "openwebui": chat_exports.fits_open_webui,
    "mem0": memory_systems.fits_mem0,
    "jsonl": plain_files.fits_records,
    "keyvalue": plain_files.fits_keyvalue,
}
_TEXT_SHAPES: Final[Mapping[str, Callable[[Path], bool]]] = {
    "markdown": markdown.fits,
    "lines": plain_files.fits_lines,
}
_SHOWN_USERS: Final = 5
_ALLOWED: Final = f"allowed: {', '.join(IMPORTERS)}"
AUTO: Final = "auto"
FORMATS: Final = (AUTO, FORMAT_NAME, *IMPORTERS)


def import_file(
    database: Database,
    open_file: FileOpener,
    scope: Scope,
    path: Path,
    format_name: str,
    source_user: str | None,
    progress: Progress,
    asked: Formation | None,
) -> ImportReport:
    """Import a file for one user; of another system's, what needs consent is proposed.

    ``asked`` is None where the user has consented. ``source_user`` is whose memories to take of a
    file of another system that has those of several users.

    Raises:
        InvalidValue: no such format.
        ImportFailed: the file cannot be read in this format. Nothing was written.
    """
    if format_name not in FORMATS:
        raise InvalidValue("format", f"{format_name!r} is not one of: {', '.join(FORMATS)}")
    _check_readable(path, format_name)
    if format_name == FORMAT_NAME or (format_name == AUTO and is_export(path)):
        if scope.project_id is not None:
            raise InvalidValue(
                "project",
                "an export says itself of which project each memory is: import it without one",
            )
        with imported_draft(database, open_file, read_rows(path)) as drafts:
            if len(drafts) != 1:
                raise ImportFailed(
                    f"{path}: holds {len(drafts)} users; one user's import takes a file of one"
                )
            check_coherence(path, drafts[0])
            return _import_user(database, scope, drafts[0], progress)
    chosen = recognise(path) if format_name == AUTO else format_name
    skipped: Counter[str] = Counter()
    rows = _foreign_rows(path, chosen, scope.user_id, source_user, skipped)
    with imported_draft(database, open_file, rows) as (draft,):
        return merge_user(database, scope, draft, chosen, skipped, progress, asked)


def import_store(
    database: Database,
    open_file: FileOpener,
    path: Path,
    format_name: str,
    progress: Progress,
    asked: Formation | None,
) -> ImportReport:
    """Import a file of any number of users, each under their own name; ``asked`` as for
    :func:`import_file`. Raises ImportFailed."""
    _check_readable(path, format_name)
    if format_name != FORMAT_NAME and not (format_name == AUTO and is_export(path)):
        return _import_users(database, open_file, path, format_name, progress, asked)
    with imported_draft(database, open_file, read_rows(path)) as drafts:
        for draft in drafts:  # everything is checked before any write
            check_coherence(path, draft)
        with database.read_all() as reading:
            fresh = {
                one.user_id for one in drafts if not has_anything(reading.connection, one.user_id)
            }
        reports = []
        for done, draft in enumerate(drafts, start=1):
            scope = Scope(draft.user_id)
            reports.append(
                _import_user(database, scope, draft, no_progress, fresh, by_operator=True)
            )
            progress(done, len(drafts))
    return _sum(FORMAT_NAME, reports)


def _import_users(
    database: Database,
    open_file: FileOpener,
    path: Path,
    format_name: str,
    progress: Progress,
    asked: Formation | None,
) -> ImportReport:
    """Import another system's file for the users that it names. Raises ImportFailed."""
    chosen = recognise(path) if format_name == AUTO else format_name
    skipped: Counter[str] = Counter()
    reports = []
    with imported_draft(database, open_file, _rows_of_users(path, chosen, skipped)) as drafts:
        if not drafts:
            raise ImportFailed(f"{path}: it names no users; import it for one user")
        for draft in drafts:  # everything is checked before any write
            check_memories(database, draft)
        for done, draft in enumerate(drafts, start=1):
            scope, counted = Scope(draft.user_id), Counter[str]()
            reports.append(merge_user(database, scope, draft, chosen, counted, no_progress, asked))
            progress(done, len(drafts))
    left_out = {why: count for why, count in skipped.items() if count}
    return _sum(chosen, [*reports, ImportReport(format=chosen, skipped=left_out)])


def _rows_of_users(path: Path, format_name: str, skipped: Counter[str]) -> Iterator[DraftRow]:
    """The rows of all users that a file names, within the limits; counts what it skips."""
    limited = _Limited(path)
    known: set[str] = set()
    for found in IMPORTERS[format_name](path):
        if found.user is None:
            skipped["of no user"] += len(found.memories) + len(found.threads)
            skipped.update(found.skipped)
            continue
        if found.user not in known:
            try:
                known.add(checks.user_id(found.user))
            except InvalidValue as problem:
                raise ImportFailed(f"{path}: of {found.user[:60]!r}: {problem}") from None
            yield DraftRow(found.user, "user", {"revision": 0}, 0)
        skipped.update(found.skipped)
        yield from limited.rows(found.user, found)


def _foreign_rows(
    path: Path,
    format_name: str,
    user_id: str,
    source_user: str | None,
    skipped: Counter[str],
) -> Iterator[DraftRow]:
    """The rows of another system's file, within the limits; counts what it skips. Raises
    ImportFailed: it cannot be read, or has memories of several users and none is chosen."""
    yield DraftRow(user_id, "user", {"revision": 0}, 0)
    limited = _Limited(path)
    users: set[str] = set()
    for found in IMPORTERS[format_name](path):
        if found.user is not None:
            users.add(found.user)
        if source_user is not None and found.user != source_user:
            skipped["of other users"] += len(found.memories) + len(found.threads)
            continue
        skipped.update(found.skipped)
        yield from limited.rows(user_id, found)
    if source_user is None and len(users) > 1:
        raise ImportFailed(
            f"{path}: memories of {len(users)} users ({_named(users)}); choose one (source_user),"
            " or let an operator bring in all"
        )
    if source_user is not None and source_user not in users:
        there = f"there are: {_named(users)}" if users else "it names no users"
        raise ImportFailed(f"{path}: no memories of {source_user!r}; {there}")


class _Limited:
    """Makes rows of what is found in a file, up to the limits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._memories = self._turns = self._part = 0

    def rows(self, user_id: str, found: ImportedData) -> Iterator[DraftRow]:
        """Raises ImportFailed: there is more than is allowed."""
        self._memories += len(found.memories)
        self._turns += sum(len(thread.turns) for thread in found.threads)
        for count, most, what in (
            (self._memories, limits.MAX_IMPORTED_MEMORIES, "memories"),
            (self._turns, limits.MAX_IMPORTED_TURNS, "turns"),
        ):
            if count > most:
                raise ImportFailed(f"{self._path}: more than {most} {what}; split the file")
        for memory in found.memories:
            values = {**_values(memory), "status": Status.ACTIVE.value}
            yield DraftRow(user_id, "item", values, len(memory.content))
        for thread in found.threads:
            self._part += 1
            of_thread = {"thread_id": thread.thread_id}
            titled = {**of_thread, "title": thread.title, "project_id": thread.project_id}
            yield DraftRow(user_id, "thread", titled, 0, self._part)
            for position, turn in enumerate(thread.turns, start=1):
                values = {**_values(turn), **of_thread, "position": position}
                yield DraftRow(user_id, "turn", values, len(turn.content), self._part)


def _named(users: set[str]) -> str:
    more = f" and {len(users) - _SHOWN_USERS} more" if len(users) > _SHOWN_USERS else ""
    return f"{', '.join(sorted(users)[:_SHOWN_USERS])}{more}"


def _values(given: NewMemory | NewTurn) -> Row:
    values = {field.name: getattr(given, field.name) for field in fields(given)}
    return {
        name: value.value if isinstance(value, StrEnum) else value for name, value in values.items()
    }


def _import_user(
    database: Database,
    scope: Scope,
    draft: UserDraft,
    progress: Progress,
    restored_too: AbstractSet[str] = frozenset(),
    *,
    by_operator: bool = False,
) -> ImportReport:
    """Restore exactly where nothing is stored yet, otherwise merge."""
    restored = restore_user(database, draft, scope, restored_too, by_operator=by_operator)
    if restored is None:
        return merge_user(database, scope, draft, FORMAT_NAME, Counter(), progress)
    progress(restored.rows, restored.rows)
    skipped = {"links": restored.skipped_links} if restored.skipped_links else {}
    return ImportReport(format=FORMAT_NAME, restored_rows=restored.rows, skipped=skipped)


def _sum(format_name: str, reports: list[ImportReport]) -> ImportReport:
    skipped: Counter[str] = Counter()
    for report in reports:
        skipped.update(report.skipped)
    return ImportReport(
        format=format_name,
        proposed=sum(report.proposed for report in reports),
        added=sum(report.added for report in reports),
        updated=sum(report.updated for report in reports),
        duplicates=sum(report.duplicates for report in reports),
        restored_rows=sum(report.restored_rows for report in reports),
        threads=sum(report.threads for report in reports),
        turns=sum(report.turns for report in reports),
        skipped=dict(skipped),
    )


def _check_readable(path: Path, format_name: str) -> None:
    if path.is_dir() and format_name in (AUTO, _FOLDER):
        return
    try:
        size = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None
    if size > limits.MAX_IMPORT_FILE_BYTES:
        maximum = limits.MAX_IMPORT_FILE_BYTES
        raise ImportFailed(f"{path}: {size} bytes; allowed: at most {maximum}")


def recognise(path: Path) -> str:
    """The format of a file, by its contents. Raises ImportFailed: no known format."""
    if path.is_dir():
        return _FOLDER
    if foreign_files.is_archive(path):
        return _format_of_archive(path)
    if chat_exports.is_database(path):
        return chat_exports.OPEN_WEBUI
    try:
        recognised = _format_of_json(foreign_files.document(path).data)
    except ImportFailed as problem:
        for name, fits in _TEXT_SHAPES.items():
            if fits(path):
                return name
        raise ImportFailed(f"{problem}, and not a text of lines; {_ALLOWED}") from None
    if recognised is None:
        raise ImportFailed(f"{path}: JSON of an unknown kind; {_ALLOWED}")
    return recognised


def _format_of_archive(path: Path) -> str:
    exports = {*chat_exports.CHATGPT_MEMBERS, *chat_exports.CLAUDE_MEMBERS}
    try:
        if not foreign_files.holds(path, exports) and foreign_files.holds(path, ["*"]):
            return _FOLDER
        for document in foreign_files.documents(path, exports):
            recognised = _format_of_json(document.data)
            if recognised in ("chatgpt", "claude"):
                return recognised
    except ImportFailed as problem:
        raise ImportFailed(f"{problem}; {_ALLOWED}") from None
    raise ImportFailed(f"{path}: an archive of an unknown kind; {_ALLOWED}")


def _format_of_json(data: object) -> str | None:
    found = next((name for name, fits in _JSON_SHAPES.items() if fits(data)), None)
    if found is None and isinstance(data, foreign_files.Entries):
        for _ in data:  # it may not be JSON
            pass
    return found
