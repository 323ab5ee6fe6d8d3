"""Hindsight without a language model: its provider "none", which keeps each turn as one chunk.

It runs on the embedded PostgreSQL that it comes with, a bank per user, with the vectors that are
handed over. Recall is its own: vectors, full text and time, joined by reciprocal rank fusion. Its
reranker is a model that it downloads, so its own stand-in without one is used; observations need a
language model and are off; so are links, which without facts do harm.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.contract import Document, Entry, Peer, Vectors
from bench.peers.handed import HandedVectors

_SETTINGS = {
    "HINDSIGHT_API_LLM_PROVIDER": "none",
    "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
    # Without facts its links join turns that merely stand near each other: on a conversation of
    # 419 turns recall@10 is 0.46 with them and 0.69 without.
    "HINDSIGHT_API_ENABLE_GRAPH_RETRIEVAL": "false",
    "HINDSIGHT_API_ENABLE_OBSERVATIONS": "false",
    "HINDSIGHT_API_LOG_LEVEL": "error",
}
_WHEN = re.compile(r" \(happened in [^()]*\)$")
"""What it adds to a text before it has it embedded; when it was said is in the text already."""

_AT_ONCE = 100
_TOKENS = 100_000  # so that no result is left out for want of room


def start(folder: Path, width: int) -> Peer:
    os.environ.update(_SETTINGS)
    os.environ["HINDSIGHT_HOME"] = str(folder)
    import hindsight_api  # noqa: F401 - so that a missing one is told before a server starts

    return Hindsight(EmbeddedPostgres(folder), width)


class EmbeddedPostgres:
    """The server that comes with Hindsight. It refuses to run as root, so then as nobody."""

    def __init__(self, folder: Path) -> None:
        import pg0

        (shipped,) = (Path(pg0.__file__).parent / "bin").iterdir()
        self._folder = folder
        self._user = "nobody" if os.geteuid() == 0 else None
        self._program = str(shutil.copy(shipped, folder / "pg0"))
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._run("start", "--data-dir", str(folder / "data"))
        self.url: str = json.loads(self._run("info", "--output", "json"))["uri"]

    def _run(self, command: str, *options: str) -> str:
        done = subprocess.run(
            [self._program, command, "--name", "bench", *options],
            user=self._user,
            cwd=self._folder,
            env={"HOME": str(self._folder), "PATH": os.environ["PATH"]},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def stop(self) -> None:
        self._run("stop")


class Hindsight:
    def __init__(self, server: EmbeddedPostgres, width: int) -> None:
        from hindsight_api import MemoryEngine
        from hindsight_api.engine.cross_encoder import RRFPassthroughCrossEncoder
        from hindsight_api.engine.task_backend import SyncTaskBackend

        self._server = server
        self._vectors = HandedVectors()
        self._turns: dict[tuple[str, str], str] = {}
        self._loop = asyncio.new_event_loop()
        self._engine: Any = MemoryEngine(
            db_url=server.url,
            memory_llm_provider="none",
            embeddings=_handing(self._vectors, width),
            cross_encoder=RRFPassthroughCrossEncoder(),
            task_backend=SyncTaskBackend(),
        )
        self._loop.run_until_complete(self._engine.initialize())

    def load(self, user: str, documents: Sequence[Document], vectors: Vectors) -> None:
        self._vectors.hand((document.text for document in documents), vectors)
        self._turns.update({(user, document.text): document.id for document in documents})
        for begin in range(0, len(documents), _AT_ONCE):
            contents = [
                {"content": document.text, "event_date": document.at}
                for document in documents[begin : begin + _AT_ONCE]
            ]
            stored = self._engine.retain_batch_async(
                bank_id=user, contents=contents, request_context=_nobody()
            )
            self._loop.run_until_complete(stored)

    def search(self, user: str, text: str, vector: Vectors, limit: int) -> list[str]:
        self._vectors.hand([text], vector[None, :])
        asked = self._engine.recall_async(
            bank_id=user,
            query=text,
            max_tokens=_TOKENS,
            request_context=_nobody(),
            _query_embedding=vector.tolist(),
        )
        found = self._loop.run_until_complete(asked)
        # By the text: what comes by way of links alone lacks the metadata it was stored with.
        turns = (self._turns.get((user, result.text)) for result in found.results)
        return list(dict.fromkeys(turn for turn in turns if turn is not None))[:limit]

    def close(self) -> None:
        self._loop.run_until_complete(self._engine.close())
        self._loop.close()
        self._server.stop()


def _nobody() -> Any:
    from hindsight_api.models import RequestContext

    return RequestContext(internal=True)


def _handing(vectors: HandedVectors, width: int) -> Any:
    """An embedder of Hindsight's kind over the vectors that are there."""
    from hindsight_api.engine.embeddings import Embeddings

    class Handing(Embeddings):
        provider_name = "handed"
        dimension = width

        async def initialize(self) -> None:
            pass

        async def encode(self, texts: list[str]) -> list[list[float]]:
            return vectors.of_all([_WHEN.sub("", text) for text in texts])

    return Handing()


ENTRY = Entry(
    "Hindsight, chunks",
    "hindsight-api-slim",
    start,
    environment="hindsight",
    switched_off="extraction of facts and observations, which need a language model; its reranker,"
    " a model that it downloads; retrieval by links, with which it finds a third less here",
)
