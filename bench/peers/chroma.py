"""chromadb: approximate cosine search over a collection per user, kept on disk."""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.contract import Document, Entry, Peer, Vectors


def start(folder: Path, width: int) -> Peer:
    del width  # it follows from the first vectors
    return Chroma(folder)


class Chroma:
    def __init__(self, folder: Path) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._most = self._client.get_max_batch_size()
        self._collections: dict[str, chromadb.Collection] = {}

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        if user not in self._collections:
            name = f"user-{len(self._collections)}"
            cosine = {"hnsw": {"space": "cosine"}}
            self._collections[user] = self._client.create_collection(name, configuration=cosine)
        for begin in range(0, len(documents), self._most):
            portion = documents[begin : begin + self._most]
            self._collections[user].add(
                ids=[document.id for document in portion],
                embeddings=vectors[begin : begin + self._most],
                documents=[document.text for document in portion],
            )

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        del text  # it has no lexical side to give it to
        found = self._collections[user].query(
            query_embeddings=vector[None, :], n_results=limit, include=[]
        )
        return list(found["ids"][0])

    def hits(self, user: str, vector: Vectors, limit: int) -> list[tuple[str, str, float]]:
        """The id, the text and the distance of the best."""
        found = self._collections[user].query(
            query_embeddings=vector[None, :], n_results=limit, include=["documents", "distances"]
        )
        return list(zip(found["ids"][0], found["documents"][0], found["distances"][0], strict=True))

    def close(self) -> None:
        self._client.close()


ENTRY = Entry("chromadb", "chromadb", start)
