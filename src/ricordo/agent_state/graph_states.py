"""States of a user's LangGraph graphs as rows and opaque bytes.

A checkpoint refers to the values of its channels, so that each is stored once. The references are
in its bytes: the creator of a :class:`GraphStates` says how to read them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import sqlalchemy as sa

from ricordo import limits
from ricordo.agent_state.checkpoints import check_together, name_part
from ricordo.errors import Conflict, InvalidValue
from ricordo.model import checks
from ricordo.model.scope import Scope
from ricordo.storage import checkpoints as rows
from ricordo.storage.checkpoints import ChannelName, GraphCheckpoint, GraphWrite, Packed, Position
from ricordo.storage.database import Database, WriteTransaction, retried

_READ_AT_ONCE: Final = 20

NamesOf = Callable[[Packed], Iterable[ChannelName]]
"""The channel values that a checkpoint refers to."""

KeepOf = Callable[[Sequence[GraphCheckpoint], Collection[ChannelName]], Collection[str]]
"""Which of a namespace's checkpoints (latest first) to keep, given the stored values."""


class LoadedGraph(NamedTuple):
    checkpoint: GraphCheckpoint
    values: Mapping[ChannelName, Packed]
    writes: Sequence[GraphWrite]


class GraphStates:
    def __init__(self, database: Database, scope: Scope, names_of: NamesOf) -> None:
        self.database = database
        self._scope = scope
        self._names_of = names_of

    @retried
    def save(self, new: GraphCheckpoint, values: Mapping[ChannelName, Packed]) -> None:
        """Store a checkpoint and its new channel values, atomically. Raises InvalidValue: a name or
        a value is too large or cannot be stored; ScopeWidened: this memory is bound to another
        thread."""
        self._check_place(new.thread_id, new.namespace, new.checkpoint_id)
        checks.optional_reference("parent_id", new.parent_id)
        checks.optional_reference("run_id", new.run_id)
        _check_size("checkpoint", len(new.state.data) + len(new.metadata.data))
        for name, packed in values.items():
            for field, part in name._asdict().items():
                name_part(field, part, limits.MAX_GRAPH_NAME_CHARS)
            check_together("channel", new.thread_id, new.namespace, *name)
            _check_size(f"channel {name.channel!r}", len(packed.data))
        with self.database.write(self._scope.user_id) as writing:
            rows.put_checkpoint(writing, new, values)

    @retried
    def save_writes(
        self, thread_id: str, namespace: str, checkpoint_id: str, writes: Sequence[GraphWrite]
    ) -> None:
        """Store the writes after a checkpoint, atomically. Raises InvalidValue: too many writes, or
        one is too large or cannot be stored; ScopeWidened: this memory is bound to another thread.
        """
        self._check_place(thread_id, namespace, checkpoint_id)
        if len(writes) > limits.MAX_GRAPH_WRITES:
            most = limits.MAX_GRAPH_WRITES
            raise InvalidValue("writes", f"{len(writes)} at once; allowed: at most {most}")
        for one in writes:
            checks.reference("task_id", one.task_id)
            name_part("task_path", one.task_path, limits.MAX_GRAPH_NAME_CHARS)
            name_part("channel", one.channel, limits.MAX_GRAPH_NAME_CHARS)
            check_together("task_id", thread_id, namespace, checkpoint_id, one.task_id)
            _check_size(f"write to {one.channel!r}", len(one.value.data))
        with self.database.write(self._scope.user_id) as writing:
            rows.put_writes(writing, thread_id, namespace, checkpoint_id, writes)

    def find(self, thread_id: str, namespace: str, checkpoint_id: str | None) -> LoadedGraph | None:
        """One checkpoint, or else the latest of a thread and namespace. Raises InvalidValue: a name
        that nothing can have; ScopeWidened: this memory is bound to another thread."""
        self._scope.narrow(thread_id=thread_id)
        name_part("namespace", namespace, limits.MAX_GRAPH_NAME_CHARS)
        checks.optional_reference("checkpoint_id", checkpoint_id)
        with self.database.read(self._scope.user_id) as view:
            found = rows.list_checkpoints(
                view.connection,
                self._scope.user_id,
                1,
                thread_id=thread_id,
                namespace=namespace,
                checkpoint_id=checkpoint_id,
            )
            loaded = self._loaded(view.connection, found)
        return loaded[0] if loaded else None

    def walk(
        self,
        *,
        thread_id: str | None = None,
        namespace: str | None = None,
        checkpoint_id: str | None = None,
        before: str | None = None,
        is_wanted: Callable[[GraphCheckpoint], bool],
    ) -> Iterator[LoadedGraph]:
        """Checkpoints, the latest first, in small pages, so that no connection is kept meanwhile.
        Raises InvalidValue: a name that nothing can have; ScopeWidened: this memory is bound to
        another thread."""
        thread_id = self._scope.narrow(thread_id=thread_id).thread_id
        if namespace is not None:
            name_part("namespace", namespace, limits.MAX_GRAPH_NAME_CHARS)
        checks.optional_reference("checkpoint_id", checkpoint_id)
        checks.optional_reference("before", before)
        after: Position | None = None
        while True:
            with self.database.read(self._scope.user_id) as view:
                found = rows.list_checkpoints(
                    view.connection,
                    self._scope.user_id,
                    _READ_AT_ONCE,
                    thread_id=thread_id,
                    namespace=namespace,
                    checkpoint_id=checkpoint_id,
                    before=before,
                    after=after,
                )
                loaded = self._loaded(view.connection, [one for one in found if is_wanted(one)])
            yield from loaded
            if len(found) < _READ_AT_ONCE:
                return
            after = Position(found[-1].checkpoint_id, found[-1].thread_id, found[-1].namespace)

    @retried
    def delete_thread(self, thread_id: str) -> None:
        """Delete all graph states of a thread. Raises ScopeWidened: this memory is bound to another
        thread."""
        self._scope.narrow(thread_id=thread_id)
        with self.database.write(self._scope.user_id) as writing:
            rows.delete_thread(writing, thread_id)

    @retried
    def delete_runs(self, run_ids: Collection[str]) -> None:
        """Delete the checkpoints of some runs, and unreferenced channel values. Raises
        InvalidValue: a name that no run can have."""
        for run_id in run_ids:
            checks.reference("run_id", run_id)
        with self.database.write(self._scope.user_id) as writing:
            doomed = rows.checkpoints_of_runs(writing.connection, writing.user_id, run_ids)
            by_place: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
            for one in doomed:
                if self._scope.thread_id in (None, one.thread_id):
                    by_place[one.thread_id, one.namespace].append(one.checkpoint_id)
            for (thread_id, namespace), ids in by_place.items():
                rows.delete_checkpoints(writing, thread_id, namespace, ids)
                self._drop_unreferenced(writing, thread_id, namespace)

    @retried
    def copy_thread(self, source: str, target: str) -> None:
        """Copy a thread's states to a new one; nothing where there are none. Raises Conflict: the
        target has states of its own; ScopeWidened: this memory is bound to another thread."""
        for thread_id in (source, target):
            checks.reference("thread_id", thread_id)
            self._scope.narrow(thread_id=thread_id)
        with self.database.write(self._scope.user_id) as writing:
            if not rows.has_graph(writing.connection, writing.user_id, source):
                return
            if rows.has_graph(writing.connection, writing.user_id, target):
                raise Conflict(f"thread {target!r} has states of its own: delete them first")
            rows.copy_thread(writing, source, target)

    @retried
    def prune(self, thread_id: str, keep: KeepOf) -> None:
        """Delete the checkpoints of a thread that ``keep`` does not select, in each namespace.
        Raises ScopeWidened: this memory is bound to another thread."""
        self._scope.narrow(thread_id=thread_id)
        with self.database.write(self._scope.user_id) as writing:
            present = rows.list_checkpoints(
                writing.connection, writing.user_id, None, thread_id=thread_id
            )
            by_namespace: defaultdict[str, list[GraphCheckpoint]] = defaultdict(list)
            for one in present:
                by_namespace[one.namespace].append(one)
            for namespace, listed in by_namespace.items():
                stored = rows.value_names(writing.connection, writing.user_id, thread_id, namespace)
                kept = set(keep(listed, stored))
                doomed = [one.checkpoint_id for one in listed if one.checkpoint_id not in kept]
                rows.delete_checkpoints(writing, thread_id, namespace, doomed)
                self._drop_unreferenced(writing, thread_id, namespace)

    def _loaded(
        self, connection: sa.Connection, found: Sequence[GraphCheckpoint]
    ) -> list[LoadedGraph]:
        by_place: defaultdict[tuple[str, str], list[GraphCheckpoint]] = defaultdict(list)
        for one in found:
            by_place[one.thread_id, one.namespace].append(one)
        loaded = {}
        for (thread_id, namespace), together in by_place.items():
            place = (self._scope.user_id, thread_id, namespace)
            named = {one.checkpoint_id: set(self._names_of(one.state)) for one in together}
            values = rows.values_of(connection, *place, set().union(*named.values()))
            writes = rows.writes_of(connection, *place, set(named))
            for one in together:
                own = {name: values[name] for name in named[one.checkpoint_id] if name in values}
                loaded[one] = LoadedGraph(one, own, writes.get(one.checkpoint_id, ()))
        return [loaded[one] for one in found]

    def _drop_unreferenced(self, writing: WriteTransaction, thread_id: str, namespace: str) -> None:
        remaining = rows.list_checkpoints(
            writing.connection, writing.user_id, None, thread_id=thread_id, namespace=namespace
        )
        named = {name for one in remaining for name in self._names_of(one.state)}
        stored = rows.value_names(writing.connection, writing.user_id, thread_id, namespace)
        rows.delete_values(writing, thread_id, namespace, stored - named)

    def _check_place(self, thread_id: str, namespace: str, checkpoint_id: str) -> None:
        checks.reference("thread_id", thread_id)
        self._scope.narrow(thread_id=thread_id)
        name_part("namespace", namespace, limits.MAX_GRAPH_NAME_CHARS)
        checks.reference("checkpoint_id", checkpoint_id)
        check_together("namespace", thread_id, namespace, checkpoint_id)


def _check_size(field: str, size: int) -> None:
    if size > limits.MAX_GRAPH_VALUE_BYTES:
        most = limits.MAX_GRAPH_VALUE_BYTES
        raise InvalidValue(field, f"{size} bytes; allowed: at most {most}")
