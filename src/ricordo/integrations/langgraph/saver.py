"""A LangGraph checkpointer that keeps one user's graphs in a ricordo store."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ricordo.agent_state.graph_states import GraphStates
from ricordo.errors import InvalidValue
from ricordo.integrations.langgraph.packing import Packing, thread_of
from ricordo.storage.checkpoints import GraphCheckpoint
from ricordo.user_memory import UserMemory
from ricordo.user_memory.confining import check_whole

_STRATEGIES = ("keep_latest", "delete")


class RicordoSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of one user's graphs; nobody else's threads can be reached through it.

    Without a ``serde`` of one's own, only LangGraph's and LangChain's own types and plain values
    are brought back; other types come back as plain data. To allow some, give a
    ``JsonPlusSerializer(allowed_msgpack_modules=[...])``. Asynchronous methods run the
    synchronous ones in threads of the running event loop.
    """

    def __init__(self, user: UserMemory, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._user = user

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a configuration names, or else the latest of its thread."""
        configurable = config["configurable"]
        packing = self._packing
        loaded = self._states(packing).find(
            thread_of(configurable),
            configurable.get("checkpoint_ns", ""),
            get_checkpoint_id(config),
        )
        return None if loaded is None else packing.tuple_of(loaded)

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
        walk = self._states(packing).walk(
            thread_id=thread_of(configurable) if configurable else None,
            namespace=configurable.get("checkpoint_ns"),
            checkpoint_id=configurable.get("checkpoint_id"),
            before=None if before is None else get_checkpoint_id(before),
            is_wanted=matches,
        )
        for number, loaded in enumerate(walk, start=1):
            yield packing.tuple_of(loaded)
            if number == limit:
                return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint with the values that are new, in one transaction."""
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
        self._states(packing).save(new, packing.new_values(checkpoint, new_versions))
        return {
            "configurable": {
                "thread_id": new.thread_id,
                "checkpoint_ns": new.namespace,
                "checkpoint_id": new.checkpoint_id,
            }
        }

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a task wrote after a checkpoint."""
        configurable = config["configurable"]
        packing = self._packing
        self._states(packing).save_writes(
            thread_of(configurable),
            configurable.get("checkpoint_ns", ""),
            configurable["checkpoint_id"],
            packing.writes(writes, task_id, task_path),
        )

    def delete_thread(self, thread_id: str) -> None:
        """Remove all that is kept for a thread."""
        self._states().delete_thread(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove what some runs have kept."""
        self._states().delete_runs({str(run_id) for run_id in run_ids})

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Give a new thread all that another one has.

        Raises:
            Conflict: the target has checkpoints of its own.
        """
        self._states().copy_thread(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the latest checkpoint of each namespace, or none (``delete``).

        Those before it stay as long as the latest one's delta channels are read from them.

        Raises:
            InvalidValue: no such strategy.
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
        """A version that sorts after the current one, and is no other branch's."""
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

    def _states(self, packing: Packing | None = None) -> GraphStates:
        user = self._user
        check_whole(user.scope, "a checkpointer")
        return GraphStates(user.database, user.scope, (packing or self._packing).names_of)
