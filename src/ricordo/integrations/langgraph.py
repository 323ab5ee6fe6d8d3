"""LangGraph over ricordo: a checkpointer, a store and a tool node, for one user or for the user of
each run.

Needs the extra ``langgraph``; nothing else of ricordo imports this.
"""

try:
    import langgraph.checkpoint.base
    import langgraph.prebuilt
    import langgraph.store.base  # noqa: F401 - all come with one extra; checked together
except ImportError as missing:
    from ricordo.errors import needs_extra

    raise ImportError(needs_extra("ricordo.integrations.langgraph", "langgraph")) from missing

import asyncio
import json
import operator
import secrets
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import timedelta
from typing import Any, Final, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)

from ricordo import limits
from ricordo.agent_state.checkpoints import check_together, json_text, name_part
from ricordo.agent_state.entries import Entry, NewEntry, StoreEntries, entry_text
from ricordo.agent_state.graph_states import GraphStates, LoadedGraph
from ricordo.errors import InvalidValue
from ricordo.integrations.adapter import chooser
from ricordo.integrations.langchain import UserOfConfig, memory_tools
from ricordo.model import checks
from ricordo.recall.search import question_in
from ricordo.storage.checkpoints import ChannelName, GraphCheckpoint, GraphWrite, Packed
from ricordo.storage.entries import SEPARATOR, EntryName
from ricordo.user_memory import UserMemory
from ricordo.user_memory.base import check_all_projects, check_whole

__all__ = ["RicordoSaver", "RicordoStore", "memory_tool_node"]

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_ORDERED: Final = frozenset({"$gt", "$gte", "$lt", "$lte"})

WHOLE_VALUE: Final = "$"
_PLACE: Final = frozenset({"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"})
_STRATEGIES: Final = ("keep_latest", "delete")
_TTL_OPTIONS: Final = frozenset({"refresh_on_read", "default_ttl", "omit_expired"})
_MAX_TTL_MINUTES: Final = limits.MAX_RECENCY_DAYS * 24 * 60


