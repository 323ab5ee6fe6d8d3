"""Conversations: recorded, read, summarised, formed into memories, and states saved with them."""

from collections.abc import Sequence
from dataclasses import replace

from ricordo import limits
from ricordo.agent_state import checkpoints as saving
from ricordo.agent_state.checkpoints import JsonText, json_text
from ricordo.errors import InvalidValue
from ricordo.formation.schedule import plan_after_turns
from ricordo.model.profile import Summary
from ricordo.model.record import Page
from ricordo.model.reports import AuditReport, FormationReport
from ricordo.model.thread import (
    Checkpoint,
    CheckpointInfo,
    CompactionReport,
    DayLog,
    NewTurn,
    Observed,
    Observer,
    Thread,
    Turn,
    Window,
)
from ricordo.model.vocabulary import Action
from ricordo.operations import conversations as describe
from ricordo.storage import checkpoints as state_rows
from ricordo.storage import threads as thread_rows
from ricordo.storage.database import retried
from ricordo.storage.history import begin_view
from ricordo.text.pieces import first_piece
from ricordo.user_memory.base import UserOperations, implements


class ConversationOperations(UserOperations):
    """Conversations of one user."""

    @implements(describe.observe)
    def observe(self, messages: Sequence[NewTurn], thread: str, title: str | None) -> Observed:
        scope = self.scope
        scope.narrow(thread_id=thread)
        observer = None  # the agent that acts, if one does, whatever a turn says of that itself
        if scope.is_of_an_agent:
            listed = None if scope.categories is None else tuple(sorted(scope.categories))
            observer = Observer(scope.agent_id, listed)
        said = [replace(turn, observed_by=observer) for turn in messages]
        return self._record(thread, title, said)

    @retried
    def _record(self, thread_id: str, title: str | None, said: Sequence[NewTurn]) -> Observed:
        from ricordo.conversation import service

        user_id = self.scope.user_id
        texts = [first_piece(turn.content) for turn in said]  # further pieces are left to a job
        known = self.recall.embedders.known_vectors(user_id, texts)
        shared = len(said) <= limits.SHARED_COMMIT_ROWS
        with self.database.write(user_id, known=known, shared=shared) as writing:
            project = self.scope.project_id
            recorded, is_new = thread_rows.append_turns(writing, thread_id, title, said, project)
            if is_new:
                begin_view(writing, thread_id)
            if recorded:
                policy = self.parts.formation.policy
                plan_after_turns(writing, policy, thread_id, is_new_thread=is_new)
                window = self.parts.conversation.policy
                service.plan_after_turns(writing, window, thread_id, recorded)
        return Observed(thread_id, recorded, len(said) - recorded)

    @implements(describe.redact)
    def redact(
        self, thread_id: str, position: int, text: str | None, whole: bool, reason: str | None
    ) -> Turn:
        from ricordo.conversation.redaction import RedactionRequest, redact

        wanted = RedactionRequest(thread_id, position, text, whole)
        if whole and text is not None:
            raise InvalidValue("text", "give either this or whole")
        self.scope.narrow(thread_id=thread_id)
        with self.database.read(self.scope.user_id) as view:
            self._thread(view, thread_id)
        window = self.parts.conversation.policy
        return redact(self.database, self.recall.embedders, window, self.scope, wanted, reason)

    @implements(describe.threads)
    def threads(self, project_id: str | None, limit: int, cursor: str | None) -> Page[Thread]:
        scope = self.scope
        with self.database.read(scope.user_id) as view:
            return thread_rows.page_of_threads(
                *(view.connection, scope.user_id, limit, cursor),
                project=scope.project_id,
                only_project=project_id,
            )

    @implements(describe.thread)
    def thread(self, thread_id: str) -> Thread:
        with self.database.read(self.scope.user_id) as view:
            return self._thread(view, thread_id)

    @implements(describe.turns)
    def turns(self, thread_id: str, limit: int, cursor: str | None) -> Page[Turn]:
        user_id = self.scope.user_id
        with self.database.read(user_id) as view:
            self._thread(view, thread_id)
            return thread_rows.page_of_turns(view.connection, user_id, thread_id, limit, cursor)

    @implements(describe.window)
    def window(self, thread: str) -> Window:
        self.scope.narrow(thread_id=thread)
        self._check_reaches_thread(thread)
        found = self.parts.conversation.window(self.scope.user_id, thread, self.scope.project_id)
        return found.without_secrets()

    @implements(describe.compact)
    def compact(self, thread: str) -> CompactionReport:
        self.scope.narrow(thread_id=thread)
        with self.database.read(self.scope.user_id) as view:
            self._thread(view, thread)
        return self.parts.conversation.compact(self.scope.user_id, thread)

    @implements(describe.resume)
    def resume(self, thread: str) -> Window:
        self.scope.narrow(thread_id=thread)
        self._check_reaches_thread(thread)
        found = self.parts.conversation.resume(self.scope.user_id, thread, self.scope.project_id)
        return found.without_secrets()

    @implements(describe.day_log)
    def day_log(self, day: str | None) -> DayLog:
        return self.parts.conversation.day_log(self.scope.user_id, day, self.scope.project_id)

    @implements(describe.form)
    def form(self, thread: str | None) -> FormationReport:
        bound_to = self.scope.narrow(thread_id=thread).thread_id
        self._check_reaches_thread(bound_to)
        return self.parts.formation.form(self.scope.user_id, bound_to, self.scope.project_id)

    @implements(describe.summary)
    def summary(self) -> Summary | None:
        from ricordo.formation.narrative import current_summary

        return current_summary(self.database, self.scope.user_id)

    @implements(describe.audit)
    def audit(self, thread: str | None, action: Action | None, limit: int) -> AuditReport:
        from ricordo.formation.audit import audit

        return audit(
            self.database,
            self.recall,
            self.scope.user_id,
            thread_id=thread,
            action=action,
            limit=limit,
            redundant_min=self.parts.formation.policy.redundant_min,
        )

    @implements(describe.save_checkpoint)
    def save_checkpoint(
        self, thread: str, state: object, expected_version: int | None
    ) -> Checkpoint:
        self.scope.narrow(thread_id=thread)
        encoded = json_text("state", state, limits.MAX_CHECKPOINT_BYTES)
        return self._save(thread, encoded, expected_version)

    @retried
    def _save(self, thread_id: str, encoded: JsonText, expected: int | None) -> Checkpoint:
        with self.database.write(self.scope.user_id) as writing:
            return saving.save(writing, thread_id, encoded, expected)

    @implements(describe.load_checkpoint)
    def load_checkpoint(self, thread: str) -> Checkpoint:
        self.scope.narrow(thread_id=thread)
        with self.database.read(self.scope.user_id) as view:
            return saving.load(view, self.scope.user_id, thread)

    @implements(describe.checkpoints)
    def checkpoints(self, limit: int, cursor: str | None) -> Page[CheckpointInfo]:
        scope = self.scope
        with self.database.read(scope.user_id) as view:
            return state_rows.page_of_states(
                view.connection, scope.user_id, scope.thread_id, limit, cursor
            )

    @implements(describe.delete_checkpoint)
    @retried
    def delete_checkpoint(self, thread: str, expected_version: int | None) -> bool:
        self.scope.narrow(thread_id=thread)
        with self.database.write(self.scope.user_id) as writing:
            return saving.delete(writing, thread, expected_version)
