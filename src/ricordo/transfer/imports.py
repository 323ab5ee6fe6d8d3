"""Importing files into the store."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from ricordo import limits
from ricordo.errors import ImportFailed, InvalidValue
from ricordo.model.draft import NewMemory
from ricordo.model.proposal import StoredProposal
from ricordo.model.reports import ImportReport
from ricordo.model.scope import Scope
from ricordo.model.thread import Compaction, NewTurn, Observer
from ricordo.model.vocabulary import ProposalKind, ProposalState, Status
from ricordo.storage.database import Database
from ricordo.storage.users import has_anything
from ricordo.transfer.exports import Progress, no_progress
from ricordo.transfer.importers import IMPORTERS, recognise
from ricordo.transfer.merge import (
    FoundThread,
    ImportedData,
    memories_to_leave,
    merge_findings,
    merge_states,
)
from ricordo.transfer.rows import FORMAT_NAME, Row, UserRows, is_export, read_users
from ricordo.transfer.user_restore import check_coherence, restore_user

AUTO = "auto"
FORMATS = (AUTO, FORMAT_NAME, *IMPORTERS)
_NOT_DRAFT_FIELDS = (
    *("id", "user_id", "status", "purge_at", "access_count"),
    *("updated_at", "last_accessed_at", "last_verified_at"),
)


def import_file(
    database: Database, scope: Scope, path: Path, format_name: str, progress: Progress
) -> ImportReport:
    """Import a file for one user.

    Raises:
        InvalidValue: no such format.
        ImportFailed: the file cannot be read in this format. Nothing was written.
    """
    if format_name not in FORMATS:
        raise InvalidValue("format", f"{format_name!r} is not one of: {', '.join(FORMATS)}")
    _check_readable(path)
    if format_name == FORMAT_NAME or (format_name == AUTO and is_export(path)):
        return _import_user(database, scope, _only_user(path), progress)
    chosen = recognise(path) if format_name == AUTO else format_name
    return merge_findings(database, scope, lambda: _found_in(path, chosen), chosen, progress)


def import_store(database: Database, path: Path, progress: Progress) -> ImportReport:
    """Import an export of any number of users, each under their own name. Raises ImportFailed."""
    _check_readable(path)
    names = [
        user.user_id for user in _checked_users(path)
    ]  # everything is checked before any write
    with database.read_all() as reading:
        fresh = {name for name in names if not has_anything(reading.connection, name)}
    reports = []
    for done, user in enumerate(read_users(path), start=1):
        scope = Scope(user.user_id)
        reports.append(_import_user(database, scope, user, no_progress, fresh, by_operator=True))
        progress(done, len(names))
    return _sum(reports)


def _found_in(path: Path, format_name: str) -> Iterator[ImportedData]:
    """The data of another system's file, in pieces, within the limits."""
    memories = turns = 0
    for piece in IMPORTERS[format_name](path):
        memories += len(piece.memories)
        turns += sum(len(thread.turns) for thread in piece.threads)
        if memories > limits.MAX_IMPORTED_MEMORIES:
            raise _too_many(path, limits.MAX_IMPORTED_MEMORIES, "memories")
        if turns > limits.MAX_IMPORTED_TURNS:
            raise _too_many(path, limits.MAX_IMPORTED_TURNS, "turns")
        yield piece


def _too_many(path: Path, most: int, what: str) -> ImportFailed:
    return ImportFailed(f"{path}: more than {most} {what}; split the file")


def _only_user(path: Path) -> UserRows:
    count = 0
    for user in _checked_users(path):
        count += 1
        only = user if count == 1 else None  # with several, none is kept
    if count != 1 or only is None:
        raise ImportFailed(f"{path}: holds {count} users; one user's import takes a file of one")
    return only


def _checked_users(path: Path) -> Iterator[UserRows]:
    for user in read_users(path):
        check_coherence(path, user)
        yield user


