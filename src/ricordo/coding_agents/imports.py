"""Bringing in sessions that were held before: the same path as live capture, so nothing doubles.

Every batch is a transaction, and an entry is recorded once: an import that was killed goes on when
it is run again.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ricordo.coding_agents import instruction_files
from ricordo.coding_agents.capture import record, turn_of
from ricordo.coding_agents.projects import Project, project_of
from ricordo.coding_agents.rules import AgentSettings, Rules
from ricordo.coding_agents.transcripts.readers import read
from ricordo.coding_agents.transcripts.session_files import Session
from ricordo.errors import OtherProject
from ricordo.frozen import replace
from ricordo.model.reports import ImportReport

if TYPE_CHECKING:
    from ricordo.user_memory import UserMemory

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
            self._take_over(scope, instruction_files.of_project(project.root), project.root)

    def take_users_file(self, agent: str, users_home: Path) -> None:
        """What the user tells this agent in all projects."""
        if self._only is None:
            self._take_over(self._user, instruction_files.of_user(agent, users_home), users_home)

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
        done = instruction_files.take_over(scope, files, within, dry_run=self._dry_run)
        self._added += done.added
        self._updated += done.restored + done.archived
        self._skipped[_SECRETS] += done.with_secrets
