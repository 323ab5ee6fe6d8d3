"""Bringing in what was there before: sessions, and what projects tell agents in ``AGENTS.md``.

Sessions take the same path as live capture, so nothing doubles. A statement of ``CLAUDE.md``,
``AGENTS.md`` or ``GEMINI.md`` is a memory whose key is made of the file and the text. The files are
never written.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo import limits
from ricordo.coding_agents.capture import clean, record, turn_of
from ricordo.coding_agents.projects import Project, project_of
from ricordo.coding_agents.rules import AgentSettings, Rules
from ricordo.coding_agents.transcripts.readers import read
from ricordo.coding_agents.transcripts.session_files import Session
from ricordo.errors import OtherProject
from ricordo.frozen import dataclass, replace
from ricordo.model.draft import NewMemory
from ricordo.model.item import Item
from ricordo.model.reports import ImportReport
from ricordo.model.vocabulary import MemoryType, Source, Status
from ricordo.text.secrets import MASK
from ricordo.transfer.markdown import BlockKind, blocks

if TYPE_CHECKING:
    from ricordo.user_memory import UserMemory

OF_PROJECTS: Final = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md")
"""Where programs look for instructions, from the root of a project."""

_OF_THE_USER: Final[Mapping[str, str]] = {
    "claude-code": ".claude/CLAUDE.md",
    "codex": ".codex/AGENTS.md",
    "gemini-cli": ".gemini/GEMINI.md",
    "opencode": ".config/opencode/AGENTS.md",
}
_MAX_FILE_BYTES: Final = 1_000_000
_MAX_STATEMENTS: Final = 500
_KINDS: Final = (BlockKind.BULLET, BlockKind.PARAGRAPH)
_GONE: Final = "no longer in "


@dataclass(frozen=True, slots=True)
class TakenOver:
    """How many statements are new, are there again, are gone, and were left out."""

    added: int = 0
    restored: int = 0
    archived: int = 0
    with_secrets: int = 0


@dataclass(frozen=True, slots=True)
class _Statement:
    key: str
    text: str
    heading: str | None


def of_project(root: Path) -> dict[str, Path]:
    """The files of a project by the names that memories give them, missing ones included."""
    return {name: root / name for name in OF_PROJECTS} if root.is_dir() else {}


def of_user(agent: str, home: Path) -> dict[str, Path]:
    """The file in which the user tells an agent what holds in all projects."""
    name = _OF_THE_USER.get(agent)
    return {f"~/{name}": home / name} if name else {}


def take_over(
    scope: "UserMemory", files: Mapping[str, Path], within: Path, *, dry_run: bool = False
) -> TakenOver:
    """Make the memories of a scope say what these files say now.

    What a file no longer says is archived, and restored if it says so again; what the user changed,
    archived or forgot stays as it is. A link that leads out of ``within`` is not followed. Raises
    RicordoError: the store; what was done before is done.
    """
    added = restored = archived = with_secrets = 0
    seen: set[Path] = set()
    for name, path in files.items():
        statements: dict[str, _Statement] = {}
        real = _real_path(path, within)
        if real is not None and real not in seen:
            seen.add(real)
            for one in _statements(name, real):
                if MASK in clean(one.text, limits.MAX_CONTENT_CHARS):
                    with_secrets += 1
                else:
                    statements[one.key] = one
        known = {item.key: item for item in _known(scope, name)}
        new = [one for key, one in statements.items() if key not in known]
        gone = [
            item
            for key, item in known.items()
            if key not in statements and item.status is Status.ACTIVE
        ]
        back = [item for key, item in known.items() if key in statements and _is_gone(scope, item)]
        added, restored, archived = added + len(new), restored + len(back), archived + len(gone)
        if not dry_run:
            _write(scope, name, new, back, gone)
    return TakenOver(added, restored, archived, with_secrets)


def _write(
    scope: "UserMemory",
    name: str,
    new: Iterable[_Statement],
    back: Iterable[Item],
    gone: Iterable[Item],
) -> None:
    for item in gone:
        scope.archive(item.id, reason=f"{_GONE}{name}")
    for item in back:
        scope.restore(item.id, reason=f"again in {name}")
    drafts = [
        NewMemory(
            content=one.text,
            type=MemoryType.INSTRUCTION,
            key=one.key,
            tags=("convention", f"file:{name}"),
            source=Source.FILE,
            source_context=name if one.heading is None else f"{name}, {one.heading}"[:200],
        )
        for one in new
    ]
    if drafts:
        scope.add_many(drafts)


def _known(scope: "UserMemory", name: str) -> Iterator[Item]:
    """The memories made of a file, whatever became of them, but for those of other projects."""
    cursor = None
    while True:
        page = scope.list(
            tags=[f"file:{name}"],
            source=Source.FILE,
            status=(Status.ACTIVE, Status.ARCHIVED, Status.SUPERSEDED, Status.DELETED),
            cursor=cursor,
        )
        for item in page.items:
            is_of_file = item.key is not None and item.key.startswith(f"file:{name}#")
            if is_of_file and item.project_id == scope.scope.project_id:
                yield item
        cursor = page.next_cursor
        if cursor is None:
            return


def _is_gone(scope: "UserMemory", item: Item) -> bool:
    """Whether it was archived because its file did not say so any more."""
    if item.status is not Status.ARCHIVED:
        return False
    last = scope.history(item.id, limit=limits.MAX_CHANGES)[-1:]
    return any((one.reason or "").startswith(_GONE) for one in last)


def _real_path(path: Path, within: Path) -> Path | None:
    try:
        real = path.resolve(strict=True)
        return real if real.is_file() and real.is_relative_to(within.resolve()) else None
    except (OSError, RuntimeError):
        return None


def _statements(name: str, path: Path) -> Iterator[_Statement]:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES).decode("utf-8", "replace").replace("\x00", "")
    except OSError:
        return
    found = (
        block
        for block in blocks(content)
        if block.kind in _KINDS
        and 0 < len(block.text) <= limits.MAX_CONTENT_CHARS
        and not block.text.startswith(("@", "<!--", "|"))  # what it includes, comments, tables
    )
    for block in islice(found, _MAX_STATEMENTS):
        plain = " ".join(block.text.split()).casefold()
        digest = hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:16]
        yield _Statement(f"file:{name}#{digest}", block.text, block.heading)


_NO_FOLDER: Final = "sessions of a folder that nothing names"
_OFF: Final = "sessions of projects that are off"
_UNREADABLE: Final = "sessions that cannot be read"
_ELSEWHERE: Final = "sessions that are stored in another project"
_BY_RULES: Final = "messages that the settings leave out"
_SECRETS: Final = "lines with secrets"


class SessionImport:
    """One import for one user, in a scope of no project.

    With ``only`` it takes what is of that project. With ``dry_run`` everything is counted and
    nothing is written.
    """

    def __init__(
        self,
        user: "UserMemory",
        home: Path,
        settings: AgentSettings,
        *,
        only: str | None = None,
        dry_run: bool = False,
    ) -> None:
        self._user = user
        self._only = only
        self._home = home
        self._settings = settings
        self._dry_run = dry_run
        self._rules: dict[str, Rules] = {}
        self._skipped: Counter[str] = Counter()
        self._threads = self._turns = self._known = 0
        self._added = self._updated = 0

    def take(self, sessions: Sequence[Session], progress: Callable[[int, int], None]) -> None:
        """Record sessions, the oldest first, and then what files of their projects say."""
        roots: dict[str, Project] = {}
        for done, session in enumerate(reversed(sessions), start=1):
            rules = self._rules_of(session)
            if rules is not None:
                roots.setdefault(rules.project.id, rules.project)
                self._record(session, rules)
            progress(done, len(sessions))
        for project in roots.values():
            scope = self._user.narrow(project=project.id)
            self._take_over(scope, of_project(project.root), project.root)

    def take_users_file(self, agent: str, users_home: Path) -> None:
        """What the user tells this agent in all projects."""
        if self._only is None:
            self._take_over(self._user, of_user(agent, users_home), users_home)

    def report(self, agent: str) -> ImportReport:
        return ImportReport(
            format=agent,
            added=self._added,
            updated=self._updated,
            duplicates=self._known,
            threads=self._threads,
            turns=self._turns,
            skipped={reason: count for reason, count in self._skipped.items() if count},
        )

    def _rules_of(self, session: Session) -> Rules | None:
        """What may be captured of a session; None where nothing may."""
        if session.folder is None:
            self._skipped[_NO_FOLDER] += 1
            return None
        if session.folder not in self._rules:
            project = project_of(Path(session.folder))
            self._rules[session.folder] = Rules.of(self._home, self._settings, project)
        rules = self._rules[session.folder]
        if self._only not in (None, rules.project.id):
            return None
        if rules.is_off:
            self._skipped[_OFF] += 1
            return None
        return rules

    def _record(self, session: Session, rules: Rules) -> None:
        entries = (
            replace(one, at=one.at or session.updated_at)  # some agents note no times
            for one in read(session.agent, session.path, session.session_id)
        )
        recorded = 0
        try:
            if self._dry_run:
                allowed = {one.id: turn_of(one, rules) is not None for one in entries}
                recorded = sum(allowed.values())
                self._skipped[_BY_RULES] += len(allowed) - recorded
            else:
                scope = self._user.narrow(project=rules.project.id)
                captured = record(scope, session.agent, entries, rules)
                recorded = captured.recorded
                self._known += captured.known
                self._skipped[_BY_RULES] += captured.left_out
        except OSError:
            self._skipped[_UNREADABLE] += 1
        except OtherProject:
            self._skipped[_ELSEWHERE] += 1
        self._turns += recorded
        self._threads += recorded > 0

    def _take_over(self, scope: "UserMemory", files: dict[str, Path], within: Path) -> None:
        done = take_over(scope, files, within, dry_run=self._dry_run)
        self._added += done.added
        self._updated += done.restored + done.archived
        self._skipped[_SECRETS] += done.with_secrets
