"""Entries of a program's key-value store, each of which can also be a memory."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from ricordo import limits
from ricordo.agent_state.checkpoints import JsonText, read_json
from ricordo.frozen import dataclass, replace
from ricordo.index.relations import PreparedWrite
from ricordo.limits import MAX_CONTENT_CHARS, MAX_THEME_CHARS
from ricordo.memories import additions
from ricordo.memories.lifecycle import forget, is_expired, plan_lifecycle
from ricordo.model.draft import NewMemory
from ricordo.model.filters import ItemFilter
from ricordo.model.item import Added
from ricordo.model.scope import Scope
from ricordo.model.vocabulary import Source, Status
from ricordo.recall.service import Recall
from ricordo.storage import entries as rows
from ricordo.storage.database import Database, WriteTransaction, retried
from ricordo.storage.entries import SEPARATOR, EntryName, StoredEntry
from ricordo.storage.items import item_of
from ricordo.text.normalise import slug

ENTRY_TAG: Final = "langgraph"
"""The tag of every memory of an entry."""

REASON: Final = "entry of a store"

_KEY_PREFIX: Final = "entry:"
_DIGEST_BYTES: Final = 16
_FOUND: Final = ItemFilter(tags=(ENTRY_TAG,))
Matches = Callable[[Any], bool]
"""A predicate on the value of an entry."""


def memory_of_entry(name: EntryName, text: str) -> NewMemory:
    """The memory of an entry. Pinned: a program relies on its entries.

    Namespaces that differ only in punctuation share a theme. The key is unique and bounded.
    """
    theme = slug(name.namespace.replace(SEPARATOR, " "))[:MAX_THEME_CHARS].strip("-_")
    encoded = json.dumps(list(name)).encode("utf-8")
    digest = hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).hexdigest()
    return NewMemory(
        content=entry_text(text),
        theme=theme or ENTRY_TAG,
        key=_KEY_PREFIX + digest,
        tags=(ENTRY_TAG,),
        source=Source.TOOL_CALL,
        pinned=True,
    )


def entry_text(text: str) -> str:
    """A text that a memory can hold: without NUL, and truncated."""
    return text.replace("\x00", " ").strip()[:MAX_CONTENT_CHARS].strip()


def forget_memories(writing: WriteTransaction, scope: Scope, item_ids: Iterable[int]) -> None:
    for item_id in item_ids:
        item = item_of(writing.connection, writing.user_id, item_id)
        if item is None or item.status is Status.DELETED or is_expired(item, writing.now):
            continue
        forget(writing, scope, item.id, REASON)


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to be stored. Without a ``text`` it has no memory; without a ``ttl``, no expiry."""

    name: EntryName
    value: JsonText
    text: str | None = None
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    name: EntryName
    value: Any
    created_at: datetime
    updated_at: datetime
    score: float | None = None


