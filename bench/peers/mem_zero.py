"""mem0 without a language model (``infer=False``), its vectors in a local Qdrant on disk.

Nothing leaves the machine: its telemetry is turned off before it is loaded, the language model
that it insists on is never called, and vectors are handed over.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from bench.peers.contract import Document, Entry, Peer, Vectors
from bench.peers.handed import HandedVectors

_NO_KEY = "unused"
_METADATA = "turn"


def start(folder: Path, width: int) -> Peer:
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "home")
    return Mem0(folder, width)


class _Handing:
    """What mem0 calls to embed."""

    def __init__(self, vectors: HandedVectors) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return self._vectors.of(text)


class Mem0:
    def __init__(self, folder: Path, width: int) -> None:
        from mem0 import Memory

        self._vectors = HandedVectors()
        store = {
            "path": str(folder / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": width,
            "collection_name": "turns",
        }
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "openai", "config": {"api_key": _NO_KEY}},
                "llm": {"provider": "openai", "config": {"api_key": _NO_KEY}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Handing(self._vectors)

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        self._vectors.hand((document.text for document in documents), vectors)
        for document in documents:
            self._memory.add(
                [{"role": "user", "content": document.text}],
                user_id=user,
                metadata={_METADATA: document.id},
                infer=False,
            )

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        self._vectors.hand([text], vector[None, :])
        # It would leave out weak results; everybody else returns as many as asked for.
        found = self._memory.search(text, filters={"user_id": user}, top_k=limit, threshold=0.0)
        return [result["metadata"][_METADATA] for result in found["results"]]

    def close(self) -> None:
        self._memory.close()
        self._memory.vector_store.client.close()


ENTRY = Entry(
    "mem0, infer=False",
    "mem0ai",
    start,
    switched_off="extraction of facts, which needs a language model; keyword and entity scores,"
    " which need models that it downloads",
)
