"""States that programs save per conversation."""

from ricordo import limits
from ricordo.agent_state import checkpoints as saving
from ricordo.agent_state.checkpoints import JsonText, json_text
from ricordo.model import checks
from ricordo.model.record import Page
from ricordo.model.thread import Checkpoint, CheckpointInfo
from ricordo.storage import checkpoints as state_rows
from ricordo.storage.database import retried
from ricordo.user_memory.bound import Bound


class States(Bound):
    """Operations on the states of programs."""

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

    def load_checkpoint(self, thread: str) -> Checkpoint:
        """The state of a conversation that was saved last.

        Raises:
            CheckpointNotFound: nothing is saved for it.
            ScopeWidened: this memory is bound to another thread.
        """
        thread_id = self._own_thread(thread)
        with self.database.read(self.scope.user_id) as view:
            return saving.load(view, self.scope.user_id, thread_id)

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
