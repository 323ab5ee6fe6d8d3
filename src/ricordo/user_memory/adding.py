"""Remembering: one thing, many, one in place of others."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from ricordo import limits
from ricordo.errors import InvalidValue
from ricordo.index.relations import Neighbours
from ricordo.memories import additions, replacement
from ricordo.model import checks
from ricordo.model.draft import NewMemory
from ricordo.model.embedding import KnownVectors
from ricordo.model.item import Added
from ricordo.model.vocabulary import Event, MemoryType, Source
from ricordo.storage.database import retried
from ricordo.storage.search_rows import text_hash
from ricordo.storage.transaction import WriteTransaction
from ricordo.user_memory.bound import Bound, checked_reason

When = datetime | date | str


class Adding(Bound):
    """Operations that remember."""

    def add(
        self,
        content: str,
        *,
        theme: str | None = None,
        type: MemoryType | str | None = None,
        key: str | None = None,
        tags: Iterable[str] | None = None,
        source: Source | str | None = None,
        source_context: str | None = None,
        thread_id: str | None = None,
        message_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        actor_id: str | None = None,
        role: str | None = None,
        confidence: int | None = None,
        importance: int | None = None,
        pinned: bool | None = None,
        valid_from: When | None = None,
        valid_to: When | None = None,
        expires_at: When | None = None,
        created_at: When | None = None,
        supersedes: int | None = None,
        reason: str | None = None,
    ) -> Added:
        """Remember something.

        The same text in the same theme is not written twice; the memory that is there counts as
        recalled. With a ``key``, what had that key is updated. With ``supersedes``, the memory of
        that id is closed and kept as history, and what is not given (theme, type, key, tags,
        importance, pin) is taken from it.

        Raises:
            InvalidValue: a value is not allowed; the message says what is.
            MemoryNotFound, NotOwner, IllegalTransition: about the memory to supersede.
            CategoryNotAllowed: its theme is out of this scope's reach.
            ScopeWidened: it names another agent, thread, run, actor or role than the scope.
        """
        given = {name: value for name, value in locals().items() if name not in _NOT_OF_THE_DRAFT}
        draft = NewMemory.parse(given)
        why = checked_reason(reason)
        if supersedes is None:
            return self._add_batch([draft], why)[0]
        added = self._replace([checks.memory_id(supersedes)], draft, Event.SUPERSEDE, why)
        self._count_said_again([added])
        return added

    def add_many(
        self, memories: Iterable[NewMemory | Mapping[str, Any] | str], *, reason: str | None = None
    ) -> tuple[Added, ...]:
        """Remember many things, one transaction per batch; what became of each, in order.

        Every value is checked before anything is written. What can only be told beside what is
        stored (a keyed statement that begins before the one it updates) stops its own batch. What
        is there already counts as recalled.

        Raises:
            InvalidValue, UnknownField: one of them is not allowed; nothing of its batch is stored.
            CategoryNotAllowed: the theme of one is out of this scope's reach; nothing is stored.
            ScopeWidened: one names another agent, thread, run, actor or role than the scope.
        """
        listed = checks.entries("memories", memories, limits.MAX_BULK_ITEMS)
        drafts = [NewMemory.parse(given).stamped(self.scope) for given in listed]
        for draft in drafts:
            additions.check_times(draft, self.database.clock())
        why = checked_reason(reason)
        added: list[Added] = []
        for start in range(0, len(drafts), limits.WRITE_BATCH_ITEMS):
            added += self._add_batch(drafts[start : start + limits.WRITE_BATCH_ITEMS], why)
        return tuple(added)

    def merge(
        self,
        ids: Iterable[int],
        content: str | NewMemory | Mapping[str, Any],
        *,
        reason: str | None = None,
    ) -> Added:
        """Put one memory in the place of several, which are kept as history.

        What is not given is taken from them where they agree; tags are put together.

        Raises:
            InvalidValue: fewer than two memories, or too many.
            MemoryNotFound, NotOwner, IllegalTransition: about the memories to merge.
            CategoryNotAllowed: the theme of the new one is out of this scope's reach.
        """
        listed = checks.entries("ids", ids, limits.MAX_MERGED_ITEMS)
        sources = list(dict.fromkeys(checks.memory_id(item_id) for item_id in listed))
        if len(sources) < 2:
            raise InvalidValue(
                "ids", f"only {len(sources)}; allowed: 2 to {limits.MAX_MERGED_ITEMS} memories"
            )
        return self._replace(sources, NewMemory.parse(content), Event.MERGE, checked_reason(reason))

    def _add_batch(self, drafts: Sequence[NewMemory], reason: str | None) -> Sequence[Added]:
        added = self._write_batch(drafts, reason)
        self._count_said_again(added)
        return added

    def _count_said_again(self, added: Iterable[Added]) -> None:
        """What somebody says once more is in use. After the transaction, never inside it."""
        met = [one.id for one in added if one.duplicate]
        if met:
            self.recall.accesses.note(self.scope.user_id, met, self.database.clock())

    @retried
    def _write_batch(self, drafts: Sequence[NewMemory], reason: str | None) -> Sequence[Added]:
        known, near = self._look_up(draft.content for draft in drafts)
        with self.database.write(self.scope.user_id, known=known) as writing:
            added = additions.add_all(writing, self.scope, drafts, reason)
            if known.by_hash or any(one.updated for one in added):
                self._relate(writing, list(zip(added, drafts, strict=True)), known, near)
            return added

    def _relate(
        self,
        writing: WriteTransaction,
        written: Sequence[tuple[Added, NewMemory]],
        known: KnownVectors,
        near: Neighbours,
    ) -> None:
        relating = self.recall.relating
        hashed = [(one, text_hash(draft.content)) for one, draft in written]
        new = [(one.id, digest) for one, digest in hashed if one.is_new]
        changed = [(one.id, digest) for one, digest in hashed if one.updated]
        relating.renew(writing, changed, known, near)
        relating.note(writing, new, known, near)

    @retried
    def _replace(
        self, old_ids: Sequence[int], draft: NewMemory, event: Event, reason: str | None
    ) -> Added:
        known, near = self._look_up([draft.content])
        with self.database.write(self.scope.user_id, touching=old_ids, known=known) as writing:
            added = replacement.replace_with(writing, self.scope, old_ids, draft, event, reason)
            self.recall.relating.note(writing, [(added.id, text_hash(draft.content))], known, near)
            return added

    def _look_up(self, texts: Iterable[str]) -> tuple[KnownVectors, Neighbours]:
        """What a write needs of vectors, found out before its transaction."""
        known = self.recall.embedders.known_vectors(self.scope.user_id, texts)
        return known, self.recall.relating.neighbours(self.scope.user_id, known)


_NOT_OF_THE_DRAFT = frozenset({"self", "supersedes", "reason"})
