"""lancedb: its own full text (stemmed, without stop words) and vectors, joined by its own RRF."""

from collections.abc import Sequence
from pathlib import Path

from bench.peers.contract import Document, Entry, Peer, Vectors


def start(folder: Path, width: int) -> Peer:
    return Lance(folder, width)


class Lance:
    def __init__(self, folder: Path, width: int) -> None:
        import lancedb
        from lancedb.rerankers import RRFReranker

        self._database = lancedb.connect(folder)
        self._reranker = RRFReranker()
        self._width = width
        self._tables: dict[str, lancedb.table.Table] = {}

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        import pyarrow as pa
        from lancedb.index import FTS

        columns = {
            "id": pa.array([document.id for document in documents]),
            "text": pa.array([document.text for document in documents]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self._width),
        }
        table = self._database.create_table(f"user_{len(self._tables)}", pa.table(columns))
        table.create_index("text", config=FTS(stem=True, remove_stop_words=True))
        self._tables[user] = table

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        from lancedb.query import MatchQuery

        found = (
            self._tables[user]
            .search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
            .vector(vector)
            .text(MatchQuery(text, "text"))
            .distance_type("cosine")
            .rerank(self._reranker)
            .limit(limit)
            .to_arrow()
        )
        ids: list[str] = found.column("id").to_pylist()
        return ids

    def close(self) -> None:
        self._tables.clear()


ENTRY = Entry("lancedb, hybrid RRF", "lancedb", start)
