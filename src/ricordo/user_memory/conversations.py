"""Conversations: recorded, read, summarised, formed into memories, and states saved with them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from ricordo import limits
from ricordo.agent_state import checkpoints as saving
from ricordo.agent_state.checkpoints import JsonText, json_text
from ricordo.conversation import compaction
from ricordo.conversation.redaction import RedactionRequest, redact
from ricordo.errors import InvalidValue, ThreadNotFound
from ricordo.formation.audit import audit
from ricordo.formation.narrative import current_summary
from ricordo.formation.schedule import plan_after_turns
from ricordo.model import checks
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
from ricordo.storage import checkpoints as state_rows
from ricordo.storage import threads as thread_rows
from ricordo.storage.database import retried
from ricordo.user_memory.base import UserOperations, checked_reason, whole_memory, within_categories

_DAY_CHARS = 10


def _day(given: object) -> str:
    if isinstance(given, datetime):
        raise InvalidValue("day", "expected a date, got a time")
    if isinstance(given, date):
        return given.isoformat()
    try:
        if isinstance(given, str) and len(given) == _DAY_CHARS:
            return date.fromisoformat(given).isoformat()
    except ValueError:
        pass
    raise InvalidValue("day", f"expected a date such as 2026-01-31, got {given!r:.40}")


class ConversationOperations(UserOperations):
    """Conversations of one user."""

    @within_categories
    def observe(
        self,
        messages: Iterable[NewTurn | Mapping[str, Any]],
        *,
        thread: str,
        title: str | None = None,
    ) -> Observed:
        """Record what was said, so that it can be found and formed into memories.

        Recording is all that is waited for. Memories are formed in the background once the
        conversation has been silent for a moment; ``form`` does it at once.

        Each message has a ``role`` and ``content``, and may have ``actor`` (who speaks), ``at``,
        ``id`` (recorded once per thread, so that sending a message again does no harm) and
        ``tool_calls``.

        What an agent records is attributed to it: only what belongs to its categories is formed,
        and nothing of it counts as asked for by the user.

        Raises:
            InvalidValue, UnknownField: a message is not allowed; nothing was recorded.
            ScopeWidened: this memory is bound to another thread.
        """
        thread_id = checks.reference("thread", thread)
        self.scope.narrow(thread_id=thread_id)
        named = checks.optional_text("title", title, limits.MAX_THREAD_TITLE_CHARS)
        listed = checks.entries("messages", messages, limits.MAX_OBSERVED_TURNS)
        said = [self._recorded_by_us(NewTurn.parse(given)) for given in listed]
        return self._record(thread_id, named, said)

    def _recorded_by_us(self, turn: NewTurn) -> NewTurn:
        """The turn with the agent that acts, if one does, whatever it says of that itself."""
        scope = self.scope
        observer = None
        if scope.is_of_an_agent:
            listed = None if scope.categories is None else tuple(sorted(scope.categories))
            observer = Observer(scope.agent_id, listed)
        return turn if turn.observed_by == observer else replace(turn, observed_by=observer)

    @retried
    def _record(self, thread_id: str, title: str | None, said: Sequence[NewTurn]) -> Observed:
        user_id = self.scope.user_id
        known = self.recall.embedders.known_vectors(user_id, [turn.content for turn in said])
        with self.database.write(user_id, known=known) as writing:
            is_new = thread_rows.find_thread(writing.connection, user_id, thread_id) is None
            recorded = thread_rows.append_turns(writing, thread_id, title, said)
            if recorded:
                policy = self.formation.policy
                plan_after_turns(writing, policy, thread_id, is_new_thread=is_new)
                window = self.parts.conversation.policy
                compaction.plan_after_turns(writing, window, thread_id, recorded)
        return Observed(thread_id, recorded, len(said) - recorded)

    @whole_memory
    def redact(
        self,
        thread_id: str,
        position: int,
        *,
        text: str | None = None,
        whole: bool = False,
        reason: str | None = None,
    ) -> Turn:
        """Replace words of a recorded turn by ``[redacted]``, for good.

        Without more, the secrets that are recognised in the turn; with ``text``, these words; with
        ``whole``, all of the turn. They go from the turn, its calls of tools, what it is found by,
        its vector, the quotes of memories and proposals of the conversation, and from summaries,
        which are rebuilt. What a memory says stays: forget that one. History keeps who did it,
        and when. The database's free space is overwritten as when a user is erased.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidValue: it has no such turn, the turn does not have these words, or no secret is
                recognised in it.
        """
        wanted = RedactionRequest(
            checks.reference("thread_id", thread_id),
            checks.integer("position", position, 1, limits.MAX_ID),
            checks.optional_text("text", text, limits.MAX_TURN_CHARS),
            checks.flag("whole", whole),
        )
        if wanted.whole and wanted.text is not None:
            raise InvalidValue("text", "give either this or whole")
        self.scope.narrow(thread_id=wanted.thread_id)
        window = self.parts.conversation.policy
        why = checked_reason(reason)
        return redact(self.database, self.recall.embedders, window, self.scope, wanted, why)

    @whole_memory
    def threads(
        self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[Thread]:
        """This user's conversations, the latest first.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        with self.database.read(self.scope.user_id) as view:
            return thread_rows.page_of_threads(view.connection, self.scope.user_id, size, cursor)

    @whole_memory
    def thread(self, thread_id: str) -> Thread:
        """One conversation: how long it is, and how far memories have been formed from it.

        Raises:
            ThreadNotFound: this user has no such conversation.
        """
        wanted = checks.reference("thread_id", thread_id)
        with self.database.read(self.scope.user_id) as view:
            found = thread_rows.find_thread(view.connection, self.scope.user_id, wanted)
        if found is None:
            raise ThreadNotFound(wanted)
        return found

    @whole_memory
    def turns(
        self,
        thread_id: str,
        *,
        limit: int = limits.DEFAULT_PAGE_ITEMS,
        cursor: str | None = None,
    ) -> Page[Turn]:
        """What was said in a conversation, in order.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidCursor: the cursor was not given out by this call.
        """
        wanted = checks.reference("thread_id", thread_id)
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        user_id = self.scope.user_id
        with self.database.read(user_id) as view:
            if thread_rows.find_thread(view.connection, user_id, wanted) is None:
                raise ThreadNotFound(wanted)
            return thread_rows.page_of_turns(view.connection, user_id, wanted, size, cursor)

    @whole_memory
    def window(self, thread: str) -> Window:
        """The latest turns of a conversation, and a bridge that summarises the earlier ones.

        At most ``window_turns`` turns, whatever is still waiting to be put into a summary. A
        conversation in which nothing was said yet has an empty window. One that was resumed by this
        process goes on showing what else was said today, until the next summary. Secrets in it
        are masked, because it is made for models; ``turns`` has what was said.

        Raises:
            ScopeWidened: this memory is bound to another thread.
        """
        found = self.parts.conversation.window(self.scope.user_id, self._thread(thread))
        return found.without_secrets()

    @whole_memory
    def compact(self, thread: str) -> CompactionReport:
        """Summarise all but the latest turns of a conversation, now.

        A job does that whenever a conversation has ``window_turns`` open turns. The turns stay
        recorded and can be searched. Where the language model gives no usable answer, or none is
        set, the summary is put together from what was said.

        Raises:
            ThreadNotFound: this user has no such conversation.
            ScopeWidened: this memory is bound to another thread.
        """
        return self.parts.conversation.compact(self.scope.user_id, self._thread(thread))

    @whole_memory
    def resume(self, thread: str) -> Window:
        """Take up a conversation again, after a break or a restart.

        The window has the latest ``window_kept_turns`` turns, a summary of all
        earlier ones, and what else the user talked about today.

        Raises:
            ScopeWidened: this memory is bound to another thread.
        """
        found = self.parts.conversation.resume(self.scope.user_id, self._thread(thread))
        return found.without_secrets()

    @whole_memory
    def day_log(self, day: str | date | None = None) -> DayLog:
        """What this user's conversations of a day were about, in order; today if none is given.

        It has what was put into summaries: see :meth:`compact`. Days are those of the setting
        ``timezone``.

        Raises:
            InvalidValue: not a date such as 2026-01-31.
        """
        wanted = None if day is None else _day(day)
        return self.parts.conversation.day_log(self.scope.user_id, wanted)

    def _thread(self, thread: str) -> str:
        thread_id = checks.reference("thread", thread)
        self.scope.narrow(thread_id=thread_id)
        return thread_id

    @whole_memory
    def form(self, thread: str | None = None) -> FormationReport:
        """Form memories now from what is new in a conversation, or in all of them.

        Each turn is formed once. With a language model set (``model_provider``) it does the
        reading, without one rules do. What is sensitive becomes a proposal, unless the user asked
        for it to be remembered.

        Raises:
            ThreadNotFound: this user has no such conversation.
            ScopeWidened: this memory is bound to another thread.
            LanguageModelError: the model could not answer; what was said stays, and a job tries
                again.
        """
        wanted = checks.optional_reference("thread", thread)
        bound_to = self.scope.narrow(thread_id=wanted).thread_id
        return self.formation.form(self.scope.user_id, bound_to)

    @whole_memory
    def summary(self) -> Summary | None:
        """What is known of this user as one text; None when nothing is.

        It is updated after each formation, by the language model or else by a template.
        """
        return current_summary(self.database, self.scope.user_id)

    @whole_memory
    def audit(self, *, limit: int = limits.DEFAULT_PAGE_ITEMS) -> AuditReport:
        """Look over what is stored: duplicates, contradictions, junk, unverified and expired.

        At most ``limit`` findings of each kind are listed; the counts are complete.
        """
        most = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        return audit(
            self.database,
            self.recall,
            self.scope.user_id,
            limit=most,
            redundant_min=self.formation.policy.redundant_min,
        )

    @whole_memory
    def save_checkpoint(
        self, thread: str, state: object, *, expected_version: int | None = None
    ) -> Checkpoint:
        """Keep a program's state of a conversation, in the place of what was saved before.

        Any JSON value comes back exactly as it was given. The conversation need not have turns.
        With ``expected_version`` (0: nothing may be saved yet), a state that somebody else has
        saved in the meantime is not overwritten.

        Raises:
            InvalidValue: the state is not JSON, or too large.
            Conflict: another version is there than the expected one; nothing was saved.
            ScopeWidened: this memory is bound to another thread.
        """
        thread_id = self._own_thread(thread)
        encoded = json_text("state", state, limits.MAX_CHECKPOINT_BYTES)
        expected = checks.optional_integer("expected_version", expected_version, 0, limits.MAX_ID)
        return self._save(thread_id, encoded, expected)

    @retried
    def _save(self, thread_id: str, encoded: JsonText, expected: int | None) -> Checkpoint:
        with self.database.write(self.scope.user_id) as writing:
            return saving.save(writing, thread_id, encoded, expected)

    @whole_memory
    def load_checkpoint(self, thread: str) -> Checkpoint:
        """The state of a conversation that was saved last.

        Raises:
            CheckpointNotFound: nothing is saved for it.
            ScopeWidened: this memory is bound to another thread.
        """
        thread_id = self._own_thread(thread)
        with self.database.read(self.scope.user_id) as view:
            return saving.load(view, self.scope.user_id, thread_id)

    @whole_memory
    def checkpoints(
        self, *, limit: int = limits.DEFAULT_PAGE_ITEMS, cursor: str | None = None
    ) -> Page[CheckpointInfo]:
        """What this user's programs have saved, the latest first, without the states themselves.

        Raises:
            InvalidCursor: the cursor was not given out by this call.
        """
        size = checks.integer("limit", limit, 1, limits.MAX_PAGE_ITEMS)
        scope = self.scope
        with self.database.read(self.scope.user_id) as view:
            return state_rows.page_of_states(
                view.connection, scope.user_id, scope.thread_id, size, cursor
            )

    @whole_memory
    @retried
    def delete_checkpoint(self, thread: str, *, expected_version: int | None = None) -> bool:
        """Remove what was saved for a conversation; False where nothing was.

        With ``expected_version``, a state that somebody else has saved in the meantime stays.

        Raises:
            Conflict: another version is there than the expected one; nothing was removed.
            ScopeWidened: this memory is bound to another thread.
        """
        thread_id = self._own_thread(thread)
        expected = checks.optional_integer("expected_version", expected_version, 0, limits.MAX_ID)
        with self.database.write(self.scope.user_id) as writing:
            return saving.delete(writing, thread_id, expected)

    def _own_thread(self, thread: str) -> str:
        thread_id = checks.reference("thread", thread)
        self.scope.narrow(thread_id=thread_id)
        return thread_id
