"""Bringing a user in and out as files."""

from collections.abc import Iterator
from pathlib import Path

from ricordo.model import checks
from ricordo.model.reports import ImportReport
from ricordo.model.scope import Scope
from ricordo.transfer import exports, imports
from ricordo.transfer.exports import Progress, no_progress
from ricordo.user_memory.bound import Bound


class Files(Bound):
    """Operations on files."""

    def export_lines(self) -> Iterator[str]:
        """Everything of this user's as JSON Lines, from one consistent state.

        Raises:
            UserNotFound: nothing is stored for this user.
        """
        return exports.export_lines(self.database, self.scope.user_id)

    def export(self, path: str | Path) -> int:
        """Write everything of this user's to a JSON Lines file; the number of lines.

        The file appears whole or not at all.

        Raises:
            UserNotFound: nothing is stored for this user.
        """
        return exports.export_file(self.database, self.scope.user_id, checks.path("path", path))

    def import_file(
        self, path: str | Path, *, format: str = "auto", progress: Progress = no_progress
    ) -> ImportReport:
        """Bring in a ricordo export, or what another system exported.

        Formats: ``auto ricordo mem0 chatgpt claude keyvalue markdown``. The whole file is checked
        before anything is written. Bringing in the same file again changes nothing.

        Raises:
            ImportFailed: the file cannot be read as what it should be; the message says where.
        """
        # An import is the whole user's: what it brings may name any agent or thread.
        whole = Scope(self.scope.user_id)
        return imports.import_file(
            self.database, whole, checks.path("path", path), format, progress
        )
