"""Graphiti without a language model: each turn an edge of a graph in Kuzu, a database per user.

Its own extraction of facts needs a model, so the text of a turn is the fact of an edge between the
user and the turn, with the vector that was handed over. It is searched by Graphiti's recipe for
edges: full text and cosine, joined by reciprocal rank fusion. The least cosine is 0, as low as it
goes; by default it leaves out everything below 0.6.
"""

import asyncio
import os
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.peers.contract import Document, Entry, Peer, Vectors
from bench.peers.handed import HandedVectors


def start(folder: Path, width: int) -> Peer:
    os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
    os.environ["EMBEDDING_DIM"] = str(width)
    return Graphiti(folder)


class Graphiti:
    def __init__(self, folder: Path) -> None:
        import graphiti_core.driver.kuzu_driver  # noqa: F401 - so that a missing one is told now

        self._folder = folder
        self._vectors = HandedVectors()
        self._loop = asyncio.new_event_loop()
        self._graphs: dict[str, Any] = {}
        self._turns: dict[str, str] = {}

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        self._loop.run_until_complete(self._load(user, documents, vectors))

    async def _load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        from graphiti_core.edges import EntityEdge
        from graphiti_core.nodes import EntityNode

        self._graphs[user] = graph = self._graph(len(self._graphs))
        await graph.driver.graph_ops.build_indices_and_constraints(graph.driver)
        now = datetime.now(UTC)
        speaker = EntityNode(name="speaker", group_id=user, name_embedding=vectors[0].tolist())
        heard = EntityNode(name="listener", group_id=user, name_embedding=vectors[0].tolist())
        await speaker.save(graph.driver)
        await heard.save(graph.driver)
        for document, vector in zip(documents, vectors, strict=True):
            edge = EntityEdge(
                group_id=user,
                source_node_uuid=speaker.uuid,
                target_node_uuid=heard.uuid,
                created_at=now,
                name="SAID",
                fact=document.text,
                fact_embedding=vector.tolist(),
                valid_at=document.at,
            )
            await edge.save(graph.driver)
            self._turns[edge.uuid] = document.id

    def _graph(self, number: int) -> Any:
        from graphiti_core import Graphiti as Core
        from graphiti_core.driver.kuzu_driver import KuzuDriver

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the driver as a whole
            driver = KuzuDriver(db=str(self._folder / f"user-{number}.kuzu"))
        model, embedder, reranker = _stand_ins(self._vectors)
        return Core(
            graph_driver=driver, llm_client=model, embedder=embedder, cross_encoder=reranker
        )

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF

        self._vectors.hand([text], vector[None, :])
        recipe = EDGE_HYBRID_SEARCH_RRF.model_copy(deep=True)
        recipe.limit = limit
        recipe.edge_config.sim_min_score = 0.0
        asked = self._graphs[user].search_(text, config=recipe, group_ids=[user])
        found = self._loop.run_until_complete(asked)
        return [self._turns[edge.uuid] for edge in found.edges]

    def close(self) -> None:
        for graph in self._graphs.values():
            graph.driver.client.close()
            graph.driver.db.close()
        self._loop.close()


def _stand_ins(vectors: HandedVectors) -> tuple[Any, Any, Any]:
    """What Graphiti insists on: a model and a reranker that are never called, and an embedder."""
    from graphiti_core.cross_encoder.client import CrossEncoderClient
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.llm_client import LLMClient, LLMConfig

    class NoModel(LLMClient):
        async def _generate_response(self, *_given: Any, **_named: Any) -> dict[str, Any]:
            raise AssertionError("no language model takes part")

    class NoReranker(CrossEncoderClient):
        async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
            del query, passages
            raise AssertionError("no reranker takes part")

    class Handing(EmbedderClient):
        async def create(self, input_data: Any) -> list[float]:
            return vectors.of(input_data if isinstance(input_data, str) else input_data[0])

    return NoModel(LLMConfig(api_key="unused")), Handing(), NoReranker()


ENTRY = Entry(
    "Graphiti, hybrid RRF over edges",
    "graphiti-core",
    start,
    environment="graphiti",
    switched_off="extraction of facts, which needs a language model; its rerankers,"
    " which need one or a download",
)
