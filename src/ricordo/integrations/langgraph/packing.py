"""Between LangGraph's checkpoints and the rows and bytes that are stored."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ricordo.agent_state.graph_states import LoadedGraph
from ricordo.storage.checkpoints import ChannelName, GraphCheckpoint, GraphWrite, Packed


class Packing:
    """Packs and unpacks with one serializer."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde

    def packed(self, value: object) -> Packed:
        """A value as bytes."""
        kind, data = self._serde.dumps_typed(value)
        return Packed(kind, bytes(data))

    def unpacked(self, packed: Packed) -> Any:
        """The value that was packed."""
        return self._serde.loads_typed((packed.format, packed.data))

    def names_of(self, state: Packed) -> Iterable[ChannelName]:
        """Which values a checkpoint names."""
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
        """What a task wrote; of several writes for one place, the last special one counts."""
        placed: dict[int, GraphWrite] = {}
        for index, (channel, value) in enumerate(written):
            place = WRITES_IDX_MAP.get(channel, index)
            placed[place] = GraphWrite(task_id, place, task_path, channel, self.packed(value))
        return list(placed.values())

    def tuple_of(self, loaded: LoadedGraph) -> CheckpointTuple:
        """A stored checkpoint as LangGraph has it."""
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
            config=config_of(stored, stored.checkpoint_id),
            checkpoint=cast(Checkpoint, {**bare, "channel_values": values}),
            metadata=self.metadata_of(stored),
            parent_config=None if parent is None else config_of(stored, parent),
            pending_writes=pending,
        )

    def metadata_of(self, stored: GraphCheckpoint) -> CheckpointMetadata:
        """What LangGraph noted with a checkpoint."""
        return cast(CheckpointMetadata, self.unpacked(stored.metadata))

    def latest_whole(
        self, listed: Sequence[GraphCheckpoint], stored: Collection[ChannelName]
    ) -> set[str]:
        """The latest checkpoint, with the ones before it that its delta channels are read from.

        A delta channel has a value only now and then. In between it is made from that value and
        all writes since, so that those checkpoints cannot be spared.
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
    """What a version of a channel's value is stored under: 1 and "1" are two versions."""
    return ChannelName(channel, json.dumps(version, ensure_ascii=False))


def config_of(stored: GraphCheckpoint, checkpoint_id: str) -> RunnableConfig:
    """The configuration that leads to a checkpoint of the same thread and namespace."""
    return {
        "configurable": {
            "thread_id": stored.thread_id,
            "checkpoint_ns": stored.namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def thread_of(configurable: Mapping[str, Any]) -> str:
    """The thread that a configuration names."""
    return str(configurable["thread_id"])