def check_operators(wanted: object) -> None:
    """Refuse unknown operators in a filter, at any depth. Raises InvalidValue: names the operator
    and those that exist."""
    if isinstance(wanted, Mapping):
        for name, inner in wanted.items():
            if str(name).startswith("$") and name not in _COMPARISONS:
                allowed = ", ".join(_COMPARISONS)
                raise InvalidValue("filter", f"unknown operator {name!r}; allowed: {allowed}")
            check_operators(inner)
    elif isinstance(wanted, list | tuple):
        for inner in wanted:
            check_operators(inner)


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether every field of the filter matches."""
    return all(_fits(value.get(name), condition) for name, condition in wanted.items())


def _fits(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compared(value, name, other) for name, other in condition.items())
        return isinstance(value, Mapping) and matches(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(map(_fits, value, condition))
        )
    return bool(value == condition)


def _compared(value: Any, name: str, other: Any) -> bool:
    """Only two numbers or two texts can be ordered."""
    if name in _ORDERED and not (_both(value, other, str) or _both(value, other, (int, float))):
        return False
    return bool(_COMPARISONS[name](value, other))


def _both(one: object, other: object, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(one, kinds) and isinstance(other, kinds)


def namespace_matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Whether a namespace matches a prefix or suffix condition; ``*`` is any one label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidValue("match_type", f"{condition.match_type!r} is not one of: prefix, suffix")
    if len(path) > len(namespace):
        return False
    if not path:
        return True
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(want in ("*", label) for label, want in zip(labels, path, strict=True))


def text_of(value: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    """The texts of some fields, one per line; None where there is nothing to search by."""
    found: list[str] = []
    for path in paths:
        if path == WHOLE_VALUE:
            fields = list(_leaves("", value))
            # The name of the only field says nothing.
            is_single = len(fields) == 1
            found += [text if is_single else f"{name}: {text}" for name, text in fields]
        else:
            found += get_text_at_path(value, path)
    return "\n".join(text for text in found if text.strip()) or None


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(name, part)
    elif value is not None and str(value).strip():
        yield name, str(value)


class Packing:
    """Packs and unpacks values with one serializer."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde

    def packed(self, value: object) -> Packed:
        kind, data = self._serde.dumps_typed(value)
        return Packed(kind, bytes(data))

    def unpacked(self, packed: Packed) -> Any:
        return self._serde.loads_typed((packed.format, packed.data))

    def names_of(self, state: Packed) -> Iterable[ChannelName]:
        """The channel values that a checkpoint refers to."""
        versions: ChannelVersions = self.unpacked(state)["channel_versions"]
        return [channel_name(channel, version) for channel, version in versions.items()]

    def new_values(
        self, checkpoint: Checkpoint, versions: ChannelVersions
    ) -> dict[ChannelName, Packed]:
        """The values of the channels that changed; a channel that became empty has none."""
        values = checkpoint["channel_values"]
        return {
            channel_name(channel, version): self.packed(values[channel])
            for channel, version in versions.items()
            if channel in values
        }

    def bare(self, checkpoint: Checkpoint) -> Packed:
        """A checkpoint without the values of its channels."""
        kept = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        return self.packed(kept)

    def writes(
        self, written: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> list[GraphWrite]:
        """What a task wrote; of several writes to one special place, the last counts."""
        placed: dict[int, GraphWrite] = {}
        for index, (channel, value) in enumerate(written):
            place = WRITES_IDX_MAP.get(channel, index)
            placed[place] = GraphWrite(task_id, place, task_path, channel, self.packed(value))
        return list(placed.values())

    def tuple_of(self, loaded: LoadedGraph, named: Mapping[str, Any]) -> CheckpointTuple:
        """A stored checkpoint as LangGraph's tuple; ``named`` is what its config says besides."""
        stored = loaded.checkpoint
        bare = self.unpacked(stored.state)
        versions: ChannelVersions = bare["channel_versions"]
        names = {channel: channel_name(channel, one) for channel, one in versions.items()}
        values = {
            channel: self.unpacked(loaded.values[name])
            for channel, name in names.items()
            if name in loaded.values
        }
        pending: list[PendingWrite] = [
            (one.task_id, one.channel, self.unpacked(one.value)) for one in loaded.writes
        ]
        parent = stored.parent_id
        return CheckpointTuple(
            config=config_of(stored, stored.checkpoint_id, named),
            checkpoint=cast(Checkpoint, {**bare, "channel_values": values}),
            metadata=self.metadata_of(stored),
            parent_config=None if parent is None else config_of(stored, parent, named),
            pending_writes=pending,
        )

    def metadata_of(self, stored: GraphCheckpoint) -> CheckpointMetadata:
        return cast(CheckpointMetadata, self.unpacked(stored.metadata))

    def latest_whole(
        self, listed: Sequence[GraphCheckpoint], stored: Collection[ChannelName]
    ) -> set[str]:
        """The latest checkpoint, with the earlier ones that its delta channels need.

        A delta channel has a full value only now and then, and is otherwise computed from that
        value and all writes since, so those checkpoints must be kept.
        """
        latest = listed[0]
        kept = {latest.checkpoint_id}
        noted = self.metadata_of(latest)
        waiting = set(noted.get("counters_since_delta_snapshot") or ())
        waiting -= self._stored_channels(latest, stored)
        by_id = {one.checkpoint_id: one for one in listed}
        ancestor = by_id.get(latest.parent_id or "")
        while waiting and ancestor is not None:
            kept.add(ancestor.checkpoint_id)
            waiting -= self._stored_channels(ancestor, stored)
            ancestor = by_id.get(ancestor.parent_id or "")
        return kept

    def _stored_channels(
        self, checkpoint: GraphCheckpoint, stored: Collection[ChannelName]
    ) -> set[str]:
        return {name.channel for name in self.names_of(checkpoint.state) if name in stored}


def channel_name(channel: str, version: str | float) -> ChannelName:
    """The storage name of a version of a channel's value: 1 and "1" are two versions."""
    return ChannelName(channel, json.dumps(version, ensure_ascii=False))


def config_of(
    stored: GraphCheckpoint, checkpoint_id: str, named: Mapping[str, Any]
) -> RunnableConfig:
    """The configuration of a checkpoint of the same thread and namespace."""
    return {
        "configurable": {
            **named,
            "thread_id": stored.thread_id,
            "checkpoint_ns": stored.namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def thread_of(configurable: Mapping[str, Any]) -> str:
    return str(configurable["thread_id"])


def _user_chooser(
    user: UserMemory | UserOfConfig, face: str
) -> Callable[[RunnableConfig | None], UserMemory]:
    """The user of a config; without one, of the run that is under way."""
    user_of = chooser(user, "user")

    def choose(config: RunnableConfig | None) -> UserMemory:
        if config is None and callable(user):
            try:
                config = get_config()
            except RuntimeError:
                raise InvalidValue(
                    "user",
                    "no run is under way whose config names one; outside of runs use"
                    f" {face}(memory.user('ana'))",
                ) from None
        return user_of(config or {})

    return choose


class RicordoSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of a user's graphs; nobody else's threads can be reached through it.

    ``user`` is one user's memory, or chooses one by the config of each run, so that one graph
    serves many users: ``user_of_config(memory)``. Methods without a config are then for the user of
    the run that is under way.

    Without a custom ``serde``, only types of LangGraph and LangChain and plain values are restored;
    other types become plain data. To allow some, give a
    ``JsonPlusSerializer(allowed_msgpack_modules=[...])``. Asynchronous methods run the synchronous
    ones in threads of the running event loop.
    """

    def __init__(
        self, user: UserMemory | UserOfConfig, *, serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._user_of = _user_chooser(user, type(self).__name__)
        self._serves_many = callable(user)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint of a configuration, or the latest of its thread."""
        configurable = config["configurable"]
        packing = self._packing
        loaded = self._states(packing, config).find(
            thread_of(configurable),
            configurable.get("checkpoint_ns", ""),
            get_checkpoint_id(config),
        )
        return None if loaded is None else packing.tuple_of(loaded, self._named(configurable))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """This user's checkpoints, the latest first; all threads without a configuration."""
        configurable = {} if config is None else config["configurable"]
        packing = self._packing
        wanted = dict(filter or {})

        def matches(stored: GraphCheckpoint) -> bool:
            if not wanted:
                return True
            metadata = cast(dict[str, Any], packing.metadata_of(stored))
            return all(metadata.get(name) == value for name, value in wanted.items())

        if limit is not None and limit <= 0:
            return
        walk = self._states(packing, config).walk(
            thread_id=thread_of(configurable) if "thread_id" in configurable else None,
            namespace=configurable.get("checkpoint_ns"),
            checkpoint_id=configurable.get("checkpoint_id"),
            before=None if before is None else get_checkpoint_id(before),
            is_wanted=matches,
        )
        for number, loaded in enumerate(walk, start=1):
            yield packing.tuple_of(loaded, self._named(configurable))
            if number == limit:
                return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with its new values, in one transaction."""
        configurable = config["configurable"]
        noted = get_checkpoint_metadata(config, metadata)
        run_id = noted.get("run_id")
        packing = self._packing
        new = GraphCheckpoint(
            thread_id=thread_of(configurable),
            namespace=configurable.get("checkpoint_ns", ""),
            checkpoint_id=checkpoint["id"],
            parent_id=get_checkpoint_id(config),
            run_id=None if run_id is None else str(run_id),
            state=packing.bare(checkpoint),
            metadata=packing.packed(noted),
        )
        values = packing.new_values(checkpoint, new_versions)
        self._states(packing, config).save(new, values)
        return config_of(new, new.checkpoint_id, self._named(configurable))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote after a checkpoint."""
        configurable = config["configurable"]
        packing = self._packing
        self._states(packing, config).save_writes(
            thread_of(configurable),
            configurable.get("checkpoint_ns", ""),
            configurable["checkpoint_id"],
            packing.writes(writes, task_id, task_path),
        )

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of a thread."""
        self._states().delete_thread(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete everything of some runs."""
        self._states().delete_runs({str(run_id) for run_id in run_ids})

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy everything of a thread to a new one. Raises Conflict: the target has checkpoints of
        its own."""
        self._states().copy_thread(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the latest checkpoint of each namespace, or none (``delete``).

        Earlier ones that the latest one's delta channels need are kept. Raises InvalidValue: no
        such strategy.
        """
        if strategy not in _STRATEGIES:
            raise InvalidValue("strategy", f"{strategy!r} is not one of: {', '.join(_STRATEGIES)}")
        packing = self._packing
        states = self._states(packing)
        for thread_id in thread_ids:
            if strategy == "delete":
                states.delete_thread(str(thread_id))
            else:
                states.prune(str(thread_id), packing.latest_whole)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """A version that sorts after the current one, unique across branches."""
        reached = 0 if current is None else int(str(current).partition(".")[0])
        return f"{reached + 1:032}.{secrets.token_hex(8)}"

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The same as :meth:`get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The same as :meth:`list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """The same as :meth:`put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """The same as :meth:`put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """The same as :meth:`delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """The same as :meth:`delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """The same as :meth:`copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """The same as :meth:`prune`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    @property
    def _packing(self) -> Packing:
        return Packing(self.serde)

    def _named(self, configurable: Mapping[str, Any]) -> dict[str, Any]:
        """What a config says besides the place of a checkpoint: for example whose it is."""
        if not self._serves_many:
            return {}
        return {
            name: value
            for name, value in configurable.items()
            if name not in _PLACE and not name.startswith("__")
        }

    def _states(
        self, packing: Packing | None = None, config: RunnableConfig | None = None
    ) -> GraphStates:
        user = self._user_of(config)
        check_whole(user.scope, "a checkpointer")
        check_all_projects(user.scope, "a checkpointer")
        return GraphStates(user.database, user.scope, (packing or self._packing).names_of)


class RicordoStore(BaseStore):
    """Keeps entries for a user; nobody else's can be reached through it.

    ``user`` is one user's memory, or chooses one by the config of the run that is under way:
    ``user_of_config(memory)``.

    ``index`` says by which fields entries are searched where a ``put`` does not: a list of paths,
    None for the whole value, False for none. Vectors are made as for all of the user's memories.
    ``ttl`` may have ``default_ttl`` (minutes) and ``refresh_on_read``; expired entries are never
    returned, and removed by the store's own background jobs.
    """

    __slots__ = ("_fields", "_user_of", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        user: UserMemory | UserOfConfig,
        *,
        ttl: TTLConfig | None = None,
        index: Sequence[str] | Literal[False] | None = None,
    ) -> None:
        _check_ttl_config(ttl)
        self.ttl_config = ttl
        self._fields = _fields(index, (WHOLE_VALUE,))
        self._user_of = _user_chooser(user, type(self).__name__)
        if not callable(user):
            _entries_of(user)  # refused now, and not in the middle of a run

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run several operations: first all reads, then all writes, in one transaction.

        Of several writes to one key the last counts.

        Raises:
            InvalidNamespaceError, InvalidValue: one of them is not allowed; nothing was written.
        """
        listed = checks.entries("ops", ops, limits.WRITE_BATCH_ITEMS)
        for op in listed:
            if not isinstance(op, (GetOp, PutOp, SearchOp, ListNamespacesOp)):
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
        """Remove expired entries now, instead of waiting for the background jobs; how many."""
        return self._entries.sweep()

    @property
    def _entries(self) -> StoreEntries:
        return _entries_of(self._user_of(None))

    def _fetched(self, ops: Sequence[GetOp]) -> dict[EntryName, Entry]:
        if not ops:
            return {}
        names = [entry_name(op.namespace, op.key) for op in ops]
        refreshed = [name for name, op in zip(names, ops, strict=True) if op.refresh_ttl]
        return self._entries.get(names, refreshed)

    def _result(self, op: Op, fetched: Mapping[EntryName, Entry]) -> Result:
        if isinstance(op, GetOp):
            entry = fetched.get(entry_name(op.namespace, op.key))
            if entry is None:
                return None
            return Item(
                value=entry.value,
                key=entry.name.key,
                namespace=_labels(entry.name.namespace),
                created_at=entry.created_at,
                updated_at=entry.updated_at,
            )
        if isinstance(op, SearchOp):
            return [
                SearchItem(
                    namespace=_labels(entry.name.namespace),
                    key=entry.name.key,
                    value=entry.value,
                    created_at=entry.created_at,
                    updated_at=entry.updated_at,
                    score=entry.score,
                )
                for entry in self._search(op)
            ]
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _search(self, op: SearchOp) -> list[Entry]:
        joined = SEPARATOR.join(op.namespace_prefix)
        prefix = name_part("namespace_prefix", joined, limits.MAX_NAMESPACE_CHARS)
        size = checks.integer("limit", op.limit, 0, limits.MAX_PAGE_ITEMS)
        skipped = checks.integer("offset", op.offset, 0, limits.MAX_ID)
        wanted = op.filter
        if wanted is not None and not isinstance(wanted, Mapping):
            raise InvalidValue("filter", f"expected a mapping, got {type(wanted).__name__}")
        check_operators(wanted)
        fits = None if not wanted else (lambda value: matches(value, wanted))
        if size == 0:
            return []
        if not op.query or str(op.query).isspace():
            return self._entries.listed(
                prefix, limit=size, offset=skipped, matches=fits, prolongs=op.refresh_ttl
            )
        # Graphs search with whole messages.
        question = question_in(checks.text("query", op.query, limits.MAX_MESSAGE_CHARS))
        return self._entries.search(
            prefix, question, limit=size, offset=skipped, matches=fits, prolongs=op.refresh_ttl
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


def _entries_of(user: UserMemory) -> StoreEntries:
    check_whole(user.scope, "a store")
    check_all_projects(user.scope, "a store")
    return StoreEntries(user.database, user.recall, user.scope)


def entry_name(namespace: tuple[str, ...], key: str) -> EntryName:
    """The name of an entry. Raises InvalidValue: too many labels, or too long."""
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
        raise InvalidValue(field, "must be more than 0 minutes; None means no expiry")
    return minutes


def _labels(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.split(SEPARATOR))


def memory_tool_node(
    who: UserMemory | UserOfConfig, *sets: str, name: str = "tools", messages_key: str = "messages"
) -> ToolNode:
    """A tool node with the tools of these sets, or of ``standard``.

    ``who`` is a user, or chooses one by the config of each run: ``user_of_config(memory)``. The
    tools themselves, to bind to a model, are ``list(node.tools_by_name.values())``.

    Raises:
        InvalidValue: There is no such set.
    """
    return ToolNode(memory_tools(who, *sets), name=name, messages_key=messages_key)
