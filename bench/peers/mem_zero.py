"""mem0 with its vectors in a local Qdrant on disk; its telemetry is turned off before it is loaded.

As a store it runs without a language model (``infer=False``): that which it insists on is never
called, and vectors are handed over.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers.contract import Document, Endpoint, Entry, Former, Peer, Vectors
from bench.peers.handed import HandedVectors

if TYPE_CHECKING:
    from mem0 import Memory

_NO_KEY = "unused"
_METADATA = "turn"
_MOST = 1_000


def start(folder: Path, width: int) -> Peer:
    return Mem0(folder, width)


def start_forming(folder: Path, endpoint: Endpoint) -> Former:
    return FormingMem0(folder, endpoint)


def _opened(
    folder: Path, width: int, embedder: Mapping[str, str], model: Mapping[str, str]
) -> "Memory":
    """With everything else as it comes."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "home")
    os.environ.pop("OPENROUTER_API_KEY", None)  # would be asked instead
    from mem0 import Memory

    store = {
        "path": str(folder / "qdrant"),
        "on_disk": True,
        "embedding_model_dims": width,
        "collection_name": "turns",
    }
    return Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "embedder": {"provider": "openai", "config": dict(embedder)},
            "llm": {"provider": "openai", "config": dict(model)},
            "history_db_path": str(folder / "history.db"),
        }
    )


def _close(memory: "Memory") -> None:
    memory.close()
    memory.vector_store.client.close()


class _Handing:
    """What mem0 calls to embed."""

    def __init__(self, vectors: HandedVectors) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return self._vectors.of(text)


class Mem0:
    def __init__(self, folder: Path, width: int) -> None:
        self._vectors = HandedVectors()
        self._memory = _opened(folder, width, {"api_key": _NO_KEY}, {"api_key": _NO_KEY})
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
        _close(self._memory)


class FormingMem0:
    """mem0 as it comes, with a language model."""

    def __init__(self, folder: Path, endpoint: Endpoint) -> None:
        access = {
            "api_key": endpoint.api_key,
            "openai_base_url": endpoint.base_url,
            "model": endpoint.model,
        }
        self._memory = _opened(folder, endpoint.width, access, access)

    def form(self, user: str, messages: Sequence[Mapping[str, str]]) -> None:
        self._memory.add([dict(message) for message in messages], user_id=user)

    def stored(self, user: str) -> list[str]:
        found = self._memory.get_all(filters={"user_id": user}, top_k=_MOST)
        return [result["memory"] for result in found["results"]]

    def close(self) -> None:
        _close(self._memory)


ENTRY = Entry(
    "mem0, infer=False",
    "mem0ai",
    start,
    switched_off="extraction of facts, which needs a language model; keyword and entity scores,"
    " which need models that it downloads",
    former=start_forming,
)
