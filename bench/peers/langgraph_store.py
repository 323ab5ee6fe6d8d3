"""langgraph's InMemoryStore: exact cosine over a namespace per user."""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.contract import Document, Entry, Peer, Vectors
from bench.peers.handed import HandedVectors


def start(folder: Path, width: int) -> Peer:
    del folder  # it keeps everything in memory
    return LanggraphStore(width)


class LanggraphStore:
    def __init__(self, width: int) -> None:
        from langgraph.store.memory import InMemoryStore

        self._vectors = HandedVectors()
        self._store = InMemoryStore(
            index={"dims": width, "embed": self._vectors.of_all, "fields": ["text"]}
        )

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        self._vectors.hand((document.text for document in documents), vectors)
        for document in documents:
            self._store.put((user,), document.id, {"text": document.text})

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        self._vectors.hand([text], vector[None, :])
        return [found.key for found in self._store.search((user,), query=text, limit=limit)]

    def close(self) -> None:
        pass


ENTRY = Entry("langgraph InMemoryStore", "langgraph", start, on_disk=False)
