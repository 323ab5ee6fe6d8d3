"""Conversations: recording what is said, and reading it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ricordo import limits
from ricordo.conversation import compaction
from ricordo.conversation.redaction import Wanted, redact
from ricordo.errors import InvalidValue, ThreadNotFound
from ricordo.formation.schedule import plan_after_turns
from ricordo.model import checks
from ricordo.model.record import Page
from ricordo.model.thread import NewTurn, Observed, Observer, Thread, Turn
from ricordo.storage import threads as thread_rows
from ricordo.storage.database import retried
from ricordo.user_memory.bound import Bound, checked_reason


class Conversations(Bound):
    """Operations on what was said."""

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

    def redact(
        self,
        thread_id: str,
        position: int,
        *,
        text: str | None = None,
        whole: bool = False,
        reason: str | None = None,
    ) -> Turn:
        """Take words out of what was said, for good; ``[redacted]`` stands in their place.

        Without more, the secrets that are recognised in the turn; with ``text``, these words; with
        ``whole``, all of the turn. They go from the turn, its calls of tools, what it is found by,
        its vector, the quotes of memories and proposals of the conversation, and from summaries,
        which are made anew. What a memory says stays: forget that one. History keeps who did it,
        and when. The database's free space is overwritten as when a user is erased.

        Raises:
            ThreadNotFound: this user has no such conversation.
            InvalidValue: it has no such turn, the turn does not have these words, or no secret is
                recognised in it.
        """
        wanted = Wanted(
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
