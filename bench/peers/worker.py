"""python -m bench.peers.worker FOLDER: fill one peer and ask it, as the task in the folder says.

It runs in the environment of the peer, which need not have ricordo. Its exit code is 3 where the
peer is not installed.
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from bench.peers.contract import Document, Entry, Peer
from bench.peers.registry import PEERS

TASK, VECTORS, FOUND = "task.json", "vectors.npz", "found.json"
NOT_INSTALLED = 3
_BYTES_PER_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a peer answered to every question, in order, and what storing took."""

    version: str
    answers: list[list[str]]
    times_ms: list[float]
    loading_seconds: float
    megabytes: float | None


def work(entry: Entry, folder: Path) -> Found:
    """Store every conversation, then ask every question.

    Raises:
        ModuleNotFoundError: the peer is not installed.
    """
    task = json.loads((folder / TASK).read_text(encoding="utf-8"))
    vectors = np.load(folder / VECTORS)
    place = folder / "store"
    place.mkdir()
    peer = entry.start(place, int(task["width"]))
    try:
        empty = _size(place)
        started = time.perf_counter()
        for number, conversation in enumerate(task["conversations"]):
            documents = [
                Document(one["id"], one["text"], datetime.fromisoformat(one["at"]))
                for one in conversation["documents"]
            ]
            peer.load(conversation["id"], documents, vectors[f"documents-{number}"])
        loading_seconds = time.perf_counter() - started
        asked = list(_asked(peer, task, vectors))
        stored = _size(place) - empty
    finally:
        peer.close()
    return Found(
        version=importlib.metadata.version(entry.package),
        answers=[found for found, _ in asked],
        times_ms=[took for _, took in asked],
        loading_seconds=loading_seconds,
        megabytes=stored / _BYTES_PER_MB if entry.on_disk else None,
    )


def _asked(
    peer: Peer, task: dict[str, object], vectors: "np.lib.npyio.NpzFile"
) -> Iterator[tuple[list[str], float]]:
    conversations: list[dict[str, object]] = task["conversations"]  # type: ignore[assignment]
    for number, conversation in enumerate(conversations):
        of_questions = vectors[f"questions-{number}"]
        for text, vector in zip(conversation["questions"], of_questions, strict=True):  # type: ignore[call-overload]
            started = time.perf_counter()
            found = peer.search(str(conversation["id"]), text, vector, int(str(task["depth"])))
            yield found, (time.perf_counter() - started) * 1_000


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    folder = Path(sys.argv[1])
    name = json.loads((folder / TASK).read_text(encoding="utf-8"))["package"]
    (entry,) = (one for one in PEERS if one.package == name)
    try:
        found = work(entry, folder)
    except ModuleNotFoundError as missing:
        print(missing, file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    (folder / FOUND).write_text(json.dumps(asdict(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