def _import_user(
    database: Database,
    scope: Scope,
    user: UserRows,
    progress: Progress,
    restored_too: AbstractSet[str] = frozenset(),
    *,
    by_operator: bool = False,
) -> ImportReport:
    """Restore exactly where nothing is stored yet, otherwise merge."""
    restored = restore_user(database, user, scope, restored_too, by_operator=by_operator)
    if restored is not None:
        progress(restored.rows, restored.rows)
        skipped = {"links": restored.skipped_links} if restored.skipped_links else {}
        return ImportReport(format=FORMAT_NAME, restored_rows=restored.rows, skipped=skipped)
    found = _as_findings(user, memories_to_leave(database, scope.user_id, user))
    merged = merge_findings(database, scope, lambda: iter([found]), FORMAT_NAME, progress)
    left_out = Counter(merged.skipped) + merge_states(database, scope.user_id, user)
    return replace(merged, skipped=dict(sorted(left_out.items())))


def _as_findings(user: UserRows, left: AbstractSet[int]) -> ImportedData:
    """What to merge, without the memories whose ids are in ``left``."""
    found = ImportedData(threads=_threads(user))
    for row in user.rows["item"]:
        if row["id"] in left:
            continue
        if row["status"] == Status.ACTIVE.value:
            found.memories.append(_draft(row))
        else:
            found.skipped[f"{row['status']} memories"] += 1
    for row in user.rows["proposal"]:
        if row["state"] == ProposalState.OPEN.value:
            found.proposals.append(_proposal(row))
        else:
            found.skipped["decided proposals"] += 1
    found.skipped["summaries"] = len(user.rows["summary"])
    found.skipped["history rows"] = len(user.rows["history"])
    found.skipped["links"] = len(user.rows["link"])
    found.skipped["refused links"] = len(user.rows["refused_link"])
    found.skipped["blocked senders"] = len(user.rows["blocked_sender"])
    found.skipped["theme descriptions"] = sum(
        row["description"] is not None for row in user.rows["theme"]
    )
    return found


def _threads(user: UserRows) -> list[FoundThread]:
    said: defaultdict[str, list[Row]] = defaultdict(list)
    for row in sorted(user.rows["turn"], key=lambda row: row["position"]):
        said[row["thread_id"]].append(row)
    formed = {row["thread_id"]: row["formed_position"] for row in user.rows["formation"]}
    compactions: defaultdict[str, list[Compaction]] = defaultdict(list)
    for row in user.rows["compaction"]:
        compactions[row["thread_id"]].append(
            Compaction(**{name: value for name, value in row.items() if name != "user_id"})
        )
    return [
        FoundThread(
            thread_id=thread["thread_id"],
            title=thread["title"],
            turns=[_turn(row) for row in said[thread["thread_id"]]],
            turn_ids=[row["id"] for row in said[thread["thread_id"]]],
            formed=formed.get(thread["thread_id"], 0),
            compactions=compactions[thread["thread_id"]],
        )
        for thread in user.rows["thread"]
    ]


def _draft(row: Row) -> NewMemory:
    return NewMemory.parse(
        {name: value for name, value in row.items() if name not in _NOT_DRAFT_FIELDS}
    )


def _turn(row: Row) -> NewTurn:
    names = ("role", "content", "actor", "at", "message_id", "tool_calls")
    observer = row["observed_by"]
    known = {"observed_by": None if observer is None else Observer.parse(observer)}
    return NewTurn(**{name: row[name] for name in names} | known)


def _proposal(row: Row) -> StoredProposal:
    checked = {
        "kind": ProposalKind(row["kind"]),
        "state": ProposalState(row["state"]),
        "fields": tuple(row["fields"]),
        "signals": tuple(row["signals"]),
    }
    return StoredProposal(
        **{name: value for name, value in row.items() if name != "user_id"} | checked
    )


def _sum(reports: list[ImportReport]) -> ImportReport:
    skipped: Counter[str] = Counter()
    for report in reports:
        skipped.update(report.skipped)
    return ImportReport(
        format=FORMAT_NAME,
        added=sum(report.added for report in reports),
        updated=sum(report.updated for report in reports),
        duplicates=sum(report.duplicates for report in reports),
        restored_rows=sum(report.restored_rows for report in reports),
        threads=sum(report.threads for report in reports),
        turns=sum(report.turns for report in reports),
        skipped=dict(skipped),
    )


def _check_readable(path: Path) -> None:
    try:
        size = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror})") from None
    if size > limits.MAX_IMPORT_FILE_BYTES:
        maximum = limits.MAX_IMPORT_FILE_BYTES
        raise ImportFailed(f"{path}: {size} bytes; allowed: at most {maximum}")
