"""A LangGraph store over one user's memory: what is put there can be recalled like any memory."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from ricordo import limits
from ricordo.agent_state.checkpoints import check_together, json_text, name_part
from ricordo.agent_state.entries import Entry, NewEntry, StoreEntries, entry_text
from ricordo.errors import InvalidValue
from ricordo.integrations.langgraph.filtering import check_filter, matches, namespace_matches
from ricordo.integrations.langgraph.indexing import WHOLE_VALUE, text_of
from ricordo.model import checks
from ricordo.recall.words import question_in
from ricordo.storage.entries import SEPARATOR, EntryName
from ricordo.user_memory import UserMemory
from ricordo.user_memory.confining import check_whole

_OPERATIONS: Final = (GetOp, PutOp, SearchOp, ListNamespacesOp)
_TTL_OPTIONS: Final = frozenset({"refresh_on_read", "default_ttl", "omit_expired"})
_MAX_TTL_MINUTES: Final = limits.MAX_RECENCY_DAYS * 24 * 60


class RicordoStore(BaseStore):
    """Keeps entries for one user; nobody else's can be reached through it.

    ``index`` says by which fields entries are found where a ``put`` does not: a list of paths,
    None for the whole value, False for none. Vectors are made as for all of the user's memories.
    ``ttl`` may have ``default_ttl`` (minutes) and ``refresh_on_read``; what has expired is never
    returned, and removed by the store's own background jobs.
    """

    __slots__ = ("_entries", "_fields", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        user: UserMemory,
        *,
        ttl: TTLConfig | None = None,
        index: Sequence[str] | Literal[False] | None = None,
    ) -> None:
        _check_ttl_config(ttl)
        check_whole(user.scope, "a store")
        self.ttl_config = ttl
        self._fields = _fields(index, (WHOLE_VALUE,))
        self._entries = StoreEntries(user.database, user.recall, user.scope)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations: all that read first, then all that write, in one transaction.

        Of several writes to one key the last one counts.

        Raises:
            InvalidNamespaceError, InvalidValue: one of them is not allowed; nothing was written.
        """
        listed = checks.entries("ops", ops, limits.WRITE_BATCH_ITEMS)
        for op in listed:
            if not isinstance(op, _OPERATIONS):
                raise InvalidValue("ops", f"{type(op).__name__} is no operation of a store")
            validate_op_namespace(op)
        changes: dict[EntryName, NewEntry | None] = {}
        for op in listed:
            if isinstance(op, PutOp):
                name = entry_name(op.namespace, op.key)
                changes.pop(name, None)
                changes[name] = None if op.value is None else self._new_entry(name, op)
        fetched = self._fetched([op for op in listed if isinstance(op, GetOp)])
        results = [self._result(op, fetched) for op in listed]
        if changes:
            self._entries.write(changes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same as :meth:`batch`, in a thread of the running event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Remove what has expired now, instead of waiting for the background jobs; how many."""
        return self._entries.sweep()

    def _fetched(self, ops: Sequence[GetOp]) -> dict[EntryName, Entry]:
        if not ops:
            return {}
        names = [entry_name(op.namespace, op.key) for op in ops]
        refreshed = [name for name, op in zip(names, ops, strict=True) if op.refresh_ttl]
        return self._entries.get(names, refreshed)

    def _result(self, op: Op, fetched: Mapping[EntryName, Entry]) -> Result:
        if isinstance(op, GetOp):
            entry = fetched.get(entry_name(op.namespace, op.key))
            return None if entry is None else _item(entry)
        if isinstance(op, SearchOp):
            return [_search_item(entry) for entry in self._search(op)]
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _search(self, op: SearchOp) -> list[Entry]:
        joined = SEPARATOR.join(op.namespace_prefix)
        prefix = name_part("namespace_prefix", joined, limits.MAX_NAMESPACE_CHARS)
        size = checks.integer("limit", op.limit, 0, limits.MAX_PAGE_ITEMS)
        skipped = checks.integer("offset", op.offset, 0, limits.MAX_ID)
        wanted = op.filter
        check_filter(wanted)
        fits = None if not wanted else (lambda value: matches(value, wanted))
        if size == 0:
            return []
        if not op.query or str(op.query).isspace():
            return self._entries.listed(
                prefix, limit=size, offset=skipped, matches=fits, prolongs=op.refresh_ttl
            )
        # Graphs ask with whole messages.
        asked = question_in(checks.text("query", op.query, limits.MAX_MESSAGE_CHARS))
        return self._entries.search(
            prefix, asked, limit=size, offset=skipped, matches=fits, prolongs=op.refresh_ttl
        )

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        size = checks.integer("limit", op.limit, 0, limits.MAX_ID)
        skipped = checks.integer("offset", op.offset, 0, limits.MAX_ID)
        depth = checks.optional_integer("max_depth", op.max_depth, 1, limits.MAX_ID)
        found = {
            namespace[:depth]
            for namespace in map(_labels, self._entries.namespaces())
            if all(namespace_matches(namespace, one) for one in op.match_conditions or ())
        }
        return sorted(found)[skipped : skipped + size]

    def _new_entry(self, name: EntryName, op: PutOp) -> NewEntry:
        if not isinstance(op.value, Mapping):
            raise InvalidValue("value", f"expected a mapping, got {type(op.value).__name__}")
        value = json_text("value", dict(op.value), limits.MAX_ENTRY_BYTES)
        fields = _fields(op.index, self._fields)
        text = text_of(value.value, fields) if fields else None
        ttl = None if op.ttl is None else timedelta(minutes=_checked_minutes("ttl", op.ttl))
        return NewEntry(name, value, entry_text(text) or None if text else None, ttl)


def entry_name(namespace: tuple[str, ...], key: str) -> EntryName:
    """What names an entry.

    Raises:
        InvalidValue: too many labels, or too long.
    """
    if not 1 <= len(namespace) <= limits.MAX_NAMESPACE_LABELS:
        most = limits.MAX_NAMESPACE_LABELS
        raise InvalidValue("namespace", f"{len(namespace)} labels; allowed: 1 to {most}")
    joined = name_part("namespace", SEPARATOR.join(namespace), limits.MAX_NAMESPACE_CHARS)
    kept = name_part("key", key, limits.MAX_ENTRY_KEY_CHARS)
    check_together("key", joined, kept)
    return EntryName(joined, kept)


def _fields(
    index: Sequence[str] | Literal[False] | None, otherwise: Sequence[str]
) -> Sequence[str]:
    if index is None:
        return otherwise
    if index is False:
        return ()
    is_list = isinstance(index, Sequence) and not isinstance(index, str)
    if not is_list or not all(isinstance(path, str) for path in index):
        raise InvalidValue("index", "expected a list of paths, None or False")
    return tuple(index)


def _check_ttl_config(ttl: TTLConfig | None) -> None:
    given: Mapping[str, Any] = dict(ttl or {})
    checks.known_fields("ttl option", given, _TTL_OPTIONS)
    if given.get("omit_expired", True) is not True:
        raise InvalidValue("omit_expired", "what has expired is never returned")
    if given.get("default_ttl") is not None:
        _checked_minutes("default_ttl", given["default_ttl"])
    checks.flag("refresh_on_read", given.get("refresh_on_read", True))


def _checked_minutes(field: str, value: object) -> float:
    minutes = checks.number(field, value, 0, _MAX_TTL_MINUTES)
    if minutes == 0:
        raise InvalidValue(field, "must be more than 0 minutes; None is for ever")
    return minutes


def _labels(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.split(SEPARATOR))


def _item(entry: Entry) -> Item:
    return Item(
        value=entry.value,
        key=entry.name.key,
        namespace=_labels(entry.name.namespace),
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )


def _search_item(entry: Entry) -> SearchItem:
    return SearchItem(
        namespace=_labels(entry.name.namespace),
        key=entry.name.key,
        value=entry.value,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        score=entry.score,
    )
