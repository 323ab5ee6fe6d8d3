"""What every operation of a user needs: the store, its parts, and whose memory it is."""

import time
from dataclasses import dataclass

from ricordo import limits
from ricordo.access.policy_file import PolicyFile
from ricordo.conversation.service import ConversationService
from ricordo.files.folder import FilesFolder
from ricordo.files.profile import ProfileFiles
from ricordo.formation.service import Formation
from ricordo.model import checks
from ricordo.model.activity import bucket_of
from ricordo.model.scope import Scope
from ricordo.prompt.service import PromptService
from ricordo.recall.service import Recall
from ricordo.storage.database import Database, ReadTransaction
from ricordo.storage.where import Audience, audience_of
from ricordo.upkeep.service import Upkeep
from ricordo.user_memory.confining import close_to_confined


@dataclass(frozen=True, slots=True)
class Parts:
    """What an open store consists of."""

    database: Database
    recall: Recall
    formation: Formation
    upkeep: Upkeep
    conversation: ConversationService
    files: FilesFolder | None
    """Where prompt files, profiles and mirrors lie; None where there is no folder for them."""
    prompting: PromptService
    profile_files: ProfileFiles
    access: PolicyFile


class Bound:
    """Operations of one user. Cheap, holds no connection."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        close_to_confined(cls)

    def __init__(self, parts: Parts, scope: Scope) -> None:
        self.parts = parts
        self.database = parts.database
        self.recall = parts.recall
        self.formation = parts.formation
        self.scope = scope

    def _audience(self, view: ReadTransaction) -> Audience:
        global_until = self.database.policy.global_until
        return audience_of(
            view.connection, self.scope.user_id, global_until, view.now, self.scope.categories
        )

    def _count_recall(self, started: float) -> None:
        """Count a recall that was answered by how long it took since ``started``, on the clock of
        ``time.perf_counter``. It is written later, with what else waits to be counted."""
        name = bucket_of((time.perf_counter() - started) * 1_000)
        self.recall.accesses.count(self.scope.user_id, {name: 1}, self.database.clock())


def checked_reason(given: str | None) -> str | None:
    """Why somebody does something, for history."""
    return checks.optional_text("reason", given, limits.MAX_REASON_CHARS)