class StoreEntries:
    """The entries of a user's stores; one with a text has a memory, written with it."""

    def __init__(self, database: Database, recall: Recall, scope: Scope) -> None:
        self.database = database
        self._recall = recall
        self._scope = scope
        self._user_id = scope.user_id

    def get(
        self, names: Iterable[EntryName], prolonged: Iterable[EntryName] = ()
    ) -> dict[EntryName, Entry]:
        """The existing entries by name. Restarts the time to live of ``prolonged``."""
        with self.database.read(self._user_id) as view:
            where = rows.readable(self._user_id, view.now)
            found = rows.entries_named(view.connection, where, set(names))
        again = set(prolonged)
        self._prolong([entry for name, entry in found.items() if name in again])
        return {name: _read(entry) for name, entry in found.items()}

    def listed(
        self,
        prefix: str,
        *,
        limit: int,
        offset: int,
        matches: Matches | None = None,
        prolongs: bool = False,
    ) -> list[Entry]:
        """Entries in a namespace and below it, the latest changed first."""
        with self.database.read(self._user_id) as view:
            where = rows.readable(self._user_id, view.now) & rows.under(prefix)
            if matches is None:
                scanned = rows.scan_entries(view.connection, where, limit=limit, offset=offset)
                found = list(scanned)
            else:
                with closing(rows.scan_entries(view.connection, where)) as every:
                    wanted = (one for one in every if matches(read_json("value", one.value)))
                    found = list(islice(wanted, offset, offset + limit))
        if prolongs:
            self._prolong(found)
        return [_read(entry) for entry in found]

    def search(
        self,
        prefix: str,
        query: str,
        *,
        limit: int,
        offset: int,
        matches: Matches | None = None,
        prolongs: bool = False,
    ) -> list[Entry]:
        """Entries in a namespace and below it that match a query, the best first."""
        if matches is None:
            within = rows.memories_under(self._user_id, prefix)
        else:
            with self.database.read(self._user_id) as view:
                below = rows.readable(self._user_id, view.now) & rows.under(prefix)
                matching = [
                    entry.item_id
                    for entry in rows.scan_entries(view.connection, below)
                    if entry.item_id is not None and matches(read_json("value", entry.value))
                ]
            within = rows.memories_numbered(matching)
        answer = self._recall.memories.find(
            self._user_id, query, offset + limit, _FOUND, within=within
        )
        scores = {one.id: one.score for one in answer.ranked[offset:]}
        with self.database.read(self._user_id) as view:
            where = rows.readable(self._user_id, view.now)
            entries = rows.entries_of_items(view.connection, where, list(scores))
        found = [(entries[one], score) for one, score in scores.items() if one in entries]
        self._recall.accesses.note(
            self._user_id, [one for one in scores if one in entries], self.database.clock()
        )
        if prolongs:
            self._prolong([entry for entry, _ in found])
        return [_read(entry, score) for entry, score in found]

    def namespaces(self) -> list[str]:
        with self.database.read(self._user_id) as view:
            return rows.namespaces(view.connection, rows.readable(self._user_id, view.now))

    @retried
    def write(self, changes: Mapping[EntryName, NewEntry | None]) -> None:
        """Store entries and delete others (None), atomically. Raises InvalidValue: a text or a time
        is not allowed."""
        drafts = {
            name: memory_of_entry(name, new.text)
            for name, new in changes.items()
            if new is not None and new.text is not None
        }
        texts = [draft.content for draft in drafts.values()]
        prepared = self._recall.prepare(self._user_id, texts)
        with self.database.read(self._user_id) as view:
            stored = rows.entries_named(view.connection, rows.of_user(self._user_id), set(changes))
        touching = [entry.item_id for entry in stored.values() if entry.item_id is not None]
        with self.database.write(self._user_id, touching=touching, known=prepared.known) as writing:
            # Entries that are deleted, or have no text any more, have no memory.
            silent = [name for name in changes if name not in drafts]
            own = rows.of_user(self._user_id)
            former = rows.entries_named(writing.connection, own, silent).values()
            ids = [entry.item_id for entry in former if entry.item_id is not None]
            forget_memories(writing, self._scope, ids)
            # A user may have moved a memory to another theme.
            themes = rows.themes_of_memories(writing.connection, self._user_id, drafts.keys())
            drafts = {
                name: replace(draft, theme=themes.get(name, draft.theme))
                for name, draft in drafts.items()
            }
            added = self._remember(writing, drafts, prepared)
            new_ones = [new for new in changes.values() if new is not None]
            self._store(writing, new_ones, added)
            rows.remove_entries(writing, [name for name, new in changes.items() if new is None])

    @retried
    def sweep(self) -> int:
        """Delete expired entries in bounded steps; returns how many."""
        removed = 0
        while True:
            with self.database.write(self._user_id) as writing:
                step = rows.remove_expired_entries(writing, limits.SWEEP_BATCH_ITEMS)
            removed += step
            if step < limits.SWEEP_BATCH_ITEMS:
                return removed

    def _remember(
        self,
        writing: WriteTransaction,
        drafts: Mapping[EntryName, NewMemory],
        prepared: PreparedWrite,
    ) -> dict[EntryName, Added]:
        added = additions.add_all(writing, self._scope, list(drafts.values()), REASON, adopts=False)
        texts = (draft.content for draft in drafts.values())
        self._recall.relating.written(writing, zip(added, texts, strict=True), prepared)
        return dict(zip(drafts, added, strict=True))

    def _store(
        self,
        writing: WriteTransaction,
        new_ones: Sequence[NewEntry],
        added: Mapping[EntryName, Added],
    ) -> None:
        where = rows.readable(writing.user_id, writing.now)
        present = rows.entries_named(writing.connection, where, [new.name for new in new_ones])
        made = []
        for new in new_ones:
            before = present.get(new.name)
            memory = added.get(new.name)
            until = None if new.ttl is None else writing.now + new.ttl
            made.append(
                StoredEntry(
                    *new.name,
                    value=new.value.text,
                    item_id=None if memory is None else memory.id,
                    created_at=writing.now if before is None else before.created_at,
                    updated_at=writing.now,
                    expires_at=until,
                    ttl_minutes=None if new.ttl is None else new.ttl / timedelta(minutes=1),
                )
            )
            if memory is not None:
                rows.set_memory_end(writing, memory.id, until)
            if until is not None:
                plan_lifecycle(writing, writing.user_id, until)
        if made:
            rows.put_entries(writing, made)

    def _prolong(self, read: Sequence[StoredEntry]) -> None:
        with_an_end = [entry for entry in read if entry.ttl_minutes is not None]
        if with_an_end:
            self._restart_ttl([entry.name for entry in with_an_end])

    @retried
    def _restart_ttl(self, names: Sequence[EntryName]) -> None:
        with self.database.write(self._user_id) as writing:
            # Read again: they may have been replaced since.
            where = rows.readable(writing.user_id, writing.now)
            found = rows.entries_named(writing.connection, where, names)
            rows.prolong(writing, list(found.values()))


def _read(entry: StoredEntry, score: float | None = None) -> Entry:
    value = read_json("value", entry.value)
    return Entry(entry.name, value, entry.created_at, entry.updated_at, score)
